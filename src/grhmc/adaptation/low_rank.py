"""Correlations from draws and gradients: the directions that a diagonal scale leaves too wide or too narrow.

In the coordinates x = S⁻¹ (q − m) that the diagonal scale gives, with scores g = S ∇log π, each tuner from moments has
its matrix: VARI the covariance A of the draws, ISG the inverse of the covariance B of the scores, and GEO the symmetric
positive definite Σ with Σ B Σ = A, the geometric mean of these two. GEO's makes draws and scores in the new coordinates
as alike as those of a standard normal (the least Fisher divergence). For a normal g = −Σ⁻¹ x whatever the draws are, so
that GEO's is exact as soon as there are as many draws as dimensions, independent or not.

References
----------
Tran & Kleppe (2024), "Tuning diagonal scale matrices for HMC", section 3: the diagonal forms.
Seyboldt, Carlson & Carpenter (2026), "Preconditioning Hamiltonian Monte Carlo by minimizing Fisher divergence".
Bhatia (2007), "Positive definite matrices", chapter 4: the geometric mean.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from grhmc.adaptation.tuners.scale_from_moments import GEO, ISG, VARI
from grhmc.dynamics.standardization import Standardization

SMALLEST_STRETCH = 1.5
"""Eigenvalues between its inverse and this are left to the diagonal scale."""

FEWEST_DRAWS = 10

LARGEST_MISFIT = math.log(4.0)
"""Log ratio of the largest to the smallest eigenvalue that is left, above which a metric is another one."""

_FULL_BASIS_DRAWS = 2
# Times as many draws as dimensions, from which on all directions are looked at; with fewer, the leading ones only.
_ROUNDING, _SINGULAR = 1e-14, 1e-10
_DEPENDENT = 1e-3
_GRADIENT_NANOSECONDS, _PER_DIMENSION, _PER_DIRECTION = 1000.0, 10.0, 0.8
# What a gradient is taken to cost, and what a direction adds to it per dimension. Not measured: a choice by the clock
# would make draws depend on it.
_SMALLEST_GAIN = 1.1


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


def find_directions(
    positions: np.ndarray, gradients: np.ndarray, scale: np.ndarray, tuner: int, max_rank: int, *, counts_cost: bool
) -> LowRank | None:
    """U and Λ on top of a diagonal scale, from draws and gradients; None where too little was seen to tell.

    Parameters
    ----------
    positions, gradients : ndarray, shape (n, dim)
        Draws, and the gradients of the log density there, in the units of the parameters.
    scale : ndarray, shape (dim,)
        The diagonal of S.
    tuner : int
        `VARI`, `ISG` or `GEO`.
    max_rank : int
        Most directions.
    counts_cost : bool
        Keep only the directions that are worth their cost (see `worthwhile`).
    """
    positions, gradients = _usable(positions, gradients)
    if len(positions) < FEWEST_DRAWS:
        return None
    x, g = (positions - positions.mean(axis=0)) / scale, (gradients - gradients.mean(axis=0)) * scale
    found = _spectrum(x, g, tuner)
    return None if found is None else worthwhile(found, max_rank, counts_cost=counts_cost)


def misfit(positions: np.ndarray, gradients: np.ndarray, standardization: Standardization, tuner: int) -> float:
    """Log ratio of the largest to the smallest eigenvalue in the coordinates that a standardization gives.

    0 where too little was seen to tell.
    """
    positions, gradients = _usable(positions, gradients)
    if len(positions) < FEWEST_DRAWS:
        return 0.0
    here = standardization._replace(centre=positions.mean(axis=0))
    found = _spectrum(*standardized_draws(positions, gradients - gradients.mean(axis=0), here), tuner)
    if found is None:
        return 0.0
    left = np.log(found.eigenvalues)
    return float(left.max(initial=0.0) - left.min(initial=0.0))


def standardized_draws(
    positions: np.ndarray, gradients: np.ndarray, standardization: Standardization
) -> tuple[np.ndarray, np.ndarray]:
    """Draws and gradients, shape (n, dim), in the coordinates that a standardization gives."""
    centre, scale, factor = standardization.centre, standardization.scale, factor_of(standardization)
    return factor.standardized((positions - centre) / scale), factor.stretched(gradients * scale)


def _usable(positions: np.ndarray, gradients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The draws at which all is finite."""
    usable = np.isfinite(positions).all(axis=1) & np.isfinite(gradients).all(axis=1)
    return positions[usable], gradients[usable]


def _spectrum(x: np.ndarray, g: np.ndarray, tuner: int) -> LowRank | None:
    """All directions that standardized draws and scores tell of, their eigenvalues shrunk by what is not known of them.

    None where a chain has not moved in all of them: on a path that is a circle, say.

    The standard error of a logarithm is that of half the ratio of two variances along a given direction, which falls to
    0 where score and position are proportional; times the square root of the number of directions among which the
    extreme ones were found; and over how far the chain has come along it. Under the target Var(x) Var(g) is 1 or more.
    """
    n, dim = x.shape
    is_full = n >= _FULL_BASIS_DRAWS * dim
    basis = np.eye(dim) if is_full else _leading_directions(x, g)
    size = basis.shape[1]
    if size == 0:
        return no_directions(dim)
    if not is_full:
        x, g = x @ basis, g @ basis
    try:
        matrix = _matrix(x / math.sqrt(n), g / math.sqrt(n), tuner)
        if matrix is None:
            return None
        eigenvalues, vectors = np.linalg.eigh(matrix)
    except np.linalg.LinAlgError:
        return None
    x, g = x @ vectors, g @ vectors
    with np.errstate(divide="ignore", invalid="ignore"):
        covered = np.sqrt((x * x).sum(axis=0) * (g * g).sum(axis=0)) / n
        correlation = (x * g).sum(axis=0) / (n * covered)
        logs = np.log(eigenvalues)
        unexplained = np.clip(1.0 - correlation**2, 0.0, 1.0) if tuner == GEO else 1.0
        error = np.sqrt(unexplained * size / n) / np.minimum(covered, 1.0)
    shrunk = np.sign(logs) * np.maximum(np.abs(logs) - error, 0.0)
    directions = vectors.T if is_full else (basis @ vectors).T
    return LowRank(directions, np.exp(np.where(np.isfinite(shrunk), shrunk, 0.0)))


def _leading_directions(x: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Orthonormal basis, shape (dim, p), of where draws or scores vary more than independent normals would.

    Of those the largest sample eigenvalue is (1 + √(dim/n))² in the limit (Marchenko & Pastur 1967).
    """
    n, dim = x.shape
    edge = (1.0 + math.sqrt(dim / n)) ** 2
    leading = np.vstack([_principal_directions(rows, edge) for rows in (x, g)])
    if len(leading) == 0:
        return np.zeros((dim, 0))
    values, vectors = np.linalg.eigh(leading @ leading.T)
    kept = values > _DEPENDENT
    return leading.T @ (vectors[:, kept] / np.sqrt(values[kept]))


def _principal_directions(rows: np.ndarray, smallest: float) -> np.ndarray:
    """Eigenvectors of rowsᵀ rows / n with eigenvalues above `smallest`, shape (p, dim); in time n² dim."""
    values, vectors = np.linalg.eigh(rows @ rows.T / len(rows))
    kept = values > smallest
    kept[: len(rows) - len(rows) // 2] = False  # both together are no more than draws
    return (rows.T @ (vectors[:, kept] / np.sqrt(len(rows) * values[kept]))).T


def _matrix(x: np.ndarray, g: np.ndarray, tuner: int) -> np.ndarray | None:
    """The tuner's matrix, for A = xᵀ x and B = gᵀ g; None where too little was seen for it."""
    if tuner == VARI:
        return x.T @ x
    return np.linalg.inv(g.T @ g) if tuner == ISG else geometric_mean(x, g)


def geometric_mean(x: np.ndarray, g: np.ndarray) -> np.ndarray | None:
    """The symmetric positive definite Σ with Σ B Σ = A, for A = xᵀ x and B = gᵀ g; x and g have shape (n, p).

    From singular values of x and g themselves, which have twice as many digits as those of A and B. None where
    B^½ A B^½ is singular but for rounding. For a normal that is the square of the draws' covariance in the coordinates
    where it is a standard normal, however different its widths are.
    """
    _, roots, rows = np.linalg.svd(g, full_matrices=False)
    if len(roots) < g.shape[1] or not roots[-1] > _ROUNDING * roots[0]:
        return None
    _, middle, turn = np.linalg.svd(x @ (rows.T * roots), full_matrices=False)
    if len(middle) < g.shape[1] or not middle[-1] > _SINGULAR * middle[0]:
        return None
    half = (rows.T / roots) @ (turn.T * np.sqrt(middle))
    return half @ half.T


def worthwhile(found: LowRank, max_rank: int, *, counts_cost: bool) -> LowRank:
    """The directions that are worth their cost: some number of those with the most extreme eigenvalues.

    What is left makes trajectories longer by the square root of the ratio of the largest to the smallest eigenvalue;
    each direction makes a gradient dearer. Without `counts_cost` all are kept whose eigenvalues differ much from 1.
    """
    dim = found.directions.shape[1]
    logs = np.log(found.eigenvalues)
    order = np.argsort(-np.abs(logs), kind="stable")
    n_extreme = min(int(np.sum(np.abs(logs) > math.log(SMALLEST_STRETCH))), max_rank)
    best = n_extreme
    if counts_cost and n_extreme > 0:
        # Of what is left after the first k: zeros stand for the directions that were not looked at.
        left = np.append(logs[order], 0.0)[::-1]
        highest, lowest = np.maximum.accumulate(left)[::-1], np.minimum.accumulate(left)[::-1]
        spread = np.maximum(highest, 0.0) - np.minimum(lowest, 0.0)
        k = np.arange(n_extreme + 1)
        gradient = _GRADIENT_NANOSECONDS + _PER_DIMENSION * dim
        cost = np.exp(0.5 * spread[: n_extreme + 1]) * (1.0 + _PER_DIRECTION * dim * k / gradient)
        best = int(np.argmin(cost))
        if cost[best] * _SMALLEST_GAIN > cost[0]:
            best = 0
    chosen = order[:best]
    return LowRank(found.directions[chosen], found.eigenvalues[chosen])
