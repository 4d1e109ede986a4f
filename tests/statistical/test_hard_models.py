"""Hard posteriors: the answer is right, or the run says that it may not be. Never a silent wrong one."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from arviz_stats.base import array_stats

import grhmc
from grhmc.models.analytic import gaussian, independent_normals, student_t
from reference_posteriors import read_posterior_data

LIMIT = 4.5
"""Monte Carlo standard errors, of a mean of draws that no warning was given of."""

pytestmark = pytest.mark.statistical


@numba.njit
def funnel(q, gradient):
    """One v ~ N(0, 3²) and nine x ~ N(0, exp(v))."""
    v = q[0]
    weight = math.exp(-v)
    log_density = -v * v / 18.0
    gradient[0] = -v / 9.0
    for i in range(1, q.size):
        square = q[i] * q[i] * weight
        log_density -= 0.5 * square + 0.5 * v
        gradient[i] = -q[i] * weight
        gradient[0] += 0.5 * square - 0.5
    return log_density


@numba.njit
def two_modes(q, gradient):
    """An equal mixture of N(-5, 1) and N(5, 1)."""
    left, right = -0.5 * (q[0] + 5.0) ** 2, -0.5 * (q[0] - 5.0) ** 2
    log_density = max(left, right) + math.log1p(math.exp(-abs(left - right)))
    share = math.exp(right - log_density)
    gradient[0] = -(1.0 - share) * (q[0] + 5.0) - share * (q[0] - 5.0)
    return log_density


@numba.njit
def banana(q, gradient):
    """q0 ~ N(0, 10²), q1 given q0 ~ N(0.03 (q0² - 100), 1)."""
    z = q[1] - 0.03 * (q[0] * q[0] - 100.0)
    gradient[0] = -q[0] / 100.0 + 0.06 * q[0] * z
    gradient[1] = -z
    return -q[0] * q[0] / 200.0 - 0.5 * z * z


@numba.njit
def centred_eight_schools(q, gradient, effects, errors):
    """mu, log tau, theta[8], with theta ~ N(mu, tau) written as it stands."""
    mu, tau = q[0], math.exp(q[1])
    cauchy = tau * tau / 25.0
    log_density = -mu * mu / 50.0 - math.log1p(cauchy) + q[1]
    gradient[0] = -mu / 25.0
    gradient[1] = 1.0 - 2.0 * cauchy / (1.0 + cauchy)
    for j in range(effects.size):
        z, residual = (q[2 + j] - mu) / tau, (effects[j] - q[2 + j]) / errors[j]
        log_density -= 0.5 * z * z + q[1] + 0.5 * residual * residual
        gradient[2 + j] = -z / tau + residual / errors[j]
        gradient[0] += z / tau
        gradient[1] += z * z - 1.0
    return log_density


def eight_schools_model() -> grhmc.LogDensity:
    data = read_posterior_data("eight_schools")
    arrays = (np.array(data["y"], dtype=float), np.array(data["sigma"], dtype=float))
    return grhmc.from_numba(centred_eight_schools, 10, data=arrays)


def equicorrelated() -> grhmc.LogDensity:
    return gaussian(np.zeros(50), np.full((50, 50), 0.999) + 0.001 * np.eye(50)).log_density()


class Hard(NamedTuple):
    """A model, and the exact means of functions of its coordinates."""

    model: Callable[[], grhmc.LogDensity]
    expectations: dict[str, tuple[Callable[[np.ndarray], np.ndarray], float]]
    must_warn: bool = False
    """At these settings nobody can be right."""


def moments(coordinate: int, mean: float, sd: float) -> dict[str, tuple[Callable[[np.ndarray], np.ndarray], float]]:
    return {
        "mean": (lambda x: (x[..., coordinate] - mean) / sd, 0.0),
        "variance": (lambda x: ((x[..., coordinate] - mean) / sd) ** 2, 1.0),
    }


def beyond(distance: float, probability: float) -> dict[str, tuple[Callable[[np.ndarray], np.ndarray], float]]:
    return {"tail": (lambda x: np.abs(x[..., 0]) > distance, probability)}


HARD = {
    "funnel": Hard(lambda: grhmc.from_numba(funnel, 10), moments(0, 0.0, 3.0), must_warn=True),
    "equicorrelated": Hard(equicorrelated, moments(0, 0.0, 1.0)),
    "centred eight schools": Hard(eight_schools_model, {}, must_warn=True),
    "two modes": Hard(lambda: grhmc.from_numba(two_modes, 1), moments(0, 0.0, math.sqrt(26.0)), must_warn=True),
    "t with 2 degrees of freedom": Hard(
        lambda: student_t(2, [0.0], [[1.0]]).log_density(), beyond(1.0, 1.0 - 1.0 / math.sqrt(3.0))
    ),  # it has no variance, and most runs say so
    "t with 1 degree of freedom": Hard(
        lambda: student_t(1, [0.0], [[1.0]]).log_density(), beyond(1.0, 0.5), must_warn=True
    ),
    "banana": Hard(lambda: grhmc.from_numba(banana, 2), moments(0, 0.0, 10.0) | {"bend": (lambda x: x[..., 1], 0.0)}),
    "narrow": Hard(lambda: independent_normals([1e-4], [1.0]).log_density(), moments(0, 1.0, 1e-4)),
    "far away": Hard(lambda: independent_normals([1.0], [1e4]).log_density(), moments(0, 1e4, 1.0)),
}


def standard_errors_off(values: np.ndarray, exact: float) -> float:
    values = np.asarray(values, dtype=float)
    return abs(float(values.mean()) - exact) / float(np.asarray(array_stats.mcse(values, method="mean")))


PROCESSES = ("continuous", "discrete")


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize("name", HARD)
def test_a_hard_model_is_sampled_rightly_or_warned_of(name: str, process: Any, seed: int) -> None:
    hard = HARD[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", grhmc.SamplingWarning)
        result = grhmc.sample(hard.model(), process=process, seed=seed, progress_bar=False)
    report = grhmc.Report.from_json(result.attrs["diagnosis"])
    draws = result["unconstrained_posterior"]["position"].to_numpy()
    assert np.all(np.isfinite(draws))
    if not report.is_healthy:
        return
    assert not hard.must_warn
    for what, (function, exact) in hard.expectations.items():
        assert standard_errors_off(function(draws), exact) < LIMIT, what


@pytest.mark.parametrize("seed", [5, 76, 83, 172])
def test_a_missed_neck_is_warned_of_though_no_chain_is_suspicious_by_itself(seed: int) -> None:
    """Of 200 seeds those with which log tau was off by four standard errors or more without a warning."""
    with pytest.warns(grhmc.SamplingWarning):
        grhmc.sample(eight_schools_model(), process="continuous", seed=seed, progress_bar=False)


@pytest.mark.parametrize(
    ("name", "process"),
    [
        ("narrow", "continuous"),
        ("far away", "continuous"),
        ("banana", "continuous"),
        ("narrow", "discrete"),
        ("far away", "discrete"),
    ],
)
def test_what_can_be_sampled_is_not_warned_of(name: str, process: Any) -> None:
    result = grhmc.sample(HARD[name].model(), process=process, seed=3, progress_bar=False)
    assert result.attrs["diagnosis"].count('"warning"') == 0


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore::grhmc.SamplingWarning")
@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize("name", HARD)
def test_a_hard_model_is_sampled_rightly_or_warned_of_with_twenty_seeds(name: str, process: Any) -> None:
    """But for one seed: of 120 runs of the banana by trajectories one had missed both ends, and said nothing."""
    wrong = []
    for seed in range(20):
        try:
            test_a_hard_model_is_sampled_rightly_or_warned_of(name, process, seed)
        except AssertionError as error:
            wrong.append(f"seed {seed}: {error}")
    assert len(wrong) <= 1, "\n".join(wrong)


def test_the_comparison_notices_a_wrong_answer() -> None:
    """Negative control: the far-away normal, judged against a mean that is off by a fifth of its standard deviation."""
    result = grhmc.sample(HARD["far away"].model(), seed=3, progress_bar=False)
    assert standard_errors_off(result["posterior"]["x"].to_numpy()[..., 0], 1e4 + 0.2) > LIMIT
