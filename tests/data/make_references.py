"""Make logistic_regression_references.csv: posterior means and sds of the paper's logistic regressions, in two ways.

1. Importance sampling with a Student t proposal, in NumPy alone: independent of this package's sampler, gradients and
   data standardization. The tests compare with these values.
2. A long run of the package itself, RKN 6(4) at a tolerance of 1e-6. A test checks that both agree.

    python tests/data/make_references.py

takes some minutes. The two are stored with their standard errors.
"""

from __future__ import annotations

import csv
import math
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from arviz_stats.base import array_stats

import grhmc
from grhmc import datasets
from grhmc.models.analytic import logistic_regression

OUTPUT = Path(__file__).with_name("logistic_regression_references.csv")
DATA_SETS = {"BLR1": datasets.pima, "BLR2": datasets.german_credit}
PRIOR_VARIANCE = 100.0
PROPOSAL_DEGREES_OF_FREEDOM = 12.0
N_PILOT, N_PROPOSALS, CHUNK = 400_000, 4_000_000, 20_000
RUN_DRAWS = 50_000

FIELDS = ("target", "parameter", "mean", "mean_error", "sd", "sd_error")
FIELDS += tuple(f"run_{name}" for name in FIELDS[2:])


class Estimate(NamedTuple):
    """Posterior means and sds with standard errors, each of shape (dim,)."""

    mean: np.ndarray
    mean_error: np.ndarray
    sd: np.ndarray
    sd_error: np.ndarray


def standardized(data: datasets.BinaryRegressionData) -> np.ndarray:
    """Signed rows ±x_i of the design matrix, standardized here again from the raw columns."""
    raw = np.column_stack(list(data.columns.values()))
    scaled = (raw - raw.mean(axis=0)) / raw.std(axis=0, ddof=1)
    rows = np.column_stack([np.ones(len(raw)), scaled])
    return rows * np.where(data.response == 1, 1.0, -1.0)[:, None]


def log_posterior(signed_rows: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Log density of points of shape (n, dim), up to a constant."""
    margins = points @ signed_rows.T
    likelihood = np.minimum(margins, 0.0) - np.log1p(np.exp(-np.abs(margins)))
    return likelihood.sum(axis=1) - 0.5 * (points**2).sum(axis=1) / PRIOR_VARIANCE


def find_mode(signed_rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mode, by Newton's method, and the inverse of the negative Hessian there."""
    point, hessian = np.zeros(signed_rows.shape[1]), np.eye(signed_rows.shape[1])
    for _ in range(50):
        probability = 1.0 / (1.0 + np.exp(signed_rows @ point))
        gradient = signed_rows.T @ probability - point / PRIOR_VARIANCE
        weights = probability * (1.0 - probability)
        hessian = (signed_rows * weights[:, None]).T @ signed_rows + np.eye(len(point)) / PRIOR_VARIANCE
        change = np.linalg.solve(hessian, gradient)
        point = point + change
        if np.max(np.abs(change)) < 1e-12:
            break
    return point, np.linalg.inv(hessian)


def weighted_draws(signed_rows, centre, covariance, n: int, rng) -> tuple[np.ndarray, np.ndarray]:
    """Draws of a multivariate t and their normalized importance weights."""
    nu, dim = PROPOSAL_DEGREES_OF_FREEDOM, len(centre)
    factor = np.linalg.cholesky(covariance)
    draws, log_weights = np.empty((n, dim)), np.empty(n)
    for first in range(0, n, CHUNK):
        part = slice(first, min(first + CHUNK, n))
        normal = rng.standard_normal((part.stop - part.start, dim))
        stretch = np.sqrt(nu / rng.chisquare(nu, len(normal)))
        z = normal * stretch[:, None]
        draws[part] = centre + z @ factor.T
        log_proposal = -0.5 * (nu + dim) * np.log1p((z**2).sum(axis=1) / nu)
        log_weights[part] = log_posterior(signed_rows, draws[part]) - log_proposal
    weights = np.exp(log_weights - log_weights.max())
    return draws, weights / weights.sum()


def by_importance_sampling(signed_rows: np.ndarray, rng: np.random.Generator) -> tuple[Estimate, float]:
    """Estimates, with delta-method standard errors, and the share of effective draws.

    A pilot moves the proposal from the mode to the posterior mean and covariance.
    """
    centre, covariance = find_mode(signed_rows)
    draws, weights = weighted_draws(signed_rows, centre, covariance, N_PILOT, rng)
    centre = weights @ draws
    deviation = draws - centre
    covariance = (deviation * weights[:, None]).T @ deviation
    draws, weights = weighted_draws(signed_rows, centre, covariance, N_PROPOSALS, rng)
    mean = weights @ draws
    deviation = draws - mean
    variance = weights @ deviation**2
    mean_error = np.sqrt(weights**2 @ deviation**2)
    variance_error = np.sqrt(weights**2 @ (deviation**2 - variance) ** 2)
    sd = np.sqrt(variance)
    estimate = Estimate(mean, mean_error, sd, variance_error / (2.0 * sd))
    return estimate, float(1.0 / (weights @ weights) / len(weights))


def by_long_run(data: datasets.BinaryRegressionData) -> Estimate:
    """Estimates by the package, with arviz-stats' standard errors."""
    result = grhmc.sample(
        logistic_regression(data.design_matrix, data.response, PRIOR_VARIANCE),
        scale="geo",
        process=grhmc.Continuous(integrator="rkn64", tolerance=1e-6),
        draws=RUN_DRAWS,
        seed=20240101,
        progress_bar=False,
    )
    draws = result["posterior"]["x"].to_numpy()
    mean, sd = draws.mean(axis=(0, 1)), draws.std(axis=(0, 1))
    errors = np.empty((2, len(mean)))
    for j in range(len(mean)):
        errors[0, j] = array_stats.mcse(draws[..., j], method="mean")
        errors[1, j] = array_stats.mcse((draws[..., j] - mean[j]) ** 2, method="mean") / (2.0 * sd[j])
    return Estimate(mean, errors[0], sd, errors[1])


def main() -> None:
    """Write the file, and say how well the two ways agree."""
    rows = []
    for target, load in DATA_SETS.items():
        data, began = load(), time.perf_counter()
        reference, efficiency = by_importance_sampling(standardized(data), np.random.default_rng(20240102))
        run = by_long_run(data)
        z_mean = (run.mean - reference.mean) / np.hypot(run.mean_error, reference.mean_error)
        z_sd = (run.sd - reference.sd) / np.hypot(run.sd_error, reference.sd_error)
        sys.stdout.write(
            f"{target}: {time.perf_counter() - began:.0f} s, efficiency {efficiency:.2f}, largest standard error "
            f"{np.max(reference.mean_error / reference.sd):.5f} and "
            f"{np.max(reference.sd_error / reference.sd):.5f} sd, "
            f"of the run {np.max(run.mean_error / run.sd):.5f}; largest |z| {np.max(np.abs(z_mean)):.1f} and "
            f"{np.max(np.abs(z_sd)):.1f}\n"
        )
        for j, name in enumerate(data.names):
            values = [float(column[j]) for column in (*reference, *run)]
            if not all(math.isfinite(value) for value in values):
                raise ValueError(f"{target} {name}: {values}")
            rows.append([target, name, *(f"{value:.8g}" for value in values)])
    with OUTPUT.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(FIELDS)
        writer.writerows(rows)


if __name__ == "__main__":
    main()
