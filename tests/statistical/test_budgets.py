"""Densities that no step is short enough for: a run's cost is bounded, the cause is named, what was drawn is kept."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numba
import numpy as np
import pytest

import grhmc
from grhmc.diagnosis import Finding

MOST_TIMES = 30
"""Cost over that of the same model without its fault."""

pytestmark = pytest.mark.statistical


@numba.njit
def noisy_normal(q, gradient, sd, is_random, n_calls):
    """With noise of variance 1 times sd²: of its own at every call, or a fixed function of the place."""
    n_calls[0] += 1.0
    log_density = 0.0
    for j in range(q.size):
        log_density -= 0.5 * q[j] * q[j]
        gradient[j] = -q[j]
    phase = n_calls[0] * n_calls[0] if is_random == 1 else 1e9 * log_density
    return log_density + sd * math.sqrt(2.0) * math.sin(phase)


@numba.njit
def normal_with_a_shell(q, gradient, radius, half_width):
    log_density = 0.0
    for j in range(q.size):
        log_density -= 0.5 * q[j] * q[j]
        gradient[j] = -q[j]
    return math.nan if abs(math.sqrt(-2.0 * log_density) - radius) < half_width else log_density


def run(density: Any, dim: int, data: tuple[Any, ...], **settings: Any) -> tuple[int, dict[str, Finding], Any]:
    """Gradients of the whole run, findings by code, and the result."""
    defaults = {"seed": 1, "check_gradient": False, "cores": 1, "progress_bar": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        result = grhmc.sample(grhmc.from_numba(density, dim, data=data), **(defaults | settings))
    n_gradients = sum(int(result[group]["n_gradients"].to_numpy().sum()) for group in ("sample_stats", "tuning"))
    report = grhmc.Report.from_json(result.attrs["diagnosis"])
    return n_gradients, {finding.code: finding for finding in report}, result


@pytest.mark.parametrize("is_random", [1, 0])
@pytest.mark.parametrize(
    "sd",
    [
        pytest.param(0.1, marks=pytest.mark.nightly),
        pytest.param(0.3, marks=pytest.mark.nightly),
        pytest.param(1.0, marks=pytest.mark.nightly),
        3.0,
    ],
)
def test_noise_does_not_make_a_run_dear_and_is_named(sd: float, is_random: int) -> None:
    without, healthy, _ = run(noisy_normal, 5, (0.0, is_random, np.zeros(1)))
    assert "noisy_density" not in healthy
    n_gradients, findings, _ = run(noisy_normal, 5, (sd, is_random, np.zeros(1)))
    assert n_gradients < MOST_TIMES * without
    if sd > 0.1:
        assert sd / 2.5 < findings["noisy_density"].value < 2.5 * sd  # of 17 points, the largest of four chains
        assert findings["noisy_density"].severity == ("warning" if sd >= 1.0 else "note")


@pytest.mark.parametrize(
    ("half_width", "seed"),
    [
        (0.03, 8),
        (0.1, 4),
        *(pytest.param(w, s, marks=pytest.mark.nightly) for w in (1e-3, 0.03, 0.1) for s in (1, 2, 3, 5, 6)),
    ],
)
def test_a_thin_shell_that_is_not_finite_does_not_make_a_run_dear(half_width: float, seed: int) -> None:
    without, _, _ = run(normal_with_a_shell, 10, (3.0, -1.0), seed=seed)
    n_gradients, findings, _ = run(normal_with_a_shell, 10, (3.0, half_width), seed=seed)
    assert n_gradients < MOST_TIMES * without
    assert "not_finite" in findings


@numba.njit
def jump(q, gradient, size):
    gradient[0] = -q[0]
    return -0.5 * q[0] * q[0] + size * (q[0] > 0.0)


def test_a_spent_budget_is_an_error_that_names_the_argument_and_keeps_the_draws() -> None:
    with pytest.raises(grhmc.SamplingError, match="raise `gradient_budget`") as error:
        run(jump, 1, (5.0,), draws=2000, gradient_budget=2, tune=100)
    partial: Any = error.value.partial_result
    assert partial["sample_stats"]["lp"].sizes["draw"] > 0
    with pytest.raises(ValueError, match="gradient_budget"):
        run(jump, 1, (5.0,), gradient_budget=0)
