"""Models with something wrong: each ends in a clear error or a warning that says what it may be, and none hangs."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

import grhmc

Density = Callable[[np.ndarray], tuple[float, np.ndarray]]


def run(density: Density | grhmc.LogDensity, dim: int = 1, **settings: Any) -> tuple[Any, grhmc.Report]:
    """Sample; the result and what it was warned of."""
    defaults: dict[str, Any] = {"draws": 1000, "tune": 300, "chains": 4, "seed": 1, "progress_bar": False}
    model = density if isinstance(density, grhmc.LogDensity) else grhmc.from_python(density, dim)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        result = grhmc.sample(model, **(defaults | settings))
    return result, grhmc.Report.from_json(result.attrs["diagnosis"])


def codes(report: grhmc.Report) -> set[str]:
    return {finding.code for finding in report.warnings}


def message(report: grhmc.Report, code: str) -> str:
    return next(finding.message for finding in report.warnings if finding.code == code)


def normal(q: np.ndarray) -> tuple[float, np.ndarray]:
    return -0.5 * float(q @ q), -q


def test_a_parameter_that_is_not_used_is_named_before_and_after() -> None:
    model = grhmc.from_python(lambda q: (-0.5 * q[0] ** 2, np.array([-q[0], 0.0])), 2, ["used", "unused"])
    with (
        pytest.warns(UserWarning, match="does not depend on unused"),
        pytest.warns(grhmc.SamplingWarning, match="r_hat"),
    ):
        result = grhmc.sample(model, draws=300, tune=200, seed=1, progress_bar=False)
    (finding,) = [f for f in grhmc.Report.from_json(result.attrs["diagnosis"]) if f.code == "unused_parameter"]
    assert finding.variables == ("unused",)


def test_a_start_exactly_at_the_mode_samples() -> None:
    result, report = run(normal, 3, init=np.zeros(3))
    assert report.is_healthy
    assert result["posterior"]["x"].to_numpy().std(axis=(0, 1)) == pytest.approx(np.ones(3), abs=0.1)


def test_a_constant_gradient_with_a_wall_has_the_right_mean_and_is_warned_of() -> None:
    def exponential(q: np.ndarray) -> tuple[float, np.ndarray]:
        return (-q[0], -np.ones(1)) if q[0] >= 0.0 else (-math.inf, q)

    result, report = run(exponential)
    assert result["posterior"]["x"].to_numpy().mean() == pytest.approx(1.0, abs=0.25)
    assert "diverging" in codes(report)


@pytest.mark.parametrize("size", [1.0, 5.0, 20.0])
def test_a_jump_in_the_density_is_warned_of_loudly(size: float) -> None:
    _, report = run(lambda q: (-0.5 * q[0] ** 2 + size * (q[0] > 0.0), -q), process="continuous")
    code = "diverging" if size > 10.0 else "energy_error"
    assert code in codes(report)
    assert "jump that its gradient does not show" in message(report, code)
    (finding,) = [f for f in report if f.code == code]
    assert finding.value == pytest.approx(size, rel=0.2)


@pytest.mark.parametrize("size", [0.5, 1.0, 2.0])
def test_trajectories_correct_a_jump_in_the_density(size: float) -> None:
    result, _ = run(lambda q: (-0.5 * q[0] ** 2 + size * (q[0] > 0.0), -q), process="discrete", draws=4000)
    positive = result["posterior"]["x"].to_numpy() > 0.0
    batches = positive.reshape(80, 200).mean(axis=1)
    error = batches.std(ddof=1) / math.sqrt(80)
    assert positive.mean() == pytest.approx(1.0 / (1.0 + math.exp(-size)), abs=4.0 * error)
    assert error < 0.02


def test_a_jump_in_one_of_many_coordinates_is_warned_of() -> None:
    _, report = run(lambda q: (-0.5 * float(q @ q) + 5.0 * (q[7] > 0.5), -q), 50, process="continuous")
    assert "energy_error" in codes(report)


@numba.njit
def _nan_density(q, gradient):
    gradient[0] = -q[0]
    return -0.5 * q[0] ** 2 if abs(q[0]) < 1.5 else math.nan


@numba.njit
def _nan_gradient(q, gradient):
    gradient[0] = -q[0] if abs(q[0]) < 1.5 else math.nan
    return -0.5 * q[0] ** 2


# Compiled, since trajectories that end at a boundary have hundreds of steps.
def test_a_nan_density_with_a_finite_gradient_is_warned_of_as_a_boundary() -> None:
    result, report = run(numba_model(_nan_density, 1), init=[0.5])
    # A draw is read off a path between the ends of a step, which are inside.
    assert np.abs(result["posterior"]["x"]).max() < 1.52
    assert codes(report) & {"bounces", "diverging"}


def test_a_nan_gradient_with_a_finite_density_is_warned_of_as_a_boundary() -> None:
    result, report = run(numba_model(_nan_gradient, 1), init=[0.5])
    # A draw is read off a path between the ends of a step, which are inside.
    assert np.abs(result["posterior"]["x"]).max() < 1.52
    assert codes(report) & {"bounces", "diverging"}


def test_a_wrong_sign_is_an_error_that_says_so() -> None:
    with pytest.raises(grhmc.GradientError, match="sign is reversed"):
        run(lambda q: (-0.5 * float(q @ q), q), 2)


def test_a_wrong_sign_that_nobody_checks_ends_in_an_error_not_in_a_hang() -> None:
    with pytest.raises(grhmc.SamplingError, match="its gradient is wrong"):
        run(numba_model(_wrong_sign, 2), process="continuous", check_gradient=False)


@numba.njit
def _wrong_sign(q, gradient):
    log_density = 0.0
    for j in range(q.size):
        gradient[j] = q[j]
        log_density -= 0.5 * q[j] * q[j]
    return log_density


def numba_model(function: Any, dim: int) -> grhmc.LogDensity:
    return grhmc.from_numba(function, dim)


@pytest.mark.parametrize("coordinate", [0, 17, 49])
def test_a_wrong_gradient_in_one_coordinate_of_fifty_is_an_error_that_names_it(coordinate: int) -> None:
    def density(q: np.ndarray) -> tuple[float, np.ndarray]:
        gradient = -q.copy()
        gradient[coordinate] *= 1.1
        return -0.5 * float(q @ q), gradient

    with pytest.raises(grhmc.GradientError) as raised:
        run(density, 50)
    assert raised.value.coordinates == (f"x[{coordinate}]",)


def wrong_far_out(q: np.ndarray) -> tuple[float, np.ndarray]:
    return -0.5 * q[0] ** 2, -q if abs(q[0]) < 2.0 else -2.0 * q


def test_a_gradient_that_is_wrong_only_far_from_the_mode_is_found_at_the_end() -> None:
    _, report = run(wrong_far_out, init=[0.5], process="continuous")
    assert {"wrong_gradient", "energy_error"} <= codes(report)
    assert "x[0]" in message(report, "wrong_gradient")


def test_a_gradient_that_is_wrong_far_from_the_mode_costs_energy_even_if_nobody_checks() -> None:
    _, report = run(wrong_far_out, init=[0.5], check_gradient=False, process="continuous")
    assert "energy_error" in codes(report)
    assert "gradient is wrong in some places" in message(report, "energy_error")


@pytest.mark.parametrize("process", ["discrete", "continuous"])
def test_a_density_that_raises_far_out_is_an_error_with_the_draws_so_far(process: str) -> None:
    def density(q: np.ndarray) -> tuple[float, np.ndarray]:
        if q[0] > 1.5:
            raise ValueError("beyond 1.5")
        return normal(q)

    with pytest.raises(ValueError, match=r"beyond 1\.5") as raised:
        run(density, init=[-1.0], process=process)  # the first scale is looked for one unit from here
    assert raised.value.partial_result is not None  # type: ignore[attr-defined]


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:divide by zero:RuntimeWarning")
def test_a_logarithm_of_negative_numbers_is_outside_the_support() -> None:
    result, _ = run(lambda q: (float(np.log(q[0]) - q[0]), 1.0 / q - 1.0))
    positions = result["posterior"]["x"].to_numpy()
    assert positions.min() > 0.0
    assert positions.mean() == pytest.approx(2.0, abs=0.3)  # a gamma distribution of shape 2


@pytest.mark.parametrize(
    "density",
    [
        pytest.param(lambda q: (0.0, np.zeros(1)), id="flat"),
        pytest.param(lambda q: (-0.25 * math.log1p(q[0] ** 2), -0.5 * q / (1 + q**2)), id="slow decay"),
        pytest.param(lambda q: (-float(np.logaddexp(0.0, -q[0])), 1.0 / (1.0 + np.exp(q))), id="flat on one side"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_an_improper_posterior_is_warned_of(density: Density) -> None:
    _, report = run(density)
    assert codes(report) & {"r_hat", "bulk_ess", "tail_ess", "heavy_tails"}


def test_one_dimension_is_enough() -> None:
    result, report = run(normal, 1)
    assert report.is_healthy
    assert result["posterior"]["x"].shape == (4, 1000, 1)


@numba.njit
def _many_normals(q, gradient):
    log_density = 0.0
    for j in range(q.size):
        gradient[j] = -q[j]
        log_density -= 0.5 * q[j] * q[j]
    return log_density


def test_ten_thousand_dimensions_are_sampled_and_diagnosed() -> None:
    result, report = run(numba_model(_many_normals, 10_000), draws=60, tune=60, chains=2)
    assert result["posterior"]["x"].shape == (2, 60, 10_000)
    assert not codes(report) & {"r_hat", "energy_error", "diverging", "wrong_gradient"}


def test_duplicated_parameters_are_warned_of_where_the_metric_is_diagonal() -> None:
    """Only their sum is known: with the weak prior the posterior is 1400 times as long as wide, on the diagonal."""

    def density(q: np.ndarray) -> tuple[float, np.ndarray]:
        residual = (q[0] + q[1] - 1.0) / 0.01
        return -0.5 * residual**2 - float(q @ q) / 200, -residual / 0.01 - q / 100

    _, report = run(density, 2, metric="diagonal")
    assert codes(report) & {"r_hat", "bulk_ess"}
    assert "correlations" in report.codes
    result, report = run(density, 2)
    assert report.is_healthy
    draws = result["posterior"]["x"].to_numpy()
    assert draws.sum(axis=-1).std() == pytest.approx(0.01, rel=0.1)
    assert (draws[..., 0] - draws[..., 1]).std() == pytest.approx(np.sqrt(200.0), rel=0.1)


def test_duplicated_parameters_without_a_prior_are_warned_of() -> None:
    _, report = run(lambda q: (-0.5 * (q[0] + q[1]) ** 2, np.full(2, -q[0] - q[1])), 2)
    assert codes(report) & {"r_hat", "bulk_ess"}


@numba.njit
def _regression(q, gradient, x, y):
    log_density = -0.5 * q[0] * q[0]
    gradient[0] = -q[0]
    for i in range(x.size):
        residual = y[i] - q[0] * x[i]
        log_density -= 0.5 * residual * residual
        gradient[0] += residual * x[i]
    return log_density


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan, 1e308])
def test_data_that_make_the_density_not_finite_are_an_error_that_says_so(bad: float) -> None:
    model = grhmc.from_numba(_regression, 1, ["slope"], data=([1.0, bad], [1.0, 2.0]))
    with pytest.raises(grhmc.InitializationError, match="log density is"):
        run(model)


def test_negative_zero_in_data_is_zero() -> None:
    plain, _ = run(grhmc.from_numba(_regression, 1, data=([1.0, 0.0], [1.0, 2.0])), draws=50)
    negative, _ = run(grhmc.from_numba(_regression, 1, data=([1.0, -0.0], [1.0, 2.0])), draws=50)
    np.testing.assert_array_equal(plain["posterior"]["x"], negative["posterior"]["x"])


def hill_far_out(q: np.ndarray) -> tuple[float, np.ndarray]:
    """A tail like that of a poorly identified time series: far out, a low hill on which chains stay."""
    distance = np.sqrt(1.0 + q**2)
    hill = np.logaddexp(-8.0 * distance[0], -200.0 - 0.5 * (q[0] - 60.0) ** 2 / 4.0)
    share = math.exp(-8.0 * distance[0] - hill)
    return float(hill), -share * 8.0 * q / distance - (1.0 - share) * (q - 60.0) / 4.0


ONE_OF_FOUR_FAR_OUT = [[0.5], [0.5], [0.5], [58.0]]


def test_chains_that_end_in_different_places_are_reported_not_averaged_in_silence() -> None:
    _, report = run(hill_far_out, init=ONE_OF_FOUR_FAR_OUT, scale=[0.4])  # nothing to tune, so that no chains pool
    assert {"stuck_chain", "r_hat"} <= codes(report)
    assert next(f for f in report if f.code == "stuck_chain").chains == (3,)


def test_a_chain_in_a_place_without_mass_is_moved_to_the_others_and_that_is_reported() -> None:
    result, report = run(hill_far_out, init=ONE_OF_FOUR_FAR_OUT)
    assert np.abs(result["posterior"]["x"]).max() < 10.0
    assert report.is_healthy
    assert [(finding.code, finding.chains) for finding in report if finding.code == "moved_chain"] == [
        ("moved_chain", (3,))
    ]


def test_three_chains_in_local_modes_go_to_the_one_in_the_right_place_and_that_is_noted() -> None:
    """Three hills of a weight of exp(-2000), and a bulk that is narrower: four chains, one of which starts there."""

    def density(q: np.ndarray) -> tuple[float, np.ndarray]:
        centres, heights, precision = np.array([0.0, 5.0, 5.5, 9.0]), np.array([0.0, -2000.0, -2100.0, -2200.0]), 1e4
        terms = heights - 0.5 * precision * (q[0] - centres) ** 2
        value = np.logaddexp.reduce(terms)
        shares = np.exp(terms - value)
        return float(value), -precision * shares @ (q[0] - centres) * np.ones(1)

    result, report = run(density, init=[[5.01], [5.51], [0.01], [9.01]])
    assert np.abs(result["posterior"]["x"]).max() < 0.1
    moved = next(finding for finding in report if finding.code == "moved_chain")
    assert moved.chains == (0, 1, 3)
    assert "found by one chain alone" in moved.message


def mixture_with_a_correlated_mode(q: np.ndarray) -> tuple[float, np.ndarray]:
    """½ N(0, AR(1) of correlation 0.95) + ½ N(30, I)."""
    dim, correlation = len(q), 0.95
    precision = 1.0 / (1.0 - correlation**2)
    steps = q[1:] - correlation * q[:-1]
    near = -0.5 * q[0] ** 2 - 0.5 * precision * steps @ steps + 0.5 * (dim - 1) * math.log(precision)
    slope = np.zeros(dim)
    slope[0] = -q[0]
    slope[1:] -= precision * steps
    slope[:-1] += correlation * precision * steps
    far = -0.5 * (q - 30.0) @ (q - 30.0)
    value = np.logaddexp(near, far)
    share = math.exp(far - value)
    return float(value), (1.0 - share) * slope - share * (q - 30.0)


def test_a_chain_with_half_of_the_mass_is_not_moved_because_the_other_half_is_correlated() -> None:
    rng, dim = np.random.default_rng(1), 100
    starts = np.zeros((4, dim))
    for j in range(1, dim):
        starts[:3, j] = 0.95 * starts[:3, j - 1] + math.sqrt(1.0 - 0.95**2) * rng.standard_normal(3)
    starts[3] = 30.0 + rng.standard_normal(dim)
    model = grhmc.from_python(mixture_with_a_correlated_mode, dim)
    result, report = run(model, init=starts, draws=100, tune=200)
    assert result["unconstrained_posterior"]["position"].sel(chain=3).mean() > 25.0
    assert "moved_chain" not in codes(report)
    assert "stuck_chain" in codes(report)


def test_a_chain_in_a_mode_that_matters_is_not_moved() -> None:
    """The same two places, but the hill has a weight of exp(-20)."""

    def density(q: np.ndarray) -> tuple[float, np.ndarray]:
        near, far = -0.5 * q[0] ** 2, -20.0 - 0.5 * (q[0] - 60.0) ** 2
        value = np.logaddexp(near, far)
        share = math.exp(far - value)
        return float(value), -(1.0 - share) * q - share * (q - 60.0)

    result, report = run(density, init=ONE_OF_FOUR_FAR_OUT)
    assert result["posterior"]["x"].sel(chain=3).min() > 40.0
    assert {"stuck_chain", "r_hat"} <= codes(report)


def test_a_run_that_is_not_to_be_diagnosed_warns_of_nothing_and_can_be_diagnosed_later() -> None:
    apart = np.array([[-20.0], [-20.0], [20.0], [20.0]])

    def two_modes(q: np.ndarray) -> tuple[float, np.ndarray]:
        nearest = np.sign(q) * 20.0
        return -0.5 * float((q - nearest) @ (q - nearest)), nearest - q

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = grhmc.from_python(two_modes, 1)
        result = grhmc.sample(model, init=apart, draws=200, tune=100, seed=1, progress_bar=False, diagnose=False)
    assert "diagnosis" not in result.attrs
    assert "r_hat" in codes(grhmc.diagnose(result))
