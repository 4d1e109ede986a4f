"""Reference posteriors as NumPyro models: functions of the data of the Stan programs."""

from __future__ import annotations

from typing import Any

import numpy as np


def eight_schools(data: dict[str, Any]) -> None:
    import numpyro
    import numpyro.distributions as dist

    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("school", data["J"]):
        eta = numpyro.sample("eta", dist.Normal())
        theta = numpyro.deterministic("theta", mu + tau * eta)
        numpyro.sample("y", dist.Normal(theta, np.array(data["sigma"])), obs=np.array(data["y"]))


def arK(data: dict[str, Any]) -> None:
    import numpyro
    import numpyro.distributions as dist

    order, y = data["K"], np.asarray(data["y"])
    lagged = np.stack([y[order - k - 1 : len(y) - k - 1] for k in range(order)], axis=1)
    alpha = numpyro.sample("alpha", dist.Normal(0, 10))
    beta = numpyro.sample("beta", dist.Normal(0, 10).expand([order]).to_event(1))
    sigma = numpyro.sample("sigma", dist.HalfCauchy(2.5))
    numpyro.sample("y", dist.Normal(alpha + lagged @ beta, sigma), obs=y[order:])


def gauss_mix(data: dict[str, Any]) -> None:
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    ordered = dist.constraints.ordered_vector
    mu = numpyro.sample("mu", dist.ImproperUniform(ordered, (), event_shape=(2,)))
    numpyro.factor("prior of mu", dist.Normal(0, 2).log_prob(mu).sum())
    sigma = numpyro.sample("sigma", dist.HalfNormal(2).expand([2]).to_event(1))
    theta = numpyro.sample("theta", dist.Beta(5, 5))
    weights = dist.Categorical(probs=jnp.stack([theta, 1 - theta]))
    numpyro.sample("y", dist.MixtureSameFamily(weights, dist.Normal(mu, sigma)), obs=np.array(data["y"]))
