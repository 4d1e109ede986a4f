"""P²: running medians (or other quantiles) of many coordinates, from five numbers each.

References
----------
Jain & Chlamtac (1985), "The P² algorithm for dynamic calculation of quantiles and histograms
without storing observations", Communications of the ACM 28, 1076-1085.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grhmc._jit import kernel

N_MARKERS = 5
"""Markers per coordinate: smallest sample, half-way, the quantile, half-way, largest sample."""


class MedianEstimator(NamedTuple):
    """State of one estimator per coordinate. Make it with `init_median_estimator`.

    Attributes
    ----------
    heights : ndarray, shape (5, dim)
        Marker heights, rising along axis 0. Up to five samples: the sorted samples themselves.
    positions : ndarray of int64, shape (5, dim)
        How many samples lie at or below each marker.
    n_samples : ndarray of int64, shape (1,)
        Samples seen.
    probability : float
        The quantile that is followed; 0.5 is the median.
    """

    heights: np.ndarray
    positions: np.ndarray
    n_samples: np.ndarray
    probability: float


def init_median_estimator(dim: int, probability: float = 0.5) -> MedianEstimator:
    """An estimator for `dim` coordinates that has seen nothing.

    Raises
    ------
    ValueError
        If `dim` is negative or `probability` is not strictly between 0 and 1.
    """
    if dim < 0:
        raise ValueError(f"dim is {dim}; it must be 0 or greater.")
    if not 0 < probability < 1:
        raise ValueError(f"probability is {probability}; it must lie strictly between 0 and 1.")
    positions = np.repeat(np.arange(1, N_MARKERS + 1, dtype=np.int64)[:, np.newaxis], dim, axis=1)
    return MedianEstimator(
        heights=np.zeros((N_MARKERS, dim)),
        positions=positions,
        n_samples=np.zeros(1, dtype=np.int64),
        probability=float(probability),
    )


@kernel
def observe_sample(estimator: MedianEstimator, values: np.ndarray) -> None:
    """Take in one sample of every coordinate.

    Parameters
    ----------
    estimator : MedianEstimator
        `heights`, `positions` and `n_samples` are updated in place.
    values : ndarray, shape (dim,)
        Finite.
    """
    n_seen = estimator.n_samples[0]
    for coordinate in range(values.shape[0]):
        if n_seen < N_MARKERS:
            _insert_sorted(estimator.heights, coordinate, n_seen, values[coordinate])
        else:
            _count_sample(estimator.heights, estimator.positions, coordinate, values[coordinate])
            _adjust_markers(estimator, coordinate, n_seen + 1)
    estimator.n_samples[0] = n_seen + 1


@kernel
def median(estimator: MedianEstimator, coordinate: int) -> float:
    """The current estimate of one coordinate's median (of its `probability` quantile in general).

    Up to five samples it is the sample quantile itself, with linear interpolation; before the first
    it is NaN.
    """
    n_seen = estimator.n_samples[0]
    if n_seen == 0:
        return np.nan
    if n_seen > N_MARKERS:
        return estimator.heights[2, coordinate]
    rank = estimator.probability * (n_seen - 1)
    lower = int(rank)
    upper = min(lower + 1, n_seen - 1)
    fraction = rank - lower
    below = estimator.heights[lower, coordinate]
    above = estimator.heights[upper, coordinate]
    return (1.0 - fraction) * below + fraction * above


@kernel
def _insert_sorted(heights: np.ndarray, coordinate: int, n_seen: int, value: float) -> None:
    """Put `value` in its place among the first `n_seen` heights of one coordinate."""
    place = n_seen
    while place > 0 and heights[place - 1, coordinate] > value:
        heights[place, coordinate] = heights[place - 1, coordinate]
        place -= 1
    heights[place, coordinate] = value


@kernel
def _count_sample(heights: np.ndarray, positions: np.ndarray, coordinate: int, value: float) -> None:
    """Stretch the outer markers to `value` and move the positions of all markers above it."""
    last = N_MARKERS - 1
    if value < heights[0, coordinate]:
        heights[0, coordinate] = value
    elif value > heights[last, coordinate]:
        heights[last, coordinate] = value
    for marker in range(1, last):
        if value < heights[marker, coordinate]:
            positions[marker, coordinate] += 1
    positions[last, coordinate] += 1


@kernel
def _adjust_markers(estimator: MedianEstimator, coordinate: int, n_seen: int) -> None:
    """Move inner markers by one position where they lag or lead the desired ones by as much."""
    heights = estimator.heights
    positions = estimator.positions
    probability = estimator.probability
    for marker in range(1, N_MARKERS - 1):
        if marker == 1:
            share = 0.5 * probability
        elif marker == 2:
            share = probability
        else:
            share = 0.5 * (1.0 + probability)
        lag = 1.0 + share * (n_seen - 1) - positions[marker, coordinate]
        room_above = positions[marker + 1, coordinate] - positions[marker, coordinate]
        room_below = positions[marker, coordinate] - positions[marker - 1, coordinate]
        if lag >= 1.0 and room_above > 1:
            move = 1
        elif lag <= -1.0 and room_below > 1:
            move = -1
        else:
            continue
        heights[marker, coordinate] = _moved_height(heights, positions, coordinate, marker, move)
        positions[marker, coordinate] += move


@kernel
def _moved_height(heights: np.ndarray, positions: np.ndarray, coordinate: int, marker: int, move: int) -> float:
    """Height one position on: on a parabola through three markers, or a line if that overshoots."""
    height = heights[marker, coordinate]
    above = heights[marker + 1, coordinate]
    below = heights[marker - 1, coordinate]
    room_above = positions[marker + 1, coordinate] - positions[marker, coordinate]
    room_below = positions[marker, coordinate] - positions[marker - 1, coordinate]
    slope_above = (above - height) / room_above
    slope_below = (height - below) / room_below
    step = (room_below + move) * slope_above + (room_above - move) * slope_below
    parabolic = height + move * step / (room_above + room_below)
    if below < parabolic < above:
        return parabolic
    if move > 0:
        return height + slope_above
    return height - slope_below
