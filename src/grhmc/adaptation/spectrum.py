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

import numpy as np

from grhmc.adaptation.low_rank import LowRank, ScaleAndDirections, no_directions, standardized_draws
from grhmc.adaptation.tuners.scale_from_moments import GEO, ISG, LARGEST_MEAN_GRADIENT, VARI

FEWEST_DRAWS = 10
"""That tell anything."""

FULL_BASIS_DRAWS = 2
"""Times as many draws as dimensions, from which on all directions are looked at; with fewer, the leading ones only."""

_ROUNDING, _SINGULAR = 1e-14, 1e-10
_DEPENDENT = 1e-3
_ROUNDING_OF_SCORES = 1e-24
# Of the squared length of the mean score.


def spectrum_of_draws(
    positions: np.ndarray, gradients: np.ndarray, metric: ScaleAndDirections, tuner: int
) -> LowRank | None:
    """All directions that draws tell of in the coordinates of a metric; None where too little was seen to tell.

    Parameters
    ----------
    positions, gradients : ndarray, shape (n, dim)
        Draws, and the gradients of the log density there, in the units of the parameters.
    metric : ScaleAndDirections
    tuner : int
        `VARI`, `ISG` or `GEO`.

    Returns
    -------
    LowRank or None
        Eigenvalues of 1, too. All of them are where the metric is right.
    """
    usable = np.isfinite(positions).all(axis=1) & np.isfinite(gradients).all(axis=1)
    positions, gradients = positions[usable], gradients[usable]
    if len(positions) < FEWEST_DRAWS:
        return None
    return _spectrum(*standardized_draws(positions, gradients, positions.mean(axis=0), metric), tuner)


def _spectrum(x: np.ndarray, g: np.ndarray, tuner: int) -> LowRank | None:
    """All directions that standardized draws and scores tell of, their eigenvalues shrunk by what is not known of them.

    None where a chain has not moved in all of them: on a path that is a circle, say.
    """
    n, dim = x.shape
    mean_score = g.mean(axis=0)
    g = g - mean_score
    is_full = n >= FULL_BASIS_DRAWS * dim
    basis = np.eye(dim) if is_full else _leading_directions(x, g)
    if basis.shape[1] == 0:
        return no_directions(dim)
    if not is_full:
        x, g, mean_score = x @ basis, g @ basis, mean_score @ basis
    try:
        matrix = _matrix(x / math.sqrt(n), g / math.sqrt(n), tuner)
        if matrix is None:
            return None
        eigenvalues, vectors = np.linalg.eigh(matrix)
    except np.linalg.LinAlgError:
        return None
    logs = _shrunk_logarithms(eigenvalues, x @ vectors, g @ vectors, mean_score @ vectors, tuner)
    return LowRank(vectors.T if is_full else (basis @ vectors).T, np.exp(logs))


def _shrunk_logarithms(
    eigenvalues: np.ndarray, x: np.ndarray, g: np.ndarray, mean_score: np.ndarray, tuner: int
) -> np.ndarray:
    """Logarithms of eigenvalues, nearer to 0 by a standard error each; all about their directions.

    The error is that of half the ratio of two variances along a given direction, which falls to 0 where score and
    position are proportional; times the square root of the number of directions among which the extreme ones were
    found; and over how far the chain has come along it. Under the target Var(x) Var(g) is 1 or more.

    GEO's is not larger, however little of a direction was seen, if it looks wide, because then it is wider still. But
    where the score varies little beside its mean, as in a tail, it does not say how wide: it is taken to vary by the
    mean over `LARGEST_MEAN_GRADIENT`, as for scales.
    """
    n, size = x.shape
    with np.errstate(divide="ignore", invalid="ignore"):
        spread, score_spread = (x * x).sum(axis=0) / n, (g * g).sum(axis=0) / n
        covered = np.sqrt(spread * score_spread)
        logs, error = np.log(eigenvalues), np.sqrt(size / n) / np.minimum(covered, 1.0)
        if tuner == GEO:
            least = np.maximum(score_spread, (mean_score / LARGEST_MEAN_GRADIENT) ** 2)
            widest = np.maximum(logs - 0.5 * np.log(least / score_spread), 0.0)
            is_rounding = score_spread <= _ROUNDING_OF_SCORES * (mean_score @ mean_score)
            logs = np.minimum(logs, np.where(is_rounding, 0.0, widest))
            correlation = (x * g).sum(axis=0) / (n * covered)
            error *= np.sqrt(np.clip(1.0 - correlation**2, 0.0, 1.0))
            error *= np.where(logs > 0.0, np.minimum(covered, 1.0), 1.0)
        shrunk = np.sign(logs) * np.maximum(np.abs(logs) - error, 0.0)
    return np.where(np.isfinite(shrunk), shrunk, 0.0)


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
