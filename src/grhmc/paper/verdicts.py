"""Ours beside the published: every row of the tables, its difference in its own standard error, and a verdict.

The published number is itself one noisy run, so a difference is judged by the error of both runs together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from grhmc.paper.cells import LSODA, METHODS, TRAJECTORIES, CellResult
from grhmc.paper.published import PublishedRow, published_rows
from grhmc.paper.targets import TARGETS

SCALE_STANDARD_ERRORS = 4.0
SCALE_RELATIVE = 0.03
SCALE_ROUNDING = 0.005
"""S agrees within the largest of four standard errors and 3 %, plus half a unit of the published last digit."""

EVALUATIONS_RELATIVE = 0.15
"""LSODA's evaluations per process time agree within this."""


class Verdict(Enum):
    """Whether two numbers agree; `NONE` where no verdict is due."""

    AGREE = "agree"
    DISAGREE = "disagree"
    NONE = "–"


@dataclass(frozen=True)
class Row:
    """One row of a table, ours and the published one.

    Attributes
    ----------
    table : int
    target, method, coordinate : str
        `coordinate` as published: "1", "2", "min" or "max".
    name : str
        Of the coordinate in the model: for "min" and "max" the one that had the smallest or largest ESS.
    ess : float
        Scaled up to the full length.
    ess_error : float
        Standard error of `ess`, from the spread over trajectories.
    s_mean, s_sd : float
        Of S over the ten trajectories.
    n_evaluations : float
        Gradients of the sampling phase, scaled up to the full length.
    published : PublishedRow or None
    counts_comparable : bool
        The integrator is the published one, so that its count of evaluations can be compared.
    """

    table: int
    target: str
    method: str
    coordinate: str
    name: str
    ess: float
    ess_error: float
    s_mean: float
    s_sd: float
    n_evaluations: float
    published: PublishedRow | None
    counts_comparable: bool

    @property
    def ess_per_1e5(self) -> float:
        """ESS per 100 000 evaluations."""
        return 1e5 * self.ess / self.n_evaluations

    @property
    def s_difference(self) -> float:
        """Ours minus published in its own standard error; nan without a published row."""
        if self.published is None:
            return math.nan
        return (self.s_mean - self.published.s_mean) / self._s_error

    @property
    def _s_error(self) -> float:
        sd = 0.0 if self.published is None else self.published.s_sd
        return max(math.hypot(self.s_sd, sd) / math.sqrt(TRAJECTORIES), 1e-300)

    @property
    def s_verdict(self) -> Verdict:
        """Whether the tuned scale agrees."""
        if self.published is None:
            return Verdict.NONE
        allowed = max(SCALE_STANDARD_ERRORS * self._s_error, SCALE_RELATIVE * self.published.s_mean) + SCALE_ROUNDING
        return _verdict(abs(self.s_mean - self.published.s_mean) <= allowed)

    @property
    def ess_difference(self) -> float:
        """Ours minus published in its own standard error, theirs taken to be as uncertain as ours."""
        if self.published is None:
            return math.nan
        return (self.ess - self.published.ess) / max(math.sqrt(2.0) * self.ess_error, 1e-300)

    @property
    def ess_ratio(self) -> float:
        """Ours over published."""
        return math.nan if self.published is None else self.ess / self.published.ess

    @property
    def ess_verdict(self) -> Verdict:
        """Whether the effective sample size agrees."""
        tolerance = TARGETS[self.target].ess_tolerance
        if self.published is None or tolerance is None:
            return Verdict.NONE
        return _verdict(abs(self.ess_ratio - 1.0) <= tolerance)

    @property
    def count_verdict(self) -> Verdict:
        """Whether LSODA's evaluations per process time agree, where S does."""
        if self.published is None or not self.counts_comparable or self.s_verdict != Verdict.AGREE:
            return Verdict.NONE
        return _verdict(abs(self.n_evaluations / self.published.n_ode - 1.0) <= EVALUATIONS_RELATIVE)


def _verdict(holds: bool) -> Verdict:
    return Verdict.AGREE if holds else Verdict.DISAGREE


def compare_cell(result: CellResult) -> list[Row]:
    """The rows of one cell, as the paper's tables list them."""
    target = TARGETS[result.cell.target]
    if target.reports_extremes:
        listed = [("max", int(np.argmax(result.ess))), ("min", int(np.argmin(result.ess)))]
    else:
        listed = [(str(j + 1), j) for j in range(target.dim)]
    factor = result.cell.length_factor
    return [
        Row(
            table=target.table,
            target=target.name,
            method=result.cell.method,
            coordinate=coordinate,
            name=result.names[j],
            ess=float(result.ess[j]) * factor,
            ess_error=float(result.ess_trajectory[:, j].std(ddof=1)) * math.sqrt(TRAJECTORIES) * factor,
            s_mean=float(result.scale[:, j].mean()),
            s_sd=float(result.scale[:, j].std(ddof=1)),
            n_evaluations=float(result.n_sampling.sum()) * factor,
            published=published_rows().get((target.name, result.cell.method, coordinate)),
            counts_comparable=result.cell.integrator == LSODA,
        )
        for coordinate, j in listed
    ]


def worst_per_1e5(result: CellResult) -> float:
    """The worst coordinate's ESS per 100 000 evaluations: what the paper ranks methods by."""
    return 1e5 * float(result.ess.min()) / float(result.n_sampling.sum())


def narrow_part_per_1e5(result: CellResult) -> float:
    """ESS of the share of draws in a funnel's narrow part, q1 below its 5 % point, per 100 000 evaluations."""
    return 1e5 * float(result.ess_probability[0, 0]) / float(result.n_sampling.sum())


@dataclass(frozen=True)
class Conclusion:
    """One of the paper's statements about the methods, and whether our numbers say the same.

    Attributes
    ----------
    target : str
    statement : str
    evidence : str
    holds : bool
    """

    target: str
    statement: str
    evidence: str
    holds: bool


def conclusions(results: Sequence[CellResult]) -> list[Conclusion]:
    """Check the paper's statements on the cells of one integrator, as far as these have been run."""
    by_name = {(result.cell.target, result.cell.method): result for result in results}
    found: list[Conclusion] = []
    for target in ("G3", "NG2", "F2"):
        if {(target, "isg"), (target, "vari")} <= by_name.keys():
            isg, vari = worst_per_1e5(by_name[target, "isg"]), worst_per_1e5(by_name[target, "vari"])
            found.append(
                Conclusion(
                    target,
                    f"On {target}, ISG beats VARI in the worst coordinate's ESS per evaluation.",
                    f"ISG {isg:.3g}, VARI {vari:.3g} per 100 000",
                    isg > vari,
                )
            )
    for target in ("G1", "G2", "G4"):
        if all((target, method) in by_name for method in METHODS):
            found.append(_same_scale(target, [by_name[target, method] for method in METHODS]))
    if all(("NG3", method) in by_name for method in METHODS):
        first = {method: float(by_name["NG3", method].scale[:, 0].mean()) for method in METHODS}
        found.append(
            Conclusion(
                "NG3",
                "On NG3, MCT's S₁ is the largest: it sees the time between the modes.",
                ", ".join(f"{method.upper()} {value:.2f}" for method, value in first.items()),
                max(first, key=lambda method: first[method]) == "mct",
            )
        )
    if all(("F2", method) in by_name for method in METHODS):
        for words, measure in (
            ("by the worst coordinate's ESS per evaluation", worst_per_1e5),
            ("in the funnel's narrow part, by the ESS per evaluation of P(q1 ≤ its 5 % point)", narrow_part_per_1e5),
        ):
            value = {method: measure(by_name["F2", method]) for method in METHODS}
            found.append(
                Conclusion(
                    "F2",
                    f"On F2, the methods rank ISG > MCT > VARI {words}.",
                    ", ".join(f"{method.upper()} {value[method]:.3g}" for method in METHODS),
                    value["isg"] > value["mct"] > value["vari"],
                )
            )
    return found


def _same_scale(target: str, results: Sequence[CellResult]) -> Conclusion:
    means = np.array([result.scale.mean(axis=0) for result in results])
    errors = np.array([result.scale.std(axis=0, ddof=1) / math.sqrt(TRAJECTORIES) for result in results])
    largest_difference = float(np.max(np.ptp(means, axis=0) / means.mean(axis=0)))
    # The methods share seeds, and on a normal a path that makes VARI's S large makes ISG's small: their errors add up.
    two_largest = np.sort(errors, axis=0)[-2:].sum(axis=0)
    within_error = np.ptp(means, axis=0) <= SCALE_STANDARD_ERRORS * two_largest
    within_share = np.ptp(means, axis=0) <= SCALE_RELATIVE * means.mean(axis=0)
    return Conclusion(
        target,
        f"On {target}, the three methods find the same S.",
        f"largest difference {100 * largest_difference:.1f} %",
        bool(np.all(within_error | within_share)),
    )
