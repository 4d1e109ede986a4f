"""Correlations from draws and gradients: the directions that a diagonal scale leaves too wide or too narrow.

In the coordinates x = S⁻¹ (q − m) that the diagonal scale gives, with scores g = S ∇log π, each tuner from moments has
its matrix: VARI the covariance A of the draws, ISG the inverse of the covariance B of the scores, and GEO the symmetric
positive definite Σ with Σ B Σ = A, the geometric mean of these two. It makes draws and scores of the transformed
posterior as alike as can be (the least Fisher divergence from a normal). For a normal g = −Σ⁻¹ x, whatever the draws
are, so that GEO's is exact from as many draws as there are dimensions, independent or not.

References
----------
Tran & Kleppe (2024), section 3: the diagonal forms.
Seyboldt, Carlson & Carpenter (2026), "Preconditioning Hamiltonian Monte Carlo by minimizing Fisher divergence".
Bhatia (2007), "Positive definite matrices", chapter 4: the geometric mean.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from grhmc.adaptation.tuners.scale_from_moments import GEO, ISG, VARI
from grhmc.dynamics.standardization import Standardization, apply_factor, from_parameters

SMALLEST_STRETCH = 1.5
"""Eigenvalues between its inverse and this are left to the diagonal scale."""

FEWEST_DRAWS = 10

_FULL_BASIS_DRAWS = 2.0
# Times as many draws as dimensions, from which on all directions are looked at; with fewer, the leading ones only.
_RIDGE = 1e-10
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
        Variances of x along them, over those elsewhere.
    """

    directions: np.ndarray
    eigenvalues: np.ndarray

    @property
    def rank(self) -> int:
        """k."""
        return len(self.eigenvalues)


def no_directions(dim: int) -> LowRank:
    """F = I."""
    return LowRank(np.zeros((0, dim)), np.zeros(0))


def spectrum(positions: np.ndarray, gradients: np.ndarray, scale: np.ndarray, tuner: int) -> LowRank:
    """All eigenvectors that draws tell of, with their eigenvalues shrunk by what is not known of them.

    Parameters
    ----------
    positions, gradients : ndarray, shape (n, dim)
        Draws, and the gradients of the log density there, in the units of the parameters.
    scale : ndarray, shape (dim,)
        The diagonal of S.
    tuner : int
        `VARI`, `ISG` or `GEO`.
    """
    n, dim = positions.shape
    x, g = (positions - positions.mean(axis=0)) / scale, (gradients - gradients.mean(axis=0)) * scale
    basis = np.eye(dim) if n >= _FULL_BASIS_DRAWS * dim else _leading_directions(x, g)
    if basis.shape[1] == 0:
        return no_directions(dim)
    x, g = x @ basis, g @ basis
    matrix = _matrix(x.T @ x / n, g.T @ g / n, tuner, n)
    eigenvalues, vectors = np.linalg.eigh(matrix)
    x, g = x @ vectors, g @ vectors
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = (x * g).sum(axis=0) / np.sqrt((x * x).sum(axis=0) * (g * g).sum(axis=0))
    unexplained = np.clip(1.0 - correlation**2, 0.0, 1.0) if tuner == GEO else 1.0
    error = np.sqrt(unexplained * basis.shape[1] / n)
    logs = np.log(eigenvalues)
    shrunk = np.sign(logs) * np.maximum(np.abs(logs) - error, 0.0)
    return LowRank((basis @ vectors).T, np.exp(np.where(np.isfinite(shrunk), shrunk, 0.0)))


def _leading_directions(x: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Orthonormal basis, shape (dim, p), of where draws or scores vary more than the same number would by chance."""
    n, dim = x.shape
    edge = (1.0 + math.sqrt(dim / n)) ** 2
    found = []
    for rows in (x, g):
        _, singular, vectors = np.linalg.svd(rows, full_matrices=False)
        found.append(vectors[singular**2 / n > edge])
    both = np.vstack(found)
    if len(both) == 0:
        return np.zeros((dim, 0))
    vectors, singular, _ = np.linalg.svd(both.T, full_matrices=False)
    return vectors[:, singular > 1e-3]


def _matrix(draws: np.ndarray, scores: np.ndarray, tuner: int, n: int) -> np.ndarray:
    """The tuner's matrix from the covariances of draws and of scores."""
    size = len(draws)
    if tuner == VARI:
        return (n * draws + size * np.eye(size)) / (n + size)
    if tuner == ISG:
        return np.linalg.inv((n * scores + size * np.eye(size)) / (n + size))
    ridge = _RIDGE * np.eye(size)
    return geometric_mean(draws + ridge * np.trace(draws) / size, scores + ridge * np.trace(scores) / size)


def geometric_mean(draws: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """The symmetric positive definite Σ with Σ B Σ = A, for A = `draws` and B = `scores`."""
    values, vectors = np.linalg.eigh(scores)
    root = vectors * np.sqrt(values)  # B = root rootᵀ
    inverse = vectors / np.sqrt(values)
    middle = root.T @ draws @ root
    values, vectors = np.linalg.eigh(0.5 * (middle + middle.T))
    half = inverse @ (vectors * np.maximum(values, 0.0) ** 0.25)
    return half @ half.T


def worthwhile(found: LowRank, max_rank: int, *, counts_cost: bool) -> LowRank:
    """The directions that are worth their cost: those of the most extreme eigenvalues.

    What remains makes trajectories longer by the square root of the ratio of the largest to the smallest eigenvalue
    left; each direction makes a gradient dearer. Without `counts_cost` all are kept that differ much from 1.
    """
    dim = found.directions.shape[1]
    logs = np.log(found.eigenvalues)
    order = np.argsort(-np.abs(logs))
    order = order[np.abs(logs[order]) > math.log(SMALLEST_STRETCH)][:max_rank]
    if len(order) == 0:
        return no_directions(dim)
    if counts_cost:
        rest = np.ones(len(logs), dtype=bool)
        best, least = 0, math.inf
        for k in range(len(order) + 1):
            left = logs[rest]
            spread = max(left.max(initial=0.0), 0.0) - min(left.min(initial=0.0), 0.0)
            base = _GRADIENT_NANOSECONDS + _PER_DIMENSION * dim
            cost = math.exp(0.5 * spread) * (1.0 + _PER_DIRECTION * dim * k / base)
            if k == 0:
                least = cost / _SMALLEST_GAIN
            elif cost < least:
                best, least = k, cost
            if k < len(order):
                rest[order[k]] = False
        order = order[:best]
    return LowRank(found.directions[order], found.eigenvalues[order])


def find_directions(
    positions: np.ndarray, gradients: np.ndarray, scale: np.ndarray, tuner: int, max_rank: int, *, counts_cost: bool
) -> LowRank:
    """U and Λ on top of the diagonal scale, from draws and gradients; none where there are too few draws."""
    usable = np.isfinite(positions).all(axis=1) & np.isfinite(gradients).all(axis=1)
    if usable.sum() < FEWEST_DRAWS or not np.all(np.isfinite(scale)):
        return no_directions(positions.shape[1])
    try:
        found = spectrum(positions[usable], gradients[usable], scale, tuner)
    except np.linalg.LinAlgError:
        return no_directions(positions.shape[1])
    return worthwhile(found, max_rank, counts_cost=counts_cost)


LARGEST_MISFIT = math.log(4.0)
"""Log ratio of the largest to the smallest eigenvalue that is left, above which a metric is another one."""


def misfit(positions: np.ndarray, gradients: np.ndarray, standardization: Standardization, tuner: int) -> float:
    """Log ratio of the largest to the smallest eigenvalue in the coordinates that a standardization gives."""
    if len(positions) < FEWEST_DRAWS:
        return 0.0
    points, forces = np.empty_like(positions), gradients * standardization.scale
    for row in range(len(positions)):
        from_parameters(standardization, positions[row], points[row])
        apply_factor(standardization, forces[row])
    try:
        left = spectrum(points, forces, np.ones(positions.shape[1]), tuner).eigenvalues
    except np.linalg.LinAlgError:
        return math.inf
    return float(np.log(left.max(initial=1.0)) - np.log(left.min(initial=1.0)))
