"""The draws' moments against the exact ones, or against the other methods where no exact ones are known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grhmc.paper.cells import CellResult
from grhmc.paper.run_cell import PROBABILITIES
from grhmc.paper.targets import TARGETS

LARGEST_Z = 4.0
"""A moment agrees within so many Monte Carlo standard errors."""

_FUNNELS = ("F1", "F2")
# E[q2⁴] = 3 exp(2 ω²): a run of any feasible length misses the excursions that make up the moments of q2², so their
# standard error is far too small. Shares of draws below exact quantiles are what can be checked there.


@dataclass(frozen=True)
class Moment:
    """One estimate beside what it should be.

    Attributes
    ----------
    target, method, name : str
        `name` of the coordinate.
    quantity : str
        "mean", "mean square" or "P(q ≤ its 5 % point)".
    estimate, error, expected : float
        With the Monte Carlo standard error of the difference.
    judged : bool
        False where the error itself cannot be estimated.
    is_exact : bool
        False where the expected value is the other methods' estimate.
    """

    target: str
    method: str
    name: str
    quantity: str
    estimate: float
    error: float
    expected: float
    judged: bool = True
    is_exact: bool = True

    @property
    def z(self) -> float:
        """The difference in standard errors."""
        return (self.estimate - self.expected) / self.error if self.error > 0 else math.nan

    @property
    def agrees(self) -> bool:
        """True within `LARGEST_Z` standard errors, or if there is no verdict."""
        return not self.judged or abs(self.z) <= LARGEST_Z


def cell_moments(result: CellResult, others: Sequence[CellResult] = ()) -> list[Moment]:
    """Every moment of a cell that something can be said about.

    Parameters
    ----------
    result : CellResult
    others : sequence of CellResult
        Cells of the same target with other methods: what to compare with where nothing is known exactly.
    """
    target = TARGETS[result.cell.target]
    if target.exact is None:
        return moments_against_others(result, others)
    exact = target.exact()
    moments = []
    for j, name in enumerate(result.names):
        has_tails = (target.name in _FUNNELS and j == 1) or not exact.finite_fourth_moments
        label = (target.name, result.cell.method, name)
        moments.append(
            Moment(
                *label,
                "mean",
                float(result.mean[j]),
                float(result.mean_error[j]),
                float(exact.mean[j]),
                judged=not (target.name in _FUNNELS and j == 1),
            )
        )
        moments.append(
            Moment(
                *label,
                "mean square",
                float(result.mean_square[j]),
                float(result.mean_square_error[j]),
                float(exact.mean_square[j]),
                judged=not has_tails,
            )
        )
        for k, probability in enumerate(PROBABILITIES[: len(result.probability)]):
            share, size = float(result.probability[k, j]), float(result.ess_probability[k, j])
            moments.append(
                Moment(
                    *label,
                    f"P(q ≤ {100 * probability:g} % point)",
                    share,
                    math.sqrt(probability * (1 - probability) / size),
                    probability,
                )
            )
    return moments


def moments_against_others(result: CellResult, others: Sequence[CellResult]) -> list[Moment]:
    """Means and mean squares against the weighted means of the other methods'."""
    others = [other for other in others if other.cell.method != result.cell.method]
    if not others:
        return []
    moments = []
    for quantity, value, error in (("mean", "mean", "mean_error"), ("mean square", "mean_square", "mean_square_error")):
        values = np.array([getattr(other, value) for other in others])
        weights = np.array([getattr(other, error) for other in others]) ** -2.0
        expected = np.average(values, axis=0, weights=weights)
        total = np.hypot(getattr(result, error), weights.sum(axis=0) ** -0.5)
        moments += [
            Moment(
                result.cell.target,
                result.cell.method,
                name,
                quantity,
                float(getattr(result, value)[j]),
                float(total[j]),
                float(expected[j]),
                is_exact=False,
            )
            for j, name in enumerate(result.names)
        ]
    return moments
