"""What a comparison of scale tuners found: rows, summaries and runs, to print or to take apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from grhmc.comparison.paper_measures import PaperRow, worst_rows
from grhmc.comparison.paper_tables import paper_parts
from grhmc.comparison.rows import ESS_KINDS, ComparisonRow, TunerSummary
from grhmc.comparison.tables import Part, html_tables, plain_text, rich_tables, tuner_parts
from grhmc.diagnosis import Report

if TYPE_CHECKING:
    import xarray
    from rich.console import RenderableType

_PAPER_COLUMNS = {
    "scale_mean": "scale_mean",
    "scale_sd": "scale_sd",
    "n_eff": "ess",
    "n_eff_error": "ess_error",
    "n_eff_per_1e5_evaluations": "ess_per_1e5",
}


@dataclass(frozen=True, eq=False)
class Comparison:
    """What `compare` found. Print it, or take it apart.

    Attributes
    ----------
    rows : tuple of ComparisonRow
        One per tuner and parameter.
    summaries : tuple of TunerSummary
        One per tuner.
    results : dict of str to DataTree
        The runs, as `sample` returned them.
    failures : dict of str to str
        What went wrong with the tuners that have no result.
    seed : int or tuple of int
        Of every run.
    paper_rows : tuple of PaperRow
        One per tuner and coordinate of the sampler, with the measures of the paper's tables; empty unless the runs had
        the published warm-up.
    """

    rows: tuple[ComparisonRow, ...]
    summaries: tuple[TunerSummary, ...]
    results: dict[str, xarray.DataTree]
    failures: dict[str, str]
    seed: int | tuple[int, ...]
    paper_rows: tuple[PaperRow, ...] = ()

    @property
    def reports(self) -> dict[str, Report]:
        """What speaks against the draws of each tuner that has a result; see `grhmc.diagnose`."""
        return {
            tuner: Report.from_json(str(result.attrs.get("diagnosis", "[]"))) for tuner, result in self.results.items()
        }

    @property
    def tuners(self) -> tuple[str, ...]:
        """Those with a result, in the order in which they ran."""
        return tuple(summary.tuner for summary in self.summaries)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Labels, in the order of the model's variables."""
        return tuple(dict.fromkeys(row.parameter for row in self.rows))

    @property
    def best(self) -> str:
        """The tuner whose worst parameter got the most effective draws per gradient, by the measure that is shown."""
        if self.paper_rows:
            worst = worst_rows(self.paper_rows)
            return max(worst, key=lambda tuner: worst[tuner].ess_per_1e5)

        def efficiency(summary: TunerSummary) -> float:
            value = math.nan
            if summary.worst is not None:
                value = summary.worst.ess_per_1000_gradients["worst"]
            return -math.inf if math.isnan(value) else value

        return max(self.summaries, key=efficiency).tuner

    def to_dataset(self) -> xarray.Dataset:
        """The same as arrays.

        Returns
        -------
        xarray.Dataset
            Over ``tuner`` and ``parameter``: ``ess_bulk``, ``ess_tail``, ``ess_mean``, ``ess_q2``,
            ``ess_worst``, ``ess_per_1000_gradients`` and ``ess_per_second`` (of ``ess_worst``), and
            ``scale``. Over ``tuner``: ``n_gradients``, ``warmup_gradients``, ``sampling_seconds``,
            ``warmup_seconds``, ``event_rate``, ``r_hat``, ``n_diverging``. Of runs with the published warm-up,
            over ``tuner`` and ``coordinate``: ``scale_mean``, ``scale_sd``, ``n_eff``, ``n_eff_error`` and
            ``n_eff_per_1e5_evaluations``.
        """
        import xarray

        shape = (len(self.tuners), len(self.parameters))
        by_row = {
            name: (
                ("tuner", "parameter"),
                np.array([getattr(row, name) for row in self.rows], dtype=float).reshape(shape),
            )
            for name in (
                *(f"ess_{kind}" for kind in (*ESS_KINDS, "worst")),
                "ess_per_second",
                "scale",
            )
        }
        per_1000 = [row.ess_per_1000_gradients["worst"] for row in self.rows]
        by_tuner = {
            name: ("tuner", [getattr(summary, name) for summary in self.summaries])
            for name in (
                "n_gradients",
                "warmup_gradients",
                "sampling_seconds",
                "warmup_seconds",
                "event_rate",
                "r_hat",
                "n_diverging",
            )
        }
        coordinates = tuple(dict.fromkeys(row.coordinate for row in self.paper_rows))
        by_coordinate = {
            name: (
                ("tuner", "coordinate"),
                np.reshape([getattr(row, field) for row in self.paper_rows], (-1, len(coordinates))),
            )
            for name, field in _PAPER_COLUMNS.items()
            if coordinates
        }
        return xarray.Dataset(
            {
                **by_row,
                **by_coordinate,
                "ess_per_1000_gradients": (("tuner", "parameter"), np.reshape(per_1000, shape)),
                **by_tuner,
            },
            coords={"tuner": list(self.tuners), "parameter": list(self.parameters)}
            | ({"coordinate": list(coordinates)} if coordinates else {}),
            attrs={"seed": str(self.seed)},
        )

    @property
    def _notes(self) -> list[str]:
        """Which draws are in doubt and why, and what failed."""
        notes = [
            f"{tuner} is in doubt: {', '.join(finding.code for finding in report.warnings)}"
            for tuner, report in self.reports.items()
            if not report.is_healthy
        ]
        return notes + [f"{tuner} failed: {message}" for tuner, message in self.failures.items()]

    @property
    def _shown(self) -> tuple[list[Part], list[str]]:
        parts = paper_parts(self.paper_rows) if self.paper_rows else tuner_parts(self.rows, self.summaries)
        return parts, self._notes

    def __str__(self) -> str:
        return plain_text(*self._shown)

    def __rich__(self) -> RenderableType:
        return rich_tables(*self._shown)

    def _repr_html_(self) -> str:
        return html_tables(*self._shown)
