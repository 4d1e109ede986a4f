"""Tuning of trajectory lengths: long enough for slow directions, short enough for spreads.

Long trajectories decorrelate positions along slow directions: effective draws grow with the square of the length. But
squares of positions, that is spread, are decorrelated by new momenta, at best by a third per trajectory however long it
is. The best length is where the worst coordinate's position and the worst coordinate's square do equally well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from grhmc._jit import kernel

FEWEST_DRAWS = 50
LARGEST_CHANGE = 2.0
"""Of the length at once, as a factor."""

FIRST_U_TURNS_PER_TRAJECTORY = 0.4
FEWEST_U_TURNS_PER_TRAJECTORY, MOST_U_TURNS_PER_TRAJECTORY = 0.3, 1.2
"""Mean length of the discrete process's trajectories over the time to a U-turn: at first, and the bounds of tuning."""


class LengthTuner(NamedTuple):
    """Sums over draws of each standardized coordinate (row 0) and of its square (row 1); arrays have shape (2, dim).

    Attributes
    ----------
    previous : ndarray
        The last draw.
    total, total_of_squares, total_of_products : ndarray
        Sums of x_i, x_i² and x_i x_{i-1}.
    n_draws : ndarray of int, shape (1,)
    """

    previous: np.ndarray
    total: np.ndarray
    total_of_squares: np.ndarray
    total_of_products: np.ndarray
    n_draws: np.ndarray


def init_length_tuner(dim: int) -> LengthTuner:
    """Sums over nothing yet."""
    shape = (2, dim)
    return LengthTuner(np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(1, dtype=np.int64))


@kernel
def observe_position(tuner: LengthTuner, position: np.ndarray) -> None:
    """Take in one draw, in standardized coordinates; updates `tuner`."""
    tuner.n_draws[0] += 1
    for k in range(position.shape[0]):
        value = position[k]
        for row in range(2):
            tuner.total[row, k] += value
            tuner.total_of_squares[row, k] += value * value
            tuner.total_of_products[row, k] += value * tuner.previous[row, k]  # 0 before the first
            tuner.previous[row, k] = value
            value *= value


def add_sums(tuners: Sequence[LengthTuner]) -> None:
    """Give each tuner the sums of all; updates all."""
    for arrays in zip(*tuners, strict=True):
        total = np.sum(arrays, axis=0)
        for array in arrays:
            array[:] = total


def length_change(tuner: LengthTuner) -> float:
    """The factor by which the mean length should change; 1 before there are `FEWEST_DRAWS`.

    The square of a slow coordinate is slow too, about half as much, so that a small excess says a lot: towards longer
    trajectories the full ratio is taken, towards shorter ones its root.
    """
    if tuner.n_draws[0] < FEWEST_DRAWS:
        return 1.0
    position, square = autocorrelation_times(tuner).max(axis=1)
    if not (np.isfinite(position) and np.isfinite(square)):
        return 1.0
    ratio = position / square
    return float(np.clip(ratio if ratio > 1.0 else np.sqrt(ratio), 1.0 / LARGEST_CHANGE, LARGEST_CHANGE))


_LARGEST_CORRELATION = 0.999


def autocorrelation_times(tuner: LengthTuner) -> np.ndarray:
    """Autocorrelation times in draws, (1 + ρ)/(1 − ρ) with ρ at lag one: of coordinates and squares, shape (2, dim)."""
    n_draws = float(tuner.n_draws[0])
    mean = tuner.total / n_draws
    variance = tuner.total_of_squares / n_draws - mean**2
    covariance = tuner.total_of_products / (n_draws - 1.0) - mean**2
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = np.clip(covariance / variance, -_LARGEST_CORRELATION, _LARGEST_CORRELATION)
    return (1.0 + correlation) / (1.0 - correlation)


def bounded_u_turns_per_trajectory(factor: float) -> float:
    """A mean length, over the time to a U-turn, within the bounds of tuning."""
    return min(max(factor, FEWEST_U_TURNS_PER_TRAJECTORY), MOST_U_TURNS_PER_TRAJECTORY)
