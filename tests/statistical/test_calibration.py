"""Simulation-based calibration of a hierarchical model and two regressions, and a joint test after Geweke.

`python -m pytest -m nightly tests/statistical/test_calibration.py`; results in docs/calibration.md.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
import pytest
from arviz_stats.base import array_stats

import grhmc
from calibration import SMALLEST_P_VALUE, p_values, ranks

N_REPLICATIONS = 300
N_GROUPS, ERROR = 6, 1.0

pytestmark = [
    pytest.mark.statistical,
    pytest.mark.nightly,
    pytest.mark.filterwarnings("ignore::grhmc.SamplingWarning"),
]


@numba.njit
def hierarchical(q, gradient, y):
    """Mean ~ N(0, 1), log sd ~ N(0, 0.5²), raw effects ~ N(0, 1), y ~ N(mean + sd raw, 1)."""
    mean, sd = q[0], math.exp(q[1])
    log_density = -0.5 * mean * mean - 2.0 * q[1] * q[1]
    gradient[0], gradient[1] = -mean, -4.0 * q[1]
    for j in range(y.size):
        raw = q[2 + j]
        residual = y[j] - mean - sd * raw
        log_density -= 0.5 * raw * raw + 0.5 * residual * residual
        gradient[0] += residual
        gradient[1] += residual * sd * raw
        gradient[2 + j] = -raw + residual * sd
    return log_density


def simulate_hierarchical(rng: np.random.Generator) -> tuple[np.ndarray, tuple[Any, ...]]:
    q = np.concatenate([[rng.standard_normal(), 0.5 * rng.standard_normal()], rng.standard_normal(N_GROUPS)])
    return q, (q[0] + math.exp(q[1]) * q[2:] + ERROR * rng.standard_normal(N_GROUPS),)


def hierarchical_statistics(q: np.ndarray, data: tuple[Any, ...]) -> np.ndarray:
    residuals = data[0] - q[:, :1] - np.exp(q[:, 1:2]) * q[:, 2:]
    return np.column_stack([q[:, 0], q[:, 1], q[:, 2], -0.5 * (residuals**2).sum(axis=1)])


@numba.njit
def logistic(q, gradient, x, y):
    """Coefficients ~ N(0, 1)."""
    log_density = 0.0
    for j in range(q.size):
        log_density -= 0.5 * q[j] * q[j]
        gradient[j] = -q[j]
    for i in range(y.size):
        predictor = 0.0
        for j in range(q.size):
            predictor += x[i, j] * q[j]
        log_density += y[i] * predictor - max(predictor, 0.0) - math.log1p(math.exp(-abs(predictor)))
        residual = y[i] - 1.0 / (1.0 + math.exp(-predictor))
        for j in range(q.size):
            gradient[j] += residual * x[i, j]
    return log_density


def simulate_logistic(rng: np.random.Generator) -> tuple[np.ndarray, tuple[Any, ...]]:
    q, x = rng.standard_normal(4), rng.standard_normal((40, 4))
    x[:, 0] = 1.0
    y = (rng.random(40) < 1.0 / (1.0 + np.exp(-x @ q))).astype(float)
    return q, (x, y)


def logistic_statistics(q: np.ndarray, data: tuple[Any, ...]) -> np.ndarray:
    x, y = data
    predictors = q @ x.T
    return np.column_stack([q, (y * predictors - np.logaddexp(0.0, predictors)).sum(axis=1)])


YEARS = np.arange(20.0, 32.0)


@numba.njit
def trend(q, gradient, x, y):
    """Intercept ~ N(0, 5²), slope ~ N(0, 1), log sd ~ N(0, 0.3²), y ~ N(intercept + slope x, sd²), x not centred."""
    precision = math.exp(-2.0 * q[2])
    log_density = -0.02 * q[0] * q[0] - 0.5 * q[1] * q[1] - q[2] * q[2] / 0.18 - y.size * q[2]
    gradient[0], gradient[1], gradient[2] = -0.04 * q[0], -q[1], -q[2] / 0.09 - y.size
    for i in range(y.size):
        residual = y[i] - q[0] - q[1] * x[i]
        log_density -= 0.5 * precision * residual * residual
        gradient[0] += precision * residual
        gradient[1] += precision * residual * x[i]
        gradient[2] += precision * residual * residual
    return log_density


def simulate_trend(rng: np.random.Generator) -> tuple[np.ndarray, tuple[Any, ...]]:
    q = np.array([5.0, 1.0, 0.3]) * rng.standard_normal(3)
    return q, (YEARS, q[0] + q[1] * YEARS + math.exp(q[2]) * rng.standard_normal(YEARS.size))


def trend_statistics(q: np.ndarray, data: tuple[Any, ...]) -> np.ndarray:
    x, y = data
    residuals = (y - q[:, :1] - q[:, 1:2] * x) * np.exp(-q[:, 2:])
    return np.column_stack([q, -0.5 * (residuals**2).sum(axis=1) - y.size * q[:, 2]])


MODELS = {
    "hierarchical": (simulate_hierarchical, hierarchical, hierarchical_statistics),
    "logistic": (simulate_logistic, logistic, logistic_statistics),
    "trend": (simulate_trend, trend, trend_statistics),
}


def test_the_trend_is_sampled_with_directions() -> None:
    """So that calibration covers the metric, too."""
    for replication in range(20):
        q, data = simulate_trend(np.random.default_rng([1, replication]))
        model = grhmc.from_numba(trend, len(q), data=data)
        tuned = grhmc.tune(model, tune=400, chains=2, cores=1, seed=replication, progress_bar=False)
        assert len(tuned.eigenvalues) >= 1


@pytest.mark.parametrize("name", MODELS)
def test_true_values_rank_uniformly_among_posterior_draws(name: str) -> None:
    simulate, density, statistics = MODELS[name]
    found = p_values(ranks(simulate, density, statistics, N_REPLICATIONS))
    print(name, "p values:", np.round(found, 4))  # noqa: T201
    assert found.min() > SMALLEST_P_VALUE


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("fault", ["too narrow by a fifth", "shifted by a third of a standard deviation"])
def test_a_biased_sampler_is_noticed(name: str, fault: str) -> None:
    """Negative controls."""

    def wrong(q: np.ndarray) -> np.ndarray:
        if fault.startswith("too narrow"):
            return q.mean(axis=0) + 0.8 * (q - q.mean(axis=0))
        return q + 0.33 * q.std(axis=0)

    simulate, density, statistics = MODELS[name]
    assert p_values(ranks(simulate, density, statistics, N_REPLICATIONS, wrong=wrong)).min() < SMALLEST_P_VALUE


def geweke(*, fault: float = 1.0, n_sweeps: int = 2500) -> np.ndarray:
    """Moments of parameters while parameters and data are drawn from each other in turn, in standard errors.

    Each sweep draws new data given the parameters, then moves the parameters by a few draws of a chain that starts at
    them; their law must remain the prior. With `tune=0` a chain does not adapt, so that this is a Gibbs sampler.
    """
    rng = np.random.default_rng(5)
    q, _ = simulate_hierarchical(rng)
    values = np.empty((n_sweeps, 4))
    for sweep in range(n_sweeps):
        y = q[0] + math.exp(q[1]) * q[2:] + ERROR * rng.standard_normal(N_GROUPS)
        result = grhmc.sample(
            grhmc.from_numba(hierarchical, 2 + N_GROUPS, data=(y,)), scale=np.ones(2 + N_GROUPS), init=q, draws=1,
            tune=0, chains=1, cores=1, seed=sweep,
            process=grhmc.Continuous(sample_interval=6.0, event_rate=0.5, tolerance=0.01),
            check_gradient=False, progress_bar=False,
        )  # fmt: skip
        q = fault * result["unconstrained_posterior"]["position"].to_numpy()[0, 0]
        values[sweep] = q[0], q[0] ** 2, q[1] / 0.5, (q[1] / 0.5) ** 2
    errors = [float(np.asarray(array_stats.mcse(column[np.newaxis], method="mean"))) for column in values.T]
    return (values.mean(axis=0) - [0.0, 1.0, 0.0, 1.0]) / errors


def test_parameters_and_data_drawn_in_turn_keep_the_prior() -> None:
    deviations = geweke()
    print("Geweke, standard errors:", np.round(deviations, 2))  # noqa: T201
    assert np.abs(deviations).max() < 4.0


def test_the_joint_test_notices_a_sampler_that_shrinks_its_draws() -> None:
    """Negative control: by a tenth."""
    assert np.abs(geweke(fault=0.9)).max() > 4.0
