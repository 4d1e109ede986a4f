"""Moments of a path from its integrals, stretch by stretch, in the units of the parameters."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from grhmc.paper.lsoda.lsoda_dynamics import FORCE_SQUARE, POSITION, SQUARE


class PathMoments:
    """Time averages since the last `forget`.

    Attributes
    ----------
    time : float
        Process time seen.
    mean, spread : ndarray, shape (dim,)
        Average of q, and the integral of (q − mean)².
    squared_gradient : ndarray, shape (dim,)
        Integral of g².
    """

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self.forget()

    def forget(self) -> None:
        """Start over."""
        self.time = 0.0
        self.mean = np.zeros(self.dim)
        self.spread = np.zeros(self.dim)
        self.squared_gradient = np.zeros(self.dim)

    def add(self, time: float, integrals: Mapping[str, np.ndarray], centre: np.ndarray, scale: np.ndarray) -> None:
        """Add a stretch with one standardization.

        Parameters
        ----------
        time : float
            Its length.
        integrals : mapping of str to ndarray, shape (dim,)
            ∫q̄, ∫q̄² and ∫(S g)² over it, by the names of `lsoda_dynamics`; those not given count as not wanted.
        centre, scale : ndarray, shape (dim,)
        """
        if time <= 0.0:
            return
        nothing = np.zeros(self.dim)
        position = integrals.get(POSITION, nothing)
        square = integrals.get(SQUARE, nothing)
        mean = centre + scale * position / time
        spread = scale**2 * np.maximum(square - position**2 / time, 0.0)
        total = self.time + time
        difference = mean - self.mean
        self.spread = self.spread + spread + difference**2 * self.time * time / total
        self.mean = self.mean + difference * time / total
        self.squared_gradient = self.squared_gradient + integrals.get(FORCE_SQUARE, nothing) / scale**2
        self.time = total
