"""Time per gradient of PyMC models: the C function that grhmc samples from, against the one that nutpie samples from.

Both are compiled by PyTensor through Numba from the same model, take the same arguments and are called here in the same
compiled loop, in turn, in many short blocks. The fastest block of each counts: other work on the machine then does not.
See README.md.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numba
import numpy as np

import grhmc
from grhmc.dynamics.density_call import call_pointer, init_density

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import nutpie
    import pymc

N_BLOCKS = 300
BLOCK_SECONDS = 2e-3


def eight_schools() -> Any:
    y = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    sigma = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
    with pymc.Model() as model:
        mu = pymc.Normal("mu", 0, 5)
        tau = pymc.HalfCauchy("tau", 5)
        eta = pymc.Normal("eta", shape=8)
        pymc.Normal("y", mu + tau * eta, sigma, observed=y)
    return model


def logistic_regression() -> Any:
    """1000 clients, 24 predictors and their common scale."""
    credit = grhmc.datasets.german_credit()
    features, outcome = credit.design_matrix[:, 1:], credit.response
    with pymc.Model() as model:
        scale = pymc.HalfNormal("scale", 1.0)
        beta = pymc.Normal("beta", 0, scale, shape=features.shape[1])
        intercept = pymc.Normal("intercept", 0, 2)
        pymc.Bernoulli("y", logit_p=intercept + pymc.math.dot(pymc.Data("x", features), beta), observed=outcome)
    return model


def hierarchical_regression() -> Any:
    """2000 observations in 200 groups, each with a slope and an intercept of its own: 405 parameters."""
    rng = np.random.default_rng(1)
    n_groups, n = 200, 2000
    group, x = rng.integers(n_groups, size=n), rng.normal(size=n)
    y = 1.0 + 0.5 * x + rng.normal(size=n_groups)[group] + rng.normal(size=n)
    with pymc.Model() as model:
        mean = pymc.Normal("mean", 0, 5, shape=2)
        sd = pymc.HalfNormal("sd", 1, shape=2)
        effects = pymc.Normal("effects", shape=(n_groups, 2))
        noise = pymc.HalfNormal("noise", 1)
        coefficients = mean + sd * effects
        pymc.Normal("y", coefficients[group, 0] + coefficients[group, 1] * x, noise, observed=y)
    return model


@numba.njit(nogil=True, error_model="numpy")
def call_in_a_loop(density, n_calls):
    for _ in range(n_calls):
        call_pointer(density.address, density.user_data, density.point, density.gradient, density.value)


def block_seconds(density: Any, n_calls: int) -> float:
    began = time.perf_counter()
    call_in_a_loop(density, n_calls)
    return (time.perf_counter() - began) / n_calls


def compare(model: Any) -> tuple[int, float, float]:
    """Number of parameters, seconds per gradient through grhmc, and through nutpie."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = grhmc.from_pymc(model), nutpie.compile_pymc_model(model, backend="numba")
    densities = [
        init_density(ours.address, ours.user_data, ours.dim),
        init_density(theirs.compiled_logp_func.address, theirs.user_data.ctypes.data, ours.dim),
    ]
    for density in densities:
        density.point[:] = np.random.default_rng(1).normal(scale=0.3, size=ours.dim)
        call_in_a_loop(density, 1)
    np.testing.assert_allclose(densities[0].gradient, densities[1].gradient, rtol=1e-9, atol=1e-9)
    n_calls = max(1, int(BLOCK_SECONDS / block_seconds(densities[0], 10)))
    best = [np.inf, np.inf]
    for _ in range(N_BLOCKS):
        for k, density in enumerate(densities):
            best[k] = min(best[k], block_seconds(density, n_calls))
    return ours.dim, best[0], best[1]


def main() -> None:
    print(f"{'model':<25} {'parameters':>10} {'grhmc µs':>9} {'nutpie µs':>10} {'ratio':>6}")
    for make in (eight_schools, logistic_regression, hierarchical_regression):
        dim, ours, theirs = compare(make())
        print(f"{make.__name__:<25} {dim:10d} {1e6 * ours:9.2f} {1e6 * theirs:10.2f} {ours / theirs:6.2f}", flush=True)


if __name__ == "__main__":
    main()
