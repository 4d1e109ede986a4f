"""Broken models by the discrete process: a Metropolis test makes most answers right, others are warned of.

What the gradient does not show (a jump in the log density, a factor of its own) costs acceptance, not truth. So an
answer is compared with the exact one, or a warning or an error is asked for; see `test_broken_models.py` for the other
process.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from arviz_stats.base import array_stats

import grhmc

LIMIT = 4.5
"""Monte Carlo standard errors."""

Density = Callable[[np.ndarray], tuple[float, np.ndarray]]


def run(density: Density | grhmc.LogDensity, dim: int = 1, **settings: Any) -> tuple[np.ndarray, set[str]]:
    """Sample; draws of shape (chains, draws, dim), and codes of the warnings."""
    defaults: dict[str, Any] = {"draws": 1000, "tune": 300, "chains": 4, "seed": 1, "progress_bar": False}
    model = density if isinstance(density, grhmc.LogDensity) else grhmc.from_python(density, dim)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        result = grhmc.sample(model, process="discrete", **(defaults | settings))
    report = grhmc.Report.from_json(result.attrs["diagnosis"])
    return result["unconstrained_posterior"]["position"].to_numpy(), {finding.code for finding in report.warnings}


def standard_errors_off(values: np.ndarray, exact: float) -> float:
    """Of a function of the first coordinate, unless it is of one coordinate already."""
    values = np.asarray(values if values.ndim == 2 else values[..., 0], dtype=float)
    return abs(float(values.mean()) - exact) / float(np.asarray(array_stats.mcse(values, method="mean")))


def probability_below(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def normal(q: np.ndarray) -> tuple[float, np.ndarray]:
    return -0.5 * float(q @ q), -q


@numba.njit
def _jump(q, gradient, size):
    gradient[0] = -q[0]
    return -0.5 * q[0] * q[0] + size * (q[0] > 0.0)


def jump_of(size: float) -> grhmc.LogDensity:
    """Compiled, since its trajectories have hundreds of steps."""
    return grhmc.from_numba(_jump, 1, data=(size,))


@pytest.mark.parametrize("size", [1.0, 2.0])
def test_a_jump_in_the_density_gets_its_share_of_the_draws(size: float) -> None:
    draws, _ = run(jump_of(size), draws=2000)
    assert standard_errors_off(draws > 0.0, 1.0 / (1.0 + math.exp(-size))) < LIMIT


@pytest.mark.parametrize("seed", [1, 2])
def test_a_jump_that_is_rarely_crossed_is_right_or_warned_of(seed: int) -> None:
    draws, codes = run(jump_of(5.0), seed=seed)
    assert codes or standard_errors_off(draws > 0.0, 1.0 / (1.0 + math.exp(-5.0))) < LIMIT


def test_a_jump_so_high_that_it_is_a_wall_leaves_half_a_normal() -> None:
    draws, _ = run(jump_of(20.0))
    assert draws.min() > 0.0
    assert standard_errors_off(draws, math.sqrt(2.0 / math.pi)) < LIMIT


def test_the_comparison_notices_a_jump_that_is_forgotten() -> None:
    """Negative control: half of the draws of a plain normal are positive, not what a jump of 1 asks for."""
    draws, _ = run(normal)
    assert standard_errors_off(draws > 0.0, 1.0 / (1.0 + math.exp(-1.0))) > LIMIT


@numba.njit
def _jump_in_one_of_many(q, gradient, size):
    log_density = size * (q[7] > 0.5)
    for j in range(q.size):
        gradient[j] = -q[j]
        log_density -= 0.5 * q[j] * q[j]
    return log_density


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_jump_in_one_of_many_coordinates_gets_its_share_or_is_warned_of(seed: int) -> None:
    draws, codes = run(grhmc.from_numba(_jump_in_one_of_many, 50, data=(5.0,)), seed=seed)
    below, above = probability_below(0.5), math.exp(5.0) * (1.0 - probability_below(0.5))
    assert codes or standard_errors_off(draws[..., 7] > 0.5, above / (above + below)) < LIMIT


@pytest.mark.parametrize(("size", "most"), [(1.5, 60), (5.0, 100), (15.0, 1000)])
def test_rejections_at_a_jump_do_not_shorten_steps_without_end(size: float, most: int) -> None:
    """A normal takes 2 to 4 gradients per draw; 15 is retried with shorter steps, and is a wall then."""
    result = grhmc.sample(
        grhmc.from_numba(_jump_in_one_of_many, 50, data=(size,)),
        **{"draws": 500, "tune": 300, "seed": 1, "progress_bar": False, "diagnose": False},
    )
    assert result["sample_stats"]["n_gradients"].mean() < most


@numba.njit
def _nan_beyond(q, gradient, is_density):
    gradient[0] = -q[0]
    if abs(q[0]) < 1.5:
        return -0.5 * q[0] * q[0]
    if is_density == 1:
        return math.nan
    gradient[0] = math.nan
    return -0.5 * q[0] * q[0]


@pytest.mark.parametrize("bad", ["density", "gradient"])
def test_what_is_not_a_number_beyond_a_bound_is_cut_off_there_and_warned_of(bad: str) -> None:
    draws, codes = run(grhmc.from_numba(_nan_beyond, 1, data=(int(bad == "density"),)), init=[0.5])
    inside = probability_below(1.5) - probability_below(-1.5)
    assert np.abs(draws).max() < 1.5
    assert standard_errors_off(draws, 0.0) < LIMIT
    assert standard_errors_off(np.abs(draws) < 0.5, (2.0 * probability_below(0.5) - 1.0) / inside) < LIMIT
    assert "diverging" in codes


@numba.njit
def _exponential(q, gradient):
    gradient[0] = -1.0
    return -q[0] if q[0] >= 0.0 else -math.inf


@numba.njit
def _gamma(q, gradient):
    gradient[0] = 1.0 / q[0] - 1.0
    return math.log(q[0]) - q[0] if q[0] > 0.0 else math.nan


def test_a_constant_gradient_with_a_wall_has_the_right_mean_and_is_warned_of() -> None:
    draws, codes = run(grhmc.from_numba(_exponential, 1))
    assert standard_errors_off(draws, 1.0) < LIMIT
    assert "diverging" in codes


def test_a_logarithm_of_negative_numbers_is_outside_the_support() -> None:
    draws, _ = run(grhmc.from_numba(_gamma, 1))
    assert draws.min() > 0.0
    assert standard_errors_off(draws, 2.0) < LIMIT  # a gamma distribution of shape 2


def wrong_far_out(q: np.ndarray) -> tuple[float, np.ndarray]:
    return -0.5 * q[0] ** 2, -q if abs(q[0]) < 2.0 else -2.0 * q


def wrong_in_one_of_ten(q: np.ndarray) -> tuple[float, np.ndarray]:
    gradient = -q.copy()
    gradient[7] *= 1.1
    return -0.5 * float(q @ q), gradient


def test_a_gradient_that_is_wrong_far_out_is_noted_at_the_end() -> None:
    """A note, because the Metropolis test corrects for it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", grhmc.SamplingWarning)
        result = grhmc.sample(
            grhmc.from_python(wrong_far_out, 1), process="discrete", init=[0.5], seed=1, progress_bar=False
        )
    (finding,) = [
        each for each in grhmc.diagnose(result, grhmc.from_python(wrong_far_out, 1)) if each.code == "wrong_gradient"
    ]
    assert finding.severity == "note"
    assert "Metropolis test corrects" in finding.message


@pytest.mark.parametrize(("density", "dim", "of"), [(wrong_far_out, 1, 0), (wrong_in_one_of_ten, 10, 7)])
def test_a_wrong_gradient_that_nobody_checks_costs_acceptance_only(density: Density, dim: int, of: int) -> None:
    draws, _ = run(density, dim, init=np.full(dim, 0.5), check_gradient=False)
    assert standard_errors_off(draws[..., of], 0.0) < LIMIT
    assert standard_errors_off(draws[..., of] ** 2, 1.0) < LIMIT


@numba.njit
def _wrong_sign(q, gradient):
    log_density = 0.0
    for j in range(q.size):
        gradient[j] = q[j]
        log_density -= 0.5 * q[j] * q[j]
    return log_density


def test_a_wrong_sign_is_an_error() -> None:
    with pytest.raises(grhmc.GradientError, match="sign is reversed"):
        run(grhmc.from_numba(_wrong_sign, 2))


def test_a_wrong_sign_that_nobody_looks_for_ends_in_an_error_that_names_it() -> None:
    with pytest.raises(grhmc.SamplingError, match="the gradient is wrong"):
        run(grhmc.from_numba(_wrong_sign, 2), check_gradient=False)


@pytest.mark.parametrize(
    ("density", "dim"),
    [
        pytest.param(lambda q: (0.0, np.zeros(1)), 1, id="flat"),
        pytest.param(lambda q: (-0.25 * math.log1p(q[0] ** 2), -0.5 * q / (1 + q**2)), 1, id="slow decay"),
        pytest.param(lambda q: (-0.5 * q[0] ** 2, np.array([-q[0], 0.0])), 2, id="unused parameter"),
        pytest.param(lambda q: (-0.5 * (q[0] + q[1]) ** 2, np.full(2, -q[0] - q[1])), 2, id="only a sum is known"),
    ],
)
def test_an_improper_posterior_is_warned_of(density: Density, dim: int) -> None:
    _, codes = run(density, dim)
    assert codes & {"r_hat", "bulk_ess"}


def test_duplicated_parameters_with_a_weak_prior_are_no_trouble() -> None:
    def density(q: np.ndarray) -> tuple[float, np.ndarray]:
        residual = (q[0] + q[1] - 1.0) / 0.01
        return -0.5 * residual**2 - float(q @ q) / 200, -residual / 0.01 - q / 100

    _, codes = run(density, 2)
    assert not codes & {"r_hat", "bulk_ess", "correlations"}


def test_a_start_exactly_at_the_mode_samples() -> None:
    draws, codes = run(normal, 3, init=np.zeros(3))
    assert not codes
    assert standard_errors_off(draws[..., 0] ** 2, 1.0) < LIMIT
