"""Which chains pool what they have found: those where the mass is, whether they are many or one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from grhmc.adaptation.local_mass import LogMassBounds, is_negligible, log_mass_bounds
from grhmc.adaptation.low_rank import LowRank
from grhmc.adaptation.tuners.moments import RunningMoments

LOST_DISTANCE = 10.0
"""Of a chain's mean from the median of the chains' means, in the median of their scales."""


_ROUNDING = 1e-6
# Of a position, in scales.


class Places(NamedTuple):
    """Where chains are; boolean arrays of shape (chains,)."""

    is_apart: np.ndarray
    """In a place of its own that may have mass, or not in the bulk yet: it keeps its own scale and moments."""
    is_negligible: np.ndarray
    """Where there is next to no mass: it may be moved."""
    is_still: np.ndarray
    """In the same point as before, so that it knows no scale: it takes over that of the others."""


def judge_chains(
    centres: np.ndarray, scales: np.ndarray, bounds: LogMassBounds, factor: LowRank, has_moved: np.ndarray
) -> Places:
    """Tell the chains that are where the mass is from those that are not.

    Mass decides which chains are compared with each other, never how many of them agree: of local modes of a log
    density a thousand lower, three chains in one of them count nothing beside a single chain in the right one. Among
    those with mass, the ones that are far from where most are do not pool; where no half of them is close together,
    all do.

    Parameters
    ----------
    centres, scales : ndarray, shape (chains, dim)
    bounds : LogMassBounds
        From `log_mass_bounds`.
    factor : LowRank
        Directions on top of the median scale: with strong correlations a posterior is much wider along some of them
        than any scale, and chains that are far apart along these are in the same place.
    has_moved : ndarray, shape (chains,)
        From `chains_that_moved`.
    """
    negligible = is_negligible(bounds, centres.shape[1])
    counted = ~negligible
    if np.any(counted & has_moved):
        counted &= has_moved
    with np.errstate(divide="ignore", invalid="ignore"):  # of a density that says nothing of a scale
        scaled = factor.standardized((centres - centres[counted][0]) / np.median(scales[counted], axis=0))
        distance = np.abs(scaled - np.median(scaled[counted], axis=0))
    is_far = np.any(distance > LOST_DISTANCE, axis=1) & counted
    is_apart = is_far & (2 * int(is_far.sum()) < int(counted.sum()))
    return Places(is_apart, negligible, ~negligible & ~counted)


def chains_that_moved(moments: Sequence[RunningMoments], scales: np.ndarray) -> np.ndarray:
    """Which chains have moved by more than rounding in the stage that has just ended; shape (chains,).

    Where trajectories are far too long, all of them are rejected. `scales` has shape (chains, dim).
    """
    spreads = np.array([each.position_spread for each in moments])
    weights = np.array([each.weights[0] for each in moments])[:, np.newaxis]
    return (weights[:, 0] == 0.0) | np.any(spreads > (_ROUNDING * scales) ** 2 * weights, axis=1)


def mass_bounds_of_chains(log_density: Sequence[float], moments: Sequence[RunningMoments]) -> LogMassBounds:
    """Of each chain, by its present log density and by what it saw in the stage that has just ended."""
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.array([each.position_spread / each.weights[0] for each in moments])
        squared_gradient = np.array(
            [each.gradient_spread / each.weights[1] + each.gradient_mean**2 for each in moments]
        )
    path_time = np.array([each.weights[0] for each in moments])
    return log_mass_bounds(np.array(log_density), variance, squared_gradient, path_time)
