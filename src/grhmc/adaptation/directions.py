"""Scale and directions of a metric, chosen from the spectrum that draws and gradients show."""

from __future__ import annotations

import math

import numpy as np

from grhmc.adaptation.low_rank import LowRank, ScaleAndDirections, no_directions, scale_alone
from grhmc.adaptation.spectrum import spectrum_of_draws
from grhmc.adaptation.tuners.scale_from_moments import scale_from_moments

SMALLEST_STRETCH = 1.5
"""Ratio of the largest to the smallest eigenvalue that is left to the diagonal scale."""

LARGEST_MISFIT = math.log(4.0)
"""Log ratio of the largest to the smallest eigenvalue that is left, above which a metric is another one."""

_GRADIENT_NANOSECONDS, _PER_DIMENSION, _PER_DIRECTION = 1000.0, 10.0, 0.8
# What a gradient is taken to cost, and what a direction adds to it per dimension. Not measured: a choice by the clock
# would make draws depend on it.
_SMALLEST_GAIN = 1.1


def find_directions(
    positions: np.ndarray, gradients: np.ndarray, scale: np.ndarray, tuner: int, max_rank: int, *, counts_cost: bool
) -> ScaleAndDirections | None:
    """Directions on top of a diagonal scale, from draws and gradients; None where too little was seen to tell.

    Parameters
    ----------
    positions, gradients, tuner
        See `spectrum_of_draws`.
    scale : ndarray, shape (dim,)
    max_rank : int
        Most directions.
    counts_cost : bool
        Keep only the directions that are worth their cost (see `worthwhile`).
    """
    found = spectrum_of_draws(positions, gradients, scale_alone(scale), tuner)
    return None if found is None else worthwhile(found, scale, max_rank, counts_cost=counts_cost)


def renew_directions(
    found: LowRank, present: ScaleAndDirections, tuner: int, *, counts_cost: bool
) -> ScaleAndDirections | None:
    """The present scale and directions, changed by the spectrum that draws show in the coordinates that these give.

    What the draws do not tell of stays as it is. In the right coordinates they tell little: between two refreshments
    the path of a standard normal is a circle, which has two dimensions. The new scale is the one that the tuner would
    find for a normal with the new matrix as its covariance. Time grows with the cube of the dimension.

    None where the matrix has too wide a range for floating-point numbers.
    """
    dim = len(present.scale)
    half = present.factor.stretched(found.stretched(np.eye(dim))).T  # over the present scale
    try:
        sds, score_sds = np.linalg.norm(half, axis=1), np.linalg.norm(np.linalg.inv(half), axis=0)
        change = np.array([scale_from_moments(tuner, *each) for each in zip(sds**2, score_sds**2, strict=True)])
        vectors, roots, _ = np.linalg.svd(half / change[:, np.newaxis])
    except np.linalg.LinAlgError:
        return None
    return worthwhile(LowRank(vectors.T, roots**2), present.scale * change, dim, counts_cost=counts_cost)


def notable_directions(positions: np.ndarray, gradients: np.ndarray, scale: np.ndarray, tuner: int) -> LowRank:
    """The directions on top of a diagonal scale that are much wider or narrower than it says, however many."""
    found = spectrum_of_draws(positions, gradients, scale_alone(scale), tuner)
    if found is None:
        return no_directions(len(scale))
    is_notable = np.abs(np.log(found.eigenvalues)) > math.log(SMALLEST_STRETCH)
    return LowRank(found.directions[is_notable], found.eigenvalues[is_notable])


def misfit(found: LowRank | None) -> float:
    """Log ratio of the largest to the smallest eigenvalue of a spectrum in the coordinates of a metric.

    0 where too little was seen to tell.
    """
    if found is None:
        return 0.0
    left = np.log(found.eigenvalues)
    return float(left.max(initial=0.0) - left.min(initial=0.0))


def worthwhile(found: LowRank, scale: np.ndarray, max_rank: int, *, counts_cost: bool) -> ScaleAndDirections:
    """The directions that are worth their cost: some number of those with the most extreme eigenvalues.

    What is left makes trajectories longer by the square root of the ratio of the largest to the smallest eigenvalue;
    each direction makes a gradient dearer. Without `counts_cost` there are as few as bring that ratio below
    `SMALLEST_STRETCH`. The scale is multiplied by the middle of what is left, to which the chosen directions are
    brought: if one is wide and all others are equally narrow, that one is enough.
    """
    dim = found.directions.shape[1]
    order = np.argsort(found.eigenvalues, kind="stable")
    logs = np.log(found.eigenvalues[order])
    choices = _choices(logs, min(max_rank, len(logs)), some_unseen=len(logs) < dim)
    spreads = np.array([spread for spread, _, _ in choices])
    best = int(np.argmin(spreads))
    if counts_cost:
        gradient = _GRADIENT_NANOSECONDS + _PER_DIMENSION * dim
        cost = np.exp(0.5 * spreads) * (1.0 + _PER_DIRECTION * dim * np.arange(len(choices)) / gradient)
        best = int(np.argmin(cost))
        if cost[best] * _SMALLEST_GAIN > cost[0]:
            best = 0
    if best == 0:
        return scale_alone(scale)
    _, n_narrow, middle = choices[best]
    chosen = np.concatenate([order[:n_narrow], order[len(order) - (best - n_narrow) :]])
    factor = LowRank(found.directions[chosen], found.eigenvalues[chosen] / math.exp(middle))
    return ScaleAndDirections(scale * math.exp(0.5 * middle), factor)


def _choices(logs: np.ndarray, most: int, *, some_unseen: bool) -> list[tuple[float, int, float]]:
    """The best choice of each number of directions, up to the first that leaves nearly equal eigenvalues.

    Each as the range of the logarithms that are left, how many of the narrowest directions are chosen, and the middle
    of the range. `logs` are sorted; directions that were not seen are left, with logarithms of 0.
    """
    choices = []
    for k in range(most + 1):
        n_narrow, n_left = np.arange(k + 1), len(logs) - k
        lowest, highest = np.zeros((2, k + 1))
        if n_left:
            lowest, highest = logs[n_narrow], logs[n_narrow + n_left - 1]
        if some_unseen:
            lowest, highest = np.minimum(lowest, 0.0), np.maximum(highest, 0.0)
        best = int(np.argmin(highest - lowest))
        low, high = float(lowest[best]), float(highest[best])
        choices.append((high - low, best, 0.5 * (low + high)))
        if high - low <= math.log(SMALLEST_STRETCH):
            break
    return choices
