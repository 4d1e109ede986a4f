"""What is known of a target: moments, and the 5 % and 95 % quantiles, with their errors."""

from __future__ import annotations

import csv
from dataclasses import dataclass

import numpy as np
from targets import TRUTHS, Target

from grhmc.models.analytic import Distribution


@dataclass(frozen=True)
class Known:
    """Arrays of shape (n_parameters,); errors of means in sds, of sds relative, of tails as shares; 0 if exact."""

    mean: np.ndarray
    sd: np.ndarray
    q05: np.ndarray
    q95: np.ndarray
    mean_error: np.ndarray
    sd_error: np.ndarray
    tail_error: np.ndarray


def known_answer(target: Target) -> Known:
    """From closed forms, or from the stored truths; nan where nothing is known."""
    truth = target.truth
    shape = len(target.parameters)
    tail_error = np.zeros(shape)
    if target.analytic is not None:
        q05, q95 = (np.array([_quantile(f, p) for f in target.analytic.marginals]) for p in (0.05, 0.95))
    else:
        rows = _stored_quantiles(target.name)
        q05, q95, tail_error = (
            np.array([float(row[name]) for row in rows]) if rows else np.full(shape, np.nan)
            for name in ("q05", "q95", "tail_error")
        )
    return Known(truth.mean, truth.sd, q05, q95, truth.mean_error / truth.sd, truth.sd_error / truth.sd, tail_error)


def _stored_quantiles(name: str) -> list[dict[str, str]]:
    for path in TRUTHS:
        if path.is_file():
            with path.open() as file:
                rows = [row for row in csv.DictReader(file) if row["target"] == name and "q05" in row]
            if rows:
                return rows
    return []


def _quantile(distribution: Distribution, probability: float) -> float:
    """By bisection."""
    low, high = -1.0, 1.0
    while distribution(np.array([low]))[0] > probability:
        low *= 2
    while distribution(np.array([high]))[0] < probability:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if distribution(np.array([middle]))[0] < probability else (low, middle)
    return (low + high) / 2
