"""The largest correlation in the posterior of a logistic regression: importance sampling around its mode."""

from __future__ import annotations

import functools

import numpy as np

from grhmc import datasets

_PRIOR_VARIANCE = 100.0
_BATCHES, _BATCH = 10, 500


@functools.cache
def largest_correlation(target: str, seed: int = 2024) -> tuple[float, float]:
    """Largest absolute correlation of two coefficients and its standard error over batches.

    Parameters
    ----------
    target : {"BLR1", "BLR2"}
    seed : int
    """
    data = datasets.pima() if target == "BLR1" else datasets.german_credit()
    design, response = np.asarray(data.design_matrix, dtype=np.float64), np.asarray(data.response, dtype=np.float64)
    dim = design.shape[1]
    mode, curvature = np.zeros(dim), np.eye(dim)
    for _ in range(50):
        probability = 1.0 / (1.0 + np.exp(-design @ mode))
        weight = (probability * (1.0 - probability))[:, np.newaxis]
        curvature = design.T @ (design * weight) + np.eye(dim) / _PRIOR_VARIANCE
        mode = mode + np.linalg.solve(curvature, design.T @ (response - probability) - mode / _PRIOR_VARIANCE)
    root = np.linalg.cholesky(np.linalg.inv(curvature))
    rng = np.random.default_rng(seed)
    matrices = []
    for _ in range(_BATCHES):
        normal = rng.standard_normal((_BATCH, dim))
        points = mode + normal @ root.T
        linear = points @ design.T
        log_weight = linear @ response - np.logaddexp(0.0, linear).sum(axis=1)
        log_weight += 0.5 * (normal**2).sum(axis=1) - 0.5 * (points**2).sum(axis=1) / _PRIOR_VARIANCE
        share = np.exp(log_weight - log_weight.max())
        matrices.append(np.cov(points.T, aweights=share))
    scale = np.sqrt(np.array([np.diag(matrix) for matrix in matrices]))
    correlations = np.array(matrices) / (scale[:, :, np.newaxis] * scale[:, np.newaxis, :])
    mean = np.abs(correlations.mean(axis=0)) - np.eye(dim)
    row, column = np.unravel_index(int(np.argmax(mean)), mean.shape)
    error = correlations[:, row, column].std(ddof=1) / np.sqrt(_BATCHES)
    return float(mean[row, column]), float(error)
