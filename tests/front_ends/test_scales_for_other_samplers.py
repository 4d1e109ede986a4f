"""Other samplers run with the metric that was tuned: few steps a draw, which a wrong order would make many.

All targets are normals whose standard deviations are up to a million times apart: with its own sd squared for each
parameter, in the right place, NUTS turns around after a few steps; with two of them swapped it needs its whole tree.
"""

from __future__ import annotations

import importlib.util
import warnings
from typing import Any

import numpy as np
import pytest

import grhmc

MOST_STEPS = 12.0  # a draw; a standard normal of so few dimensions takes 3 to 7
SETTINGS: dict[str, Any] = {"tune": 200, "chains": 2, "cores": 1, "seed": 1, "progress_bar": False}

needs_stanli = pytest.mark.skipif(importlib.util.find_spec("stanli") is None, reason="needs stanli")
needs_numpyro = pytest.mark.skipif(importlib.util.find_spec("numpyro") is None, reason="needs NumPyro")

# Arrays of matrices and vectors, whose unconstrained values Stan reads in another order than it names them.
PROGRAM = """
data { array[2] matrix[2, 3] sd_m; array[2, 2] real sd_a; vector[2] log_sd; }
parameters { array[2] matrix[2, 3] m; vector<lower=0>[2] s; array[2, 2] real a; }
model {
  for (k in 1:2) to_vector(m[k]) ~ normal(0, to_vector(sd_m[k]));
  for (k in 1:2) a[k] ~ normal(0, sd_a[k]);
  s ~ lognormal(0, log_sd);
}
"""


@needs_stanli
@pytest.mark.parametrize("dense", [False, True])
def test_stan_runs_with_the_metric_in_its_order(dense: bool) -> None:
    import stanli

    rng = np.random.default_rng(1)
    data = {"sd_m": 10.0 ** rng.uniform(-3, 3, (2, 2, 3)), "sd_a": [[1e-3, 1e3], [1.0, 30.0]], "log_sd": [0.1, 2.0]}
    metric = grhmc.tune(grhmc.from_stan(PROGRAM, data), **SETTINGS).for_stan(dense=dense)
    as_lists = {name: np.asarray(value).tolist() for name, value in data.items()}
    model = stanli.Model(stan_code=PROGRAM, data=as_lists)
    fit = model.sample(chains=2, warmup=140, samples=100, init_radius=0.0, refresh=0, **metric.arguments())
    assert fit.metric == ("dense_e" if dense else "diag_e")
    np.testing.assert_allclose(np.asarray(fit.inv_metric)[0], metric.inv_metric)  # not adapted away
    steps = fit.sampler_stats[:, :, stanli.SAMPLER_COLUMNS.index("n_leapfrog__")]
    assert steps.mean() < 2 * MOST_STEPS  # of 18 dimensions
    reversed_metric = metric.inv_metric[::-1, ::-1] if dense else metric.inv_metric[::-1]
    wrong = model.sample(
        chains=1, warmup=20, samples=5, init_radius=0.0, refresh=0, metric=metric.metric, inv_metric=reversed_metric
    )
    assert wrong.sampler_stats[:, :, stanli.SAMPLER_COLUMNS.index("n_leapfrog__")].mean() > 10 * steps.mean()


def accepted_by_numpyro(model: Any, arguments: dict[str, Any]) -> float:
    """Mean acceptance of three steps of half a standard deviation: HMC, whose kernel compiles faster than NUTS's."""
    import jax
    from numpyro.infer import HMC, MCMC

    length: dict[str, Any] = {"num_steps": 3, "trajectory_length": None}
    kernel = HMC(model, step_size=0.5, adapt_step_size=False, **length, **arguments)
    sampler = MCMC(kernel, num_warmup=0, num_samples=50, progress_bar=False)
    sampler.run(jax.random.PRNGKey(0), extra_fields=("accept_prob",), init_params=None)
    return float(sampler.get_extra_fields()["accept_prob"].mean())


@needs_numpyro
def test_numpyro_runs_with_the_metric_by_site() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import jax
        import numpyro
        import numpyro.distributions as dist
        from jax.flatten_util import ravel_pytree
        from numpyro.infer.util import initialize_model

    sd = np.array([[0.01, 1.0, 100.0], [3.0, 0.02, 50.0]])

    def model():  # not sorted by name
        numpyro.sample("z", dist.Normal(0.0, 300.0))
        numpyro.sample("m", dist.Normal(0.0, sd.copy()).to_event(2))
        numpyro.sample("b", dist.LogNormal(0.0, 0.1))

    # BlackJAX flattens the dict of sites: the metric must be where the sites are then.
    point = initialize_model(jax.random.PRNGKey(0), model).param_info.z
    exact = {"z": 300.0, "m": sd, "b": 0.1}
    flat = np.asarray(ravel_pytree({name: np.broadcast_to(exact[name], np.shape(point[name])) for name in point})[0])
    tuned = grhmc.tune(grhmc.from_numpyro(model), **SETTINGS)
    assert accepted_by_numpyro(model, tuned.for_numpyro(dense=True)) > 0.7
    wrong = tuned.for_numpyro() | {"inverse_mass_matrix": tuned.scale**2}  # of sorted sites, which these are not
    assert accepted_by_numpyro(model, wrong) < 0.1
    np.testing.assert_allclose(np.sqrt(tuned.for_blackjax()), flat, rtol=0.5)


@needs_numpyro
def test_a_pytree_of_jax_keeps_its_order_for_blackjax() -> None:
    from jax.flatten_util import ravel_pytree

    sd = {"z": np.float64(1e3), "a": np.array([1e-2, 3.0]), "m": {"y": np.array([1.0, 50.0]), "b": np.float64(7.0)}}

    def logp(p):
        return -0.5 * (
            (p["z"] / sd["z"]) ** 2
            + ((p["a"] / sd["a"]) ** 2).sum()
            + ((p["m"]["y"] / sd["m"]["y"]) ** 2).sum()
            + (p["m"]["b"] / sd["m"]["b"]) ** 2
        )

    flat = np.asarray(ravel_pytree(sd)[0])
    tuned = grhmc.tune(grhmc.from_jax(logp, sd), **SETTINGS)
    np.testing.assert_allclose(np.sqrt(tuned.for_blackjax()), flat, rtol=0.5)
