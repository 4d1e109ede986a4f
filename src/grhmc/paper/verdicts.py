"""Ours beside the published: every row of the tables, its difference in its own standard error, and a verdict.

The published number is itself one noisy run, so a difference is judged by the error of both runs together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from grhmc.paper.cells import LSODA, TRAJECTORIES, CellResult
from grhmc.paper.published import PublishedRow, published_rows
from grhmc.paper.targets import TARGETS

SCALE_STANDARD_ERRORS = 4.0
SCALE_RELATIVE = 0.03
SCALE_ROUNDING = 0.005
"""S agrees within the largest of four standard errors and 3 %, plus half a unit of the published last digit."""

SD_RATIO_PROBABILITY = 1e-3
"""The SDs of S over ten trajectories agree unless the F-test gives their ratio a smaller probability."""

SD_ROUNDING = 0.0005

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
    index : int
        Of the coordinate in the model.
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
    index: int = 0

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
    def sd_ratio(self) -> float:
        """Our SD of S over the published one; nan without a published row."""
        return math.nan if self.published is None else self.s_sd / max(self.published.s_sd, 1e-300)

    @property
    def sd_verdict(self) -> Verdict:
        """Whether S varies over trajectories as published, by the F-test; the published SD within its last digit."""
        if self.published is None or TARGETS[self.target].exact is None:
            return Verdict.NONE  # the regressions' extremes may be other coordinates
        from scipy.special import fdtr, fdtrc  # of the extra `paper`

        closest = min(max(self.s_sd, self.published.s_sd - SD_ROUNDING), self.published.s_sd + SD_ROUNDING)
        ratio = (self.s_sd / max(closest, 1e-300)) ** 2
        freedom = TRAJECTORIES - 1
        tail = min(fdtr(freedom, freedom, ratio), fdtrc(freedom, freedom, ratio))
        return _verdict(bool(2.0 * tail >= SD_RATIO_PROBABILITY))

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
            index=j,
        )
        for coordinate, j in listed
    ]
