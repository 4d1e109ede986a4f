"""Tuning of how long momenta last: long enough for slow directions, short enough for spreads.

A momentum that lasts decorrelates positions along slow directions: effective draws grow with the square of the time.
But squares of positions, that is spread, are decorrelated by new momenta alone. The best time is where the worst
coordinate's position and the worst coordinate's square do equally well.

Where the log density varies far more than the kinetic energy, as in a funnel, chains move by changes of their energy,
which come from new momenta alone; positions are slow, and no lasting momentum helps. There it stays as at first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from grhmc._jit import kernel
from grhmc.adaptation.tuners.moments import merge_spreads

FEWEST_DRAWS = 50
LARGEST_CHANGE = 2.0
"""Of the time at once, as a factor."""


@dataclass(frozen=True)
class MomentumTimeRange:
    """How long momenta may last, over the time to a U-turn: at first, and the bounds of tuning."""

    first: float
    shortest: float
    longest: float


MOMENTUM_TIME_RANGES = {"persistent": MomentumTimeRange(0.7, 0.1, 2.5), "fresh": MomentumTimeRange(0.4, 0.3, 1.2)}
"""By the discrete process's kind of momentum."""


CLOSEST_DRAWS, FURTHEST_DRAWS = 0.5, 2.0
"""Time between draws of trajectories with persistent momenta, over the time to a U-turn."""

ENERGY_LIMIT = 0.5
"""Of E-BFMI (Betancourt 2016); below it the energy limits a chain.

Set higher than what diagnosis warns of, because a round is short: centred hierarchies of 0.1 have 0.1 to 0.5 there."""

LARGEST_SQUARE = 9.0
"""What the square of a standardized position counts as at most: one excursion into a long tail would decide alone."""

_AUTOCORRELATION_TIMES_PER_DRAW = 0.5


class MomentumTimeTuner(NamedTuple):
    """Sums over draws of each standardized coordinate (row 0) and of its square, at most 9 (row 1); shape (2, dim).

    Attributes
    ----------
    previous, before_previous : ndarray
        The last draw and the one before it.
    total, total_of_squares, total_of_products, total_of_second_products : ndarray
        Sums of x_i, x_i², x_i x_{i-1} and x_i x_{i-2}.
    n_terms : ndarray of int, shape (3,)
        Of the sums over draws, over successive ones, and over those two apart.
    log_density : ndarray, shape (3,)
        Of the draws' log densities: their number, mean, and sum of squared deviations from it.
    """

    previous: np.ndarray
    before_previous: np.ndarray
    total: np.ndarray
    total_of_squares: np.ndarray
    total_of_products: np.ndarray
    total_of_second_products: np.ndarray
    n_terms: np.ndarray
    log_density: np.ndarray


def init_momentum_time_tuner(dim: int) -> MomentumTimeTuner:
    """Sums over nothing yet."""
    previous, before_previous, *totals = (np.zeros((2, dim)) for _ in range(6))
    return MomentumTimeTuner(
        previous, before_previous, *totals, n_terms=np.zeros(3, dtype=np.int64), log_density=np.zeros(3)
    )


@kernel
def observe_position(tuner: MomentumTimeTuner, position: np.ndarray, log_density: float) -> None:
    """Take in one draw, in standardized coordinates; updates `tuner`."""
    moments = tuner.log_density
    deviation = log_density - moments[1]
    moments[0] += 1.0
    moments[1] += deviation / moments[0]
    moments[2] += deviation * (log_density - moments[1])
    n_terms, previous, before_previous = tuner.n_terms, tuner.previous, tuner.before_previous
    total, squares = tuner.total, tuner.total_of_squares
    products, second_products = tuner.total_of_products, tuner.total_of_second_products
    n_before = n_terms[0]
    for lag in range(3):
        n_terms[lag] += n_before >= lag
    for k in range(position.shape[0]):
        value = position[k]
        for row in range(2):
            total[row, k] += value
            squares[row, k] += value * value
            products[row, k] += value * previous[row, k]  # 0 before the first
            second_products[row, k] += value * before_previous[row, k]
            before_previous[row, k] = previous[row, k]
            previous[row, k] = value
            value = min(value * value, LARGEST_SQUARE)


def add_up(tuners: Sequence[MomentumTimeTuner]) -> MomentumTimeTuner:
    """The sums of all together."""
    *sums, _ = (np.sum(arrays, axis=0) for arrays in zip(*tuners, strict=True))
    log_densities = merge_spreads(*np.array([tuner.log_density for tuner in tuners]).T)
    return MomentumTimeTuner(*sums, log_density=np.array(log_densities))


def next_momentum_time(tuner: MomentumTimeTuner, present: float, allowed: MomentumTimeRange) -> float:
    """How long momenta are to last, over the time to a U-turn, after draws in which they lasted for `present`."""
    if is_limited_by_energy(tuner):
        return allowed.first
    return float(np.clip(present * momentum_time_change(tuner), allowed.shortest, allowed.longest))


def is_limited_by_energy(tuner: MomentumTimeTuner) -> bool:
    """Whether a full refreshment renews so little of the energy that E-BFMI is below `ENERGY_LIMIT`.

    It is d over the variance of the energy, to which the momentum, independent of the position, adds d/2.
    """
    number, _, squares = tuner.log_density
    dim = tuner.previous.shape[1]
    return bool(number >= FEWEST_DRAWS and dim < ENERGY_LIMIT * (squares / number + 0.5 * dim))


def momentum_time_change(tuner: MomentumTimeTuner) -> float:
    """The factor by which the time that momenta last should change; 1 where autocorrelation times are not known.

    The square of a slow coordinate is slow too, about half as much, so that a small excess says a lot: towards longer
    times the full ratio is taken, towards shorter ones its root.
    """
    position, square = autocorrelation_times(tuner).max(axis=1)
    if not (np.isfinite(position) and np.isfinite(square)):
        return 1.0
    ratio = position / square
    return float(np.clip(ratio if ratio > 1.0 else np.sqrt(ratio), 1.0 / LARGEST_CHANGE, LARGEST_CHANGE))


def spacing_of_draws(tuner: MomentumTimeTuner, u_turns_per_trajectory: float) -> float:
    """Time between draws over that to a U-turn, such that a draw is worth about half an independent one or more.

    Half the largest autocorrelation time that is known, less what chance adds to a largest one, but from
    `CLOSEST_DRAWS` to `FURTHEST_DRAWS`: draws too close lose nothing per gradient, those too far apart do.
    `u_turns_per_trajectory` is the time from one draw to the next that `tuner` has seen.
    """
    times = autocorrelation_times(tuner)
    largest = times[np.isfinite(times)].max(initial=0.0) / _excess_of_largest(tuner)
    spacing = _AUTOCORRELATION_TIMES_PER_DRAW * largest * u_turns_per_trajectory
    return float(np.clip(spacing, CLOSEST_DRAWS, FURTHEST_DRAWS))


def _excess_of_largest(tuner: MomentumTimeTuner) -> float:
    """The root of the factor by which the largest of equal autocorrelation times would be too large, by chance.

    The logarithm of an autoregression's time is twice the inverse hyperbolic tangent of its correlation, whose standard
    error is 1/√n (Fisher's transformation); the largest of m normal numbers is about √(2 log m). So that factor is
    exp(2 √(2 log m / n)). Its root, because coordinates are not all equally slow: where one is, its time is hardly too
    large.
    """
    return float(np.exp(np.sqrt(2.0 * np.log(tuner.total.size) / max(tuner.n_terms[1], 1))))


_LARGEST_CORRELATION = 0.999


def autocorrelation_times(tuner: MomentumTimeTuner) -> np.ndarray:
    """Autocorrelation times in draws, of coordinates and of their squares, shape (2, dim).

    Those of the autoregression of order two with the same correlations at lags one and two: a position whose momentum
    persists is nearly that, and may swing. nan before there are `FEWEST_DRAWS`, and of what does not move.
    """
    if tuner.n_terms[0] < FEWEST_DRAWS:
        return np.full_like(tuner.total, np.nan)
    n_draws, n_successive, n_two_apart = tuner.n_terms.astype(float)
    mean = tuner.total / n_draws
    variance = tuner.total_of_squares / n_draws - mean**2
    with np.errstate(divide="ignore", invalid="ignore"):
        first = (tuner.total_of_products / n_successive - mean**2) / variance
        second = (tuner.total_of_second_products / n_two_apart - mean**2) / variance
        first = np.clip(first, -_LARGEST_CORRELATION, _LARGEST_CORRELATION)
        smallest_second = 1.0 - 2.0 * _LARGEST_CORRELATION * (1.0 - first**2)  # of a series that swings for ever: 2ρ²−1
        second = np.clip(second, smallest_second, _LARGEST_CORRELATION)
        coefficient = first * (1.0 - second) / (1.0 - first**2)
        second_coefficient = (second - first**2) / (1.0 - first**2)
        innovation = 1.0 - coefficient * first - second_coefficient * second
        return innovation / (1.0 - coefficient - second_coefficient) ** 2
