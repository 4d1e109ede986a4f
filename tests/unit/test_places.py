"""Which chains pool, by the mass around them: bounds that hold with correlations, and no votes."""

from __future__ import annotations

import numpy as np
import pytest

from grhmc.adaptation.local_mass import CLEAR_LOG_MASS, LogMassBounds, is_negligible, log_mass_bounds
from grhmc.adaptation.low_rank import LowRank, no_directions
from grhmc.adaptation.places import Places, chains_that_moved, judge_chains
from grhmc.adaptation.tuners.moments import RunningMoments

LONG = 30.0
"""Process time of a path that has seen its place."""


def bounds_of(log_density: float, covariance: np.ndarray, path_time: float = LONG) -> LogMassBounds:
    """Of a chain in a normal mode, by its exact moments."""
    precision = np.linalg.inv(covariance)
    return log_mass_bounds(
        np.array([log_density]), np.diag(covariance)[np.newaxis], np.diag(precision)[np.newaxis], np.array([path_time])
    )


def autoregression(dim: int, correlation: float) -> np.ndarray:
    index = np.arange(dim)
    return correlation ** np.abs(index[:, np.newaxis] - index)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.95, 0.99])
def test_the_log_volume_of_a_correlated_normal_lies_between_the_bounds(correlation: float) -> None:
    covariance = autoregression(100, correlation)
    exact = 0.5 * np.linalg.slogdet(covariance)[1]
    lower, upper = bounds_of(0.0, covariance)
    assert lower[0] <= exact + 1e-6
    assert exact <= upper[0] + 1e-6
    if correlation == 0.0:
        assert upper[0] - lower[0] < 1e-6


def test_a_path_too_short_to_see_a_width_leaves_the_mass_open() -> None:
    short, long = bounds_of(0.0, np.eye(10), path_time=0.01), bounds_of(0.0, np.eye(10))
    assert short.upper[0] > long.upper[0] + 50.0
    assert short.lower[0] == long.lower[0]


@pytest.mark.parametrize(
    "moments", [(np.zeros((1, 2)), np.ones((1, 2)), 1.0), (np.full((1, 2), np.nan), np.ones((1, 2)), 0.0)]
)
def test_what_is_not_known_is_bounded_by_infinity_and_never_negligible(
    moments: tuple[np.ndarray, np.ndarray, float],
) -> None:
    variance, squared_gradient, time = moments
    unknown = log_mass_bounds(np.array([-1e6]), variance, squared_gradient, np.array([time]))
    assert unknown.lower[0] == -np.inf
    together = LogMassBounds(np.append(unknown.lower, 0.0), np.append(unknown.upper, 0.0))
    if np.isnan(variance).any():
        assert not is_negligible(together, 2).any()


@pytest.mark.parametrize("variance", [0.0, -1e-22])
def test_gradients_tell_that_a_peak_is_negligible_whose_width_is_lost_in_rounding(variance: float) -> None:
    spike = log_mass_bounds(np.array([-1e5]), np.array([[variance]]), np.array([[1e33]]), np.array([2e-4]))
    wide = bounds_of(-1.0, np.eye(1))
    together = LogMassBounds(*(np.append(one, other) for one, other in zip(spike, wide, strict=True)))
    np.testing.assert_array_equal(is_negligible(together, 1), [True, False])


@pytest.mark.parametrize(("dim", "correlation"), [(100, 0.95), (200, 0.99), (500, 0.98), (500, 0.99)])
def test_half_of_the_mass_is_not_negligible_beside_a_correlated_mode(dim: int, correlation: float) -> None:
    """½ N(0, AR(1)) + ½ N(30, I): the product of the scales would be wrong by −½ log det, 120 to 980."""
    covariance = autoregression(dim, correlation)
    typical = -0.5 * dim - 0.5 * np.linalg.slogdet(covariance)[1]
    correlated, independent = bounds_of(typical, covariance), bounds_of(-0.5 * dim, np.eye(dim))
    bounds = LogMassBounds(*(np.concatenate(pair) for pair in zip(correlated, independent, strict=True)))
    assert not is_negligible(bounds, dim).any()
    far_below = LogMassBounds(bounds.lower, bounds.upper - [0.0, 5.0 * dim])  # negative control
    assert is_negligible(far_below, dim)[1]


def equal_bounds(*log_mass: float) -> LogMassBounds:
    return LogMassBounds(np.array(log_mass), np.array(log_mass))


def judged(
    centres: np.ndarray,
    scales: np.ndarray,
    bounds: LogMassBounds,
    factor: LowRank | None = None,
    still: int | None = None,
) -> Places:
    """Of chains that have moved, all but one."""
    has_moved = np.arange(len(centres)) != (-1 if still is None else still)
    return judge_chains(centres, scales, bounds, factor or no_directions(centres.shape[1]), has_moved)


def test_three_chains_in_a_local_mode_do_not_outvote_one_with_the_mass() -> None:
    centres, scales = np.array([[5.0], [5.0], [5.0], [0.0]]), np.full((4, 1), 1e-3)
    places = judged(centres, scales, equal_bounds(-3.3e5, -3.3e5, -3.3e5, -40.0))
    assert places.is_negligible.tolist() == [True, True, True, False]
    assert not places.is_apart.any()


def test_a_chain_apart_that_may_have_mass_keeps_to_itself() -> None:
    centres, scales = np.array([[0.0], [0.1], [-0.1], [30.0]]), np.ones((4, 1))
    places = judged(centres, scales, equal_bounds(0.0, 0.0, 0.0, 1.0 - CLEAR_LOG_MASS))
    assert places.is_apart.tolist() == [False, False, False, True]
    assert not places.is_negligible.any()
    lighter = judged(centres, scales, equal_bounds(0.0, 0.0, 0.0, -3.0 - CLEAR_LOG_MASS))
    assert lighter.is_negligible.tolist() == [False, False, False, True]


def test_chains_without_mass_have_no_part_in_who_is_apart() -> None:
    """Of five, three are where there is nothing: the two others are compared with each other alone."""
    centres, scales = np.array([[30.0], [30.0], [30.0], [0.0], [0.3]]), np.ones((5, 1))
    places = judged(centres, scales, equal_bounds(-200.0, -200.0, -200.0, 0.0, 0.0))
    assert places.is_negligible.tolist() == [True, True, True, False, False]
    assert not places.is_apart.any()


def test_where_no_half_is_close_together_all_pool() -> None:
    centres, scales = np.array([[0.0], [0.0], [30.0], [30.0]]), np.ones((4, 1))
    assert not judged(centres, scales, equal_bounds(0.0, 0.0, 0.0, 0.0)).is_apart.any()


def test_chains_far_apart_along_a_direction_of_strong_correlation_are_in_the_same_place() -> None:
    direction = np.ones((1, 2)) / np.sqrt(2.0)
    centres = np.outer([0.0, 3.0, -2.0, 40.0], [1.0, 1.0])
    bounds = equal_bounds(0.0, 0.0, 0.0, 0.0)
    wide = LowRank(direction, np.array([1e4]))
    assert not judged(centres, np.ones((4, 2)), bounds, wide).is_apart.any()
    assert judged(centres, np.ones((4, 2)), bounds).is_apart.tolist() == [False] * 3 + [True]
    across = centres.copy()
    across[3] = [15.0, -15.0]
    assert judged(across, np.ones((4, 2)), bounds, wide).is_apart.tolist() == [False] * 3 + [True]


def test_a_chain_that_stood_still_is_not_compared_and_takes_over_the_scale_of_the_others() -> None:
    centres, scales = np.array([[0.0], [0.1], [-0.1], [30.0]]), np.array([[1.0], [1.0], [1.0], [np.nan]])
    places = judged(centres, scales, equal_bounds(0.0, 0.0, 0.0, 0.0), still=3)
    assert places.is_still.tolist() == [False, False, False, True]
    assert not (places.is_apart | places.is_negligible).any()
    assert judged(centres, np.ones((4, 1)), equal_bounds(0.0, 0.0, 0.0, 0.0)).is_apart.tolist() == [False] * 3 + [True]


def test_a_chain_that_stood_still_where_nothing_is_may_be_moved() -> None:
    centres = np.array([[0.0], [0.1], [30.0]])
    places = judged(centres, np.ones((3, 1)), equal_bounds(0.0, 0.0, -1e4), still=2)
    assert places.is_negligible.tolist() == [False, False, True]
    assert not places.is_still.any()


def test_a_chain_that_stood_still_counts_where_no_other_has_mass() -> None:
    centres = np.array([[0.0], [5.0], [5.1]])
    places = judged(centres, np.ones((3, 1)), equal_bounds(0.0, -1e4, -1e4), still=0)
    assert places.is_negligible.tolist() == [False, True, True]
    assert not places.is_still.any()


@pytest.mark.parametrize(
    ("sd", "weight", "has_moved"), [(0.5, 30.0, True), (0.0, 30.0, False), (1e-8, 30.0, False), (0.0, 0.0, True)]
)
def test_rounding_is_no_move_and_of_no_path_nothing_is_known(sd: float, weight: float, has_moved: bool) -> None:
    spread = weight * np.array([0.0, sd**2])
    moments = RunningMoments(np.full(2, weight), np.full(2, 12.3), spread, np.zeros(2), np.zeros(2))
    assert chains_that_moved([moments], np.ones((1, 2))).tolist() == [has_moved]
