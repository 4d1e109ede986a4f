"""Why ours and a published number differ: an explanation is offered only where its size and sign fit the difference."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence

import numpy as np

from grhmc.paper.cells import FULL_DRAWS, TRAJECTORIES, Cell, CellResult
from grhmc.paper.conclusion import DECIDED, Conclusion, our_cells, published_cells
from grhmc.paper.conclusions import check_statements
from grhmc.paper.event_rate_effect import ess_ratio_of_rule, rate_factor_as_run
from grhmc.paper.moments import Moment, cell_moments
from grhmc.paper.targets import TARGETS
from grhmc.paper.verdicts import Row, Verdict

NOT_EXPLAINED = "Not explained."

LARGEST_GAP = 3.0
"""An explanation fits if what it leaves unexplained is within so many standard errors."""

_MODEL_ERROR = 0.02
# Of the predicted ratio: τ is not constant, and a target that is not normal is compared with a normal.

CHANCE = (
    f"Chance is enough: within {LARGEST_GAP:g} standard errors of the difference, as our trajectories' spread gives."
)
EVENT_RATE = (
    "The event rate: by the rule as stated it is 1.30 times that of the programs behind the tables, and the ratio is "
    "the one that a normal of the same effective size has between these rates."
)
TOLERANCE = "The integrator's bias at this tolerance: at a tighter one, in this report, it is gone."
LONG_EXCURSIONS = (
    "The ESS of q2's mean hangs on a few long excursions: by the spread of the trajectories' averages about the exact "
    "mean, which uses no autocorrelations, the methods cannot be told apart as published."
)


EVALUATIONS = (
    "The integrator's evaluations: over the published counts, LSODA's, in place of ours, our effective sizes rank the "
    "methods as the statement does."
)


def scale_remark(row: Row) -> str:
    """On a disagreement in S or its SD: none is known that would not be an error."""
    return NOT_EXPLAINED


def ess_remark(row: Row, result: CellResult) -> tuple[str, str]:
    """On an effective size that disagrees: the explanation, and the numbers that fit or do not fit it.

    Parameters
    ----------
    row : Row
    result : CellResult
        The row's cell.
    """
    error = math.sqrt(2.0) * row.ess_error / row.ess
    found = f"{row.ess_ratio:.2f} ± {row.ess_ratio * error:.2f}"
    if abs(math.log(row.ess_ratio)) <= LARGEST_GAP * error:
        return CHANCE, found
    if not follows_stated_rule(result.cell):
        return NOT_EXPLAINED, found
    predicted = predicted_ess_ratio(row, result)
    gap = abs(math.log(row.ess_ratio / predicted))
    words = f"{found}, {predicted:.2f} by the event rate"
    fits = gap <= LARGEST_GAP * math.hypot(error, _MODEL_ERROR) and gap < 0.5 * abs(math.log(row.ess_ratio))
    return (EVENT_RATE if fits else NOT_EXPLAINED), words


def predicted_ess_ratio(row: Row, result: CellResult) -> float:
    """Ours over published if the event rate were the whole difference."""
    share = row.ess / (TRAJECTORIES * FULL_DRAWS)
    return ess_ratio_of_rule(float(result.event_rate.mean()), share, rate_factor_as_run())


def follows_stated_rule(cell: Cell) -> bool:
    """Whether λ was tuned by the rule as stated, rather than as the published programs ran it."""
    return cell.event_rate_rule == "as_stated"


def moment_remark(moment: Moment, result: CellResult, results: Sequence[CellResult]) -> str:
    """On a moment that disagrees: the tolerance's bias, if a tighter run of the same cell measures it as one.

    Parameters
    ----------
    moment : Moment
    result : CellResult
        The moment's cell.
    results : sequence of CellResult
        All of the report, of every integrator and tolerance.
    """
    for other in results:
        same = (other.cell.target, other.cell.method) == (result.cell.target, result.cell.method)
        if not same or other.cell.tolerance >= result.cell.tolerance:
            continue
        for tight in cell_moments(other):
            if (tight.name, tight.quantity) != (moment.name, moment.quantity) or not tight.agrees:
                continue
            difference = abs(moment.estimate - tight.estimate)
            if difference > LARGEST_GAP * math.hypot(moment.error, tight.error):
                return TOLERANCE
    return NOT_EXPLAINED


def conclusion_remark(conclusion: Conclusion, results: Sequence[CellResult]) -> str:
    """On a conclusion that our numbers contradict."""
    if _holds_with_published_counts(conclusion, results):
        return EVALUATIONS
    cells = {result.cell.method: result for result in results if result.cell.target == conclusion.target}
    exact = TARGETS[conclusion.target].exact
    is_of_ess = "ESS" in conclusion.statement
    if not is_of_ess or conclusion.target != "F2" or exact is None or not {"isg", "mct", "vari"} <= cells.keys():
        return NOT_EXPLAINED
    target = exact()
    # E of the squared average of a trajectory is Var/ESS; ten of them give it with a relative error of √(2/10).
    size = [
        float(target.sd[1] ** 2 / np.mean((cells[method].path_mean[:, 1] - target.mean[1]) ** 2))
        / float(cells[method].n_sampling.mean())
        for method in ("isg", "mct", "vari")
    ]
    error = math.sqrt(2.0 * 2.0 / TRAJECTORIES)
    is_open = all(math.log(b / a) <= DECIDED * error for a, b in itertools.pairwise(size))
    return LONG_EXCURSIONS if is_open and conclusion.verdict == Verdict.DISAGREE else NOT_EXPLAINED


def _holds_with_published_counts(conclusion: Conclusion, results: Sequence[CellResult]) -> bool:
    published = published_cells()
    cells = {
        key: dataclasses.replace(
            cell,
            ess_per_1e5=cell.ess_per_1e5 * cell.n_evaluations / published[key].n_evaluations,
            n_evaluations=published[key].n_evaluations,
        )
        for key, cell in our_cells(results).items()
        if key in published
    }
    return any(one.holds for one in check_statements(cells) if one.statement == conclusion.statement)
