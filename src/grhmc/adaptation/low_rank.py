"""The low-rank part of a metric: a few directions that are stretched on top of the diagonal scale."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grhmc.dynamics.standardization import Standardization


class LowRank(NamedTuple):
    """U and Λ of F² = I + U (Λ − I) Uᵀ.

    Attributes
    ----------
    directions : ndarray, shape (k, dim)
        Orthonormal rows.
    eigenvalues : ndarray, shape (k,)
        Variances of x along them, where those elsewhere are 1.
    """

    directions: np.ndarray
    eigenvalues: np.ndarray

    @property
    def rank(self) -> int:
        """K."""
        return len(self.eigenvalues)

    def standardized(self, x: np.ndarray) -> np.ndarray:
        """F⁻¹ times each row of x, shape (n, dim)."""
        return self._multiplied(x, 1.0 / np.sqrt(self.eigenvalues))

    def stretched(self, x: np.ndarray) -> np.ndarray:
        """F times each row of x, shape (n, dim)."""
        return self._multiplied(x, np.sqrt(self.eigenvalues))

    def _multiplied(self, x: np.ndarray, factors: np.ndarray) -> np.ndarray:
        """Each row of x, its part along each direction times that direction's factor."""
        return x + (x @ self.directions.T * (factors - 1.0)) @ self.directions


def factor_of(standardization: Standardization) -> LowRank:
    """U and Λ that a standardization has now; copies."""
    rank = int(standardization.rank[0])
    return LowRank(standardization.directions[:rank].copy(), (1.0 + standardization.stretch[:rank]) ** 2)


def no_directions(dim: int) -> LowRank:
    """F = I."""
    return LowRank(np.zeros((0, dim)), np.zeros(0))


class ScaleAndDirections(NamedTuple):
    """S and F of a metric S F² S.

    Attributes
    ----------
    scale : ndarray, shape (dim,)
    factor : LowRank
    """

    scale: np.ndarray
    factor: LowRank


def metric_of(standardization: Standardization) -> ScaleAndDirections:
    """Those that a standardization has now; copies."""
    return ScaleAndDirections(standardization.scale.copy(), factor_of(standardization))


def scale_alone(scale: np.ndarray) -> ScaleAndDirections:
    """A metric without directions."""
    return ScaleAndDirections(scale, no_directions(len(scale)))


class NewStandardization(NamedTuple):
    """What a chain's standardization is to become.

    Attributes
    ----------
    centre, scale : ndarray, shape (dim,)
    factor : LowRank
    """

    centre: np.ndarray
    scale: np.ndarray
    factor: LowRank


def diagonal(centre: np.ndarray, scale: np.ndarray) -> NewStandardization:
    """One without directions."""
    return NewStandardization(centre, scale, no_directions(len(centre)))


def standardized_draws(
    positions: np.ndarray, gradients: np.ndarray, centre: np.ndarray, metric: ScaleAndDirections
) -> tuple[np.ndarray, np.ndarray]:
    """Draws and gradients, shape (n, dim), in the coordinates that a centre and a metric give."""
    scale, factor = metric
    return factor.standardized((positions - centre) / scale), factor.stretched(gradients * scale)
