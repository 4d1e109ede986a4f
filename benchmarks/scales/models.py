"""Three posteriors in the language of every sampler: a regression, a curved density, a hierarchical model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import prophet_model

_TESTS = Path(__file__).parents[2] / "tests"
NAMES = ("kidscore_interaction", "NG2", "eight_schools")
PARAMETERS = {
    "kidscore_interaction": ("beta", "sigma"),
    "NG2": ("q1", "q2"),
    "eight_schools": ("mu", "tau", "eta"),
    "prophet": prophet_model.PARAMETERS,
}
_SMILEY = "parameters { real q1; real q2; } model { q1 ~ std_normal(); q2 ~ normal(q1^2, 1); }"


def data_of(name: str) -> dict[str, Any]:
    """As the Stan program takes them."""
    if name == "prophet":
        return prophet_model.data()
    return {} if name == "NG2" else json.loads((_TESTS / "data" / "posteriors" / name / "data.json").read_text())


def stan_program(name: str) -> str:
    if name == "prophet":
        return prophet_model.program()
    return _SMILEY if name == "NG2" else (_TESTS / "front_ends" / "programs" / f"{name}.stan").read_text()


def pymc_model(name: str) -> Any:
    import pymc

    data = {key: np.asarray(value, dtype=float) for key, value in data_of(name).items()}
    with pymc.Model() as model:
        if name == "NG2":
            q1 = pymc.Normal("q1")
            pymc.Normal("q2", q1**2, 1)
        elif name == "eight_schools":
            eta = pymc.Normal("eta", shape=8)
            mu = pymc.Normal("mu", 0, 5)
            tau = pymc.HalfCauchy("tau", 5)
            pymc.Normal("y", mu + tau * eta, data["sigma"], observed=data["y"])
        else:
            beta = pymc.Flat("beta", shape=4)
            sigma = pymc.HalfCauchy("sigma", 2.5)
            rows = np.stack([np.ones_like(data["mom_hs"]), data["mom_hs"], data["mom_iq"]])
            rows = np.concatenate([rows, [data["mom_hs"] * data["mom_iq"]]])
            pymc.Normal("y", pymc.math.dot(beta, rows), sigma, observed=data["kid_score"])
    return model


def numpyro_model(name: str) -> Any:
    """A function without arguments; for BlackJAX, too."""
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    data = {key: np.asarray(value, dtype=float) for key, value in data_of(name).items()}

    def smiley() -> None:
        q1 = numpyro.sample("q1", dist.Normal())
        numpyro.sample("q2", dist.Normal(q1**2, 1))

    def eight_schools() -> None:
        eta = numpyro.sample("eta", dist.Normal().expand([8]).to_event(1))
        mu = numpyro.sample("mu", dist.Normal(0, 5))
        tau = numpyro.sample("tau", dist.HalfCauchy(5))
        numpyro.sample("y", dist.Normal(mu + tau * eta, data["sigma"].copy()), obs=data["y"].copy())

    def kidscore_interaction() -> None:
        beta = numpyro.sample("beta", dist.ImproperUniform(dist.constraints.real_vector, (), event_shape=(4,)))
        sigma = numpyro.sample("sigma", dist.HalfCauchy(2.5))
        high_school, iq = data["mom_hs"].copy(), data["mom_iq"].copy()
        mean = beta[0] + beta[1] * high_school + beta[2] * iq + beta[3] * jnp.multiply(high_school, iq)
        numpyro.sample("kid", dist.Normal(mean, sigma), obs=data["kid_score"].copy())

    return {"NG2": smiley, "eight_schools": eight_schools, "kidscore_interaction": kidscore_interaction}[name]
