"""Means and standard deviations by gradients: control variates whose means are known to be 0 under the posterior.

Stein's identity: E[div φ + φ · ∇log π] = 0 for every smooth vector field φ that grows slowly enough, here polynomials.
Whatever combination of these follows a moment's integrand closely turns its mean over draws into one that hardly
depends on where the draws are, but for a part that it does not explain. Of a normal, and of a normal bent into a
parabola, nothing is left. Parts of the posterior that have been visited too seldom are thus counted by what the
gradients say of them elsewhere.

References
----------
Mira, Solgi & Imparato (2013), "Zero variance Markov chain Monte Carlo for Bayesian estimators".
Oates, Girolami & Chopin (2017), "Control functionals for Monte Carlo integration".
South, Karvonen, Nemeth, Girolami & Oates (2022), "Semi-exact control functionals from Sard's method".
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import comb
from typing import NamedTuple

import numpy as np

_MOST_COLUMNS, _HIGHEST_DEGREE = 140, 4
# Control variates, and the degree of φ. With a fifth degree single draws far out decide.
_N_FOLDS = 8
_RIDGE = 1e-9
# Of the mean eigenvalue.


class GradientMoments(NamedTuple):
    """Of standardized coordinates, each an array of shape (dim,).

    Attributes
    ----------
    mean, log_sd : ndarray
        0 if the draws are right.
    mean_error, log_sd_error : ndarray
        Standard errors, from parts of the draws that were left out of the fit in turn.
    mean_explained, square_explained : ndarray
        Share of the variance of the integrands, the coordinate and its square, that control variates explain in draws
        that they were not fitted to.
    """

    mean: np.ndarray
    log_sd: np.ndarray
    mean_error: np.ndarray
    log_sd_error: np.ndarray
    mean_explained: np.ndarray
    square_explained: np.ndarray


def moments_by_gradients(points: np.ndarray, scores: np.ndarray, correlation: np.ndarray) -> GradientMoments | None:
    """Mean and standard deviation of each coordinate; None where coordinates depend on each other linearly.

    Parameters
    ----------
    points : ndarray, shape (n, dim)
        Draws, chain after chain, standardized by the moments of all draws of the run.
    scores : ndarray, shape (n, dim)
        Gradients of the log density there, in the same units.
    correlation : ndarray, shape (dim, dim)
        Of all draws.
    """
    dim = points.shape[1]
    try:
        factor = np.linalg.cholesky(correlation)
    except np.linalg.LinAlgError:
        return None
    variates = control_variates(np.linalg.solve(factor, points.T).T, scores @ factor)
    integrands = np.hstack([points, points**2])
    left, means = _left_unexplained(variates, integrands)
    explained = 1.0 - left.var(axis=0) / integrands.var(axis=0)
    mean, error = means.mean(axis=0), means.std(axis=0, ddof=1) / np.sqrt(len(means))
    variance = np.maximum(mean[dim:] - mean[:dim] ** 2, _RIDGE)
    return GradientMoments(
        mean=mean[:dim],
        log_sd=0.5 * np.log(variance),
        mean_error=error[:dim],
        log_sd_error=0.5 * error[dim:] / variance,
        mean_explained=explained[:dim],
        square_explained=explained[dim:],
    )


def control_variates(points: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Div φ + φ · score for φ = a monomial in each direction: columns with a mean square of 1, shape (n, columns)."""
    n, dim = points.shape
    values: dict[tuple[int, ...], np.ndarray] = {(): np.ones(n)}
    for size in range(1, highest_degree(dim) + 1):
        for powers in combinations_with_replacement(range(dim), size):
            values[powers] = values[powers[:-1]] * points[:, powers[-1]]
    columns = []
    for direction in range(dim):
        for powers, value in values.items():
            column = value * scores[:, direction]
            if (power := powers.count(direction)) > 0:
                lower = list(powers)
                lower.remove(direction)
                column = column + power * values[tuple(lower)]
            columns.append(column)
    variates = np.stack(columns, axis=1)
    return variates / np.sqrt((variates**2).mean(axis=0))


def highest_degree(dim: int) -> int:
    """Of the polynomials, so that there are not too many: 4 in up to three dimensions, 3 in four."""
    return max((k for k in range(_HIGHEST_DEGREE + 1) if dim * comb(dim + k, k) <= _MOST_COLUMNS), default=0)


def _left_unexplained(variates: np.ndarray, integrands: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Integrands less what was fitted to all other parts of the draws, and their means in each part."""
    n = len(variates)
    left, means = np.empty_like(integrands), np.empty((_N_FOLDS, integrands.shape[1]))
    edges = np.linspace(0, n, _N_FOLDS + 1).astype(int)
    for fold in range(_N_FOLDS):
        part = np.arange(edges[fold], edges[fold + 1])
        others, wanted = np.delete(variates, part, axis=0), np.delete(integrands, part, axis=0)
        others = others - others.mean(axis=0)
        gram = others.T @ others
        gram[np.diag_indices_from(gram)] += _RIDGE * np.trace(gram) / len(gram)
        coefficients = np.linalg.solve(gram, others.T @ wanted)
        left[part] = integrands[part] - variates[part] @ coefficients
        means[fold] = left[part].mean(axis=0)
    return left, means
