"""How much mass there is around a chain, between bounds that hold however its coordinates are correlated.

For a normal of covariance C in d dimensions the log mass is E[log π] + d/2 (1 + log 2π) + ½ log det C. What a chain
knows are the diagonals of C (variances) and of its inverse (mean squared gradients). Hadamard's inequality bounds
log det C by them from both sides; without correlations the two bounds are the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

SHORT_PATH = np.pi
"""Process time, half a standard normal's period: a path that is shorter has not seen how wide its place is."""

CLEAR_LOG_MASS = 20.0
"""How much smaller than another's the log mass around a chain must be, beyond bounds and errors, to be negligible."""

ERROR_PER_ROOT_DIMENSION, ERROR_PER_DIMENSION = 2.0, 0.25
"""Error of a difference of log masses: two single log densities vary by √(d/2) each, and widths that are known from ten
independent points are too small by 5 % on average, and vary by 20 %."""


class LogMassBounds(NamedTuple):
    """Lower and upper bounds of the log mass around each chain, but for the constant d/2 (1 + log 2π)."""

    lower: np.ndarray
    upper: np.ndarray


def log_mass_bounds(
    log_density: np.ndarray, variance: np.ndarray, mean_squared_gradient: np.ndarray, path_time: np.ndarray
) -> LogMassBounds:
    """Bounds of the log mass around chains; infinite where nothing is known.

    Where a path is so short that its variance is lost in rounding, which may leave it 0 or less, gradients bound the
    mass from above: a chain on a peak a thousandth of a millionth wide must not hold the others up.

    Parameters
    ----------
    log_density : ndarray, shape (chains,)
        Of a typical point of each.
    variance, mean_squared_gradient : ndarray, shape (chains, dim)
        Of each coordinate, over the chain's path. The gradient's mean is not subtracted.
    path_time : ndarray, shape (chains,)
        Process time of that path: the widths that a short one has seen may be too small by a factor.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        by_position, by_gradient = 0.5 * np.log(variance), -0.5 * np.log(mean_squared_gradient)
        unseen = np.log(np.maximum(SHORT_PATH / path_time, 1.0))
        lower = log_density + np.minimum(by_position, by_gradient).sum(axis=1)
        widest = np.where(variance <= 0.0, by_gradient, np.maximum(by_position, by_gradient))
        upper = log_density + (widest + unseen[:, np.newaxis]).sum(axis=1)
    return LogMassBounds(np.where(np.isfinite(lower), lower, -np.inf), np.where(np.isfinite(upper), upper, np.inf))


def is_negligible(bounds: LogMassBounds, dim: int) -> np.ndarray:
    """Which chains are where there is next to no mass beside that around one of the others; shape (chains,)."""
    error = ERROR_PER_ROOT_DIMENSION * np.sqrt(dim) + ERROR_PER_DIMENSION * dim
    return bounds.upper < bounds.lower.max() - CLEAR_LOG_MASS - error
