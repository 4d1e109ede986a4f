"""What a conclusion is, and the few ways in which numbers with errors decide one: holds, contradicted, undecided."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from grhmc.paper.cells import METHODS, TRAJECTORIES, CellResult
from grhmc.paper.published import published_rows
from grhmc.paper.verdicts import SCALE_RELATIVE, SCALE_STANDARD_ERRORS, Verdict, compare_cell

DECIDED = 2.0
"""A difference of so many standard errors decides a ranking; one that is smaller leaves it open."""

_LOG_SD_ERROR = math.sqrt(1.0 / (2 * (TRAJECTORIES - 1)))
# Of the logarithm of an SD over ten trajectories.


@dataclass(frozen=True)
class TableCell:
    """The rows of a table for one target and method, ours or published; arrays have one entry per row.

    Attributes
    ----------
    scale_mean, scale_sd, ess_per_1e5, ess_error : ndarray, shape (k,)
        `ess_error` is relative.
    n_evaluations : float
    result : CellResult or None
        Ours, for what tables do not hold; None for published rows.
    """

    scale_mean: np.ndarray
    scale_sd: np.ndarray
    ess_per_1e5: np.ndarray
    ess_error: np.ndarray
    n_evaluations: float
    result: CellResult | None = None

    @property
    def worst(self) -> tuple[float, float]:
        """The smaller ESS per 100 000 evaluations and its relative error."""
        k = int(np.argmin(self.ess_per_1e5))
        return float(self.ess_per_1e5[k]), float(self.ess_error[k])


Cells = Mapping[str, TableCell]
"""Of one target, by method."""


@dataclass(frozen=True)
class Statement:
    """One of the paper's statements, and how to check it.

    Attributes
    ----------
    target : str
    text : str
    check : callable
        From the target's cells to evidence and a verdict.
    methods : tuple of str
        Those that have to have been run.
    needs_draws : bool
        It cannot be checked on published rows alone.
    """

    target: str
    text: str
    check: Callable[[Cells], tuple[str, Verdict]]
    methods: tuple[str, ...] = METHODS
    needs_draws: bool = False


@dataclass(frozen=True)
class Conclusion:
    """A statement and whether our numbers say the same.

    Attributes
    ----------
    target, statement, evidence : str
    verdict : Verdict
        `NONE`: undecided, the difference is within its error.
    """

    target: str
    statement: str
    evidence: str
    verdict: Verdict

    @property
    def holds(self) -> bool:
        """True if our numbers decide for the statement."""
        return self.verdict == Verdict.AGREE


def our_cells(results: Sequence[CellResult]) -> dict[tuple[str, str], TableCell]:
    """Cells of one integrator by target and method."""
    cells = {}
    for result in results:
        rows = compare_cell(result)
        cells[result.cell.target, result.cell.method] = TableCell(
            np.array([row.s_mean for row in rows]),
            np.array([row.s_sd for row in rows]),
            np.array([row.ess_per_1e5 for row in rows]),
            np.array([row.ess_error / row.ess for row in rows]),
            rows[0].n_evaluations,
            result,
        )
    return cells


def published_cells(ess_error: float = 0.02) -> dict[tuple[str, str], TableCell]:
    """The published tables in the same form, with an assumed relative error of each ESS."""
    rows: dict[tuple[str, str], list] = {}
    for row in published_rows().values():
        rows.setdefault((row.target, row.method), []).append(row)
    return {
        key: TableCell(
            np.array([row.s_mean for row in of_cell]),
            np.array([row.s_sd for row in of_cell]),
            np.array([row.ess_per_1e5_evals for row in of_cell]),
            np.full(len(of_cell), ess_error),
            float(of_cell[0].n_ode),
        )
        for key, of_cell in rows.items()
    }


def decide(differences: Sequence[float], errors: Sequence[float]) -> Verdict:
    """All differences positive beyond their errors: holds. One negative beyond its error: contradicted."""
    scores = [difference / max(error, 1e-300) for difference, error in zip(differences, errors, strict=True)]
    if min(scores) <= -DECIDED:
        return Verdict.DISAGREE
    return Verdict.AGREE if min(scores) >= DECIDED else Verdict.NONE


def leads(first: str, *others: str, row: int | None = None) -> Callable[[Cells], tuple[str, Verdict]]:
    """`first` has more ESS per evaluation than the others: in its worst coordinate, or in one row of the table."""

    def check(cells: Cells) -> tuple[str, Verdict]:
        values = {method: _ess(cells[method], row) for method in (first, *others)}
        return _show(values), _is_first(values, first, others)

    return check


def ranks(*methods: str) -> Callable[[Cells], tuple[str, Verdict]]:
    """The worst coordinate's ESS per evaluation falls from one method to the next."""

    def check(cells: Cells) -> tuple[str, Verdict]:
        return ranking_of({method: cells[method].worst for method in methods})

    return check


def ranking_of(values: Mapping[str, tuple[float, float]]) -> tuple[str, Verdict]:
    """Whether values, with relative errors, fall in their given order."""
    listed = list(values.values())
    steps = list(itertools.pairwise(listed))
    differences = [math.log(a[0] / b[0]) for a, b in steps]
    return _show(values), decide(differences, [math.hypot(a[1], b[1]) for a, b in steps])


def alike(margin: float) -> Callable[[Cells], tuple[str, Verdict]]:
    """No two methods differ by more than a share in ESS per evaluation, row by row."""

    def check(cells: Cells) -> tuple[str, Verdict]:
        logs = np.log([cell.ess_per_1e5 for cell in cells.values()])
        errors = np.array([cell.ess_error for cell in cells.values()])
        largest = np.ptp(logs, axis=0)
        error = np.sqrt(2.0) * errors.max(axis=0)
        evidence = f"largest difference {100 * math.expm1(largest.max()):.0f} ± {100 * error.max():.0f} %"
        if np.all(largest <= math.log1p(margin)):
            return evidence, Verdict.AGREE
        is_more = np.any(largest - DECIDED * error > math.log1p(margin))
        return evidence, Verdict.DISAGREE if is_more else Verdict.NONE

    return check


def varies_most(method: str, *, least: bool = False) -> Callable[[Cells], tuple[str, Verdict]]:
    """S varies most, or least, over trajectories by one method; both rows together, as shares of S."""

    def check(cells: Cells) -> tuple[str, Verdict]:
        logs = {name: float(np.mean(np.log(cell.scale_sd / cell.scale_mean))) for name, cell in cells.items()}
        sign = -1.0 if least else 1.0
        others = [name for name in logs if name != method]
        # Two rows; one and a half of them count, since those of a cell are correlated on some targets.
        error = math.sqrt(2.0 / 1.5) * _LOG_SD_ERROR
        verdict = decide([sign * (logs[method] - logs[name]) for name in others], [error] * len(others))
        return ", ".join(f"{name.upper()} {100 * math.exp(value):.1f} %" for name, value in logs.items()), verdict

    return check


def largest_scale(method: str, row: int) -> Callable[[Cells], tuple[str, Verdict]]:
    """One method's S is the largest in a row."""

    def check(cells: Cells) -> tuple[str, Verdict]:
        values = {
            name: (float(cell.scale_mean[row]), float(cell.scale_sd[row] / cell.scale_mean[row]) / TRAJECTORIES**0.5)
            for name, cell in cells.items()
        }
        return _show(values), _is_first(values, method, [name for name in values if name != method])

    return check


def same_scale(cells: Cells) -> tuple[str, Verdict]:
    """All methods find the same S."""
    means = np.array([cell.scale_mean for cell in cells.values()])
    errors = np.array([cell.scale_sd / math.sqrt(TRAJECTORIES) for cell in cells.values()])
    # The methods share seeds, and on a normal a path that makes VARI's S large makes ISG's small: their errors add up.
    two_largest = np.sort(errors, axis=0)[-2:].sum(axis=0)
    within_error = np.ptp(means, axis=0) <= SCALE_STANDARD_ERRORS * two_largest
    within_share = np.ptp(means, axis=0) <= SCALE_RELATIVE * means.mean(axis=0)
    largest = float(np.max(np.ptp(means, axis=0) / means.mean(axis=0)))
    holds = bool(np.all(within_error | within_share))
    return f"largest difference {100 * largest:.1f} %", Verdict.AGREE if holds else Verdict.DISAGREE


def costs_more(first: str, second: str, factor: float) -> Callable[[Cells], tuple[str, Verdict]]:
    """One method takes at least so many times another's evaluations."""

    def check(cells: Cells) -> tuple[str, Verdict]:
        ratio = cells[first].n_evaluations / cells[second].n_evaluations
        return f"{ratio:.2f} times", Verdict.AGREE if ratio >= factor else Verdict.DISAGREE

    return check


def scale_ratio(first: str, second: str, low: float, high: float) -> Callable[[Cells], tuple[str, Verdict]]:
    """S by one method over S by another lies between two numbers, in all rows."""

    def check(cells: Cells) -> tuple[str, Verdict]:
        ratio = cells[first].scale_mean / cells[second].scale_mean
        relative = [cells[name].scale_sd / cells[name].scale_mean for name in (first, second)]
        error = ratio * np.hypot(*relative) / math.sqrt(TRAJECTORIES)
        evidence = ", ".join(f"{r:.2f} ± {e:.2f}" for r, e in zip(ratio, error, strict=True))
        if np.all((ratio >= low) & (ratio <= high)):
            return evidence, Verdict.AGREE
        is_out = np.any((ratio + DECIDED * error < low) | (ratio - DECIDED * error > high))
        return evidence, Verdict.DISAGREE if is_out else Verdict.NONE

    return check


def _ess(cell: TableCell, row: int | None) -> tuple[float, float]:
    return cell.worst if row is None else (float(cell.ess_per_1e5[row]), float(cell.ess_error[row]))


def _is_first(values: Mapping[str, tuple[float, float]], first: str, others: Sequence[str]) -> Verdict:
    return decide(
        [math.log(values[first][0] / values[other][0]) for other in others],
        [math.hypot(values[first][1], values[other][1]) for other in others],
    )


def _show(values: Mapping[str, tuple[float, float]]) -> str:
    return ", ".join(f"{name.upper()} {value:.3g} ± {value * error:.2g}" for name, (value, error) in values.items())
