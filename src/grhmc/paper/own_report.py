"""The report on a model of one's own: the paper's tables, without published rows and without verdicts."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from grhmc._files import replace_text, replacing
from grhmc.paper.cells import TRAJECTORIES, CellResult
from grhmc.paper.document import Block, Grid, Heading, Paragraph, Picture, to_html, to_markdown
from grhmc.paper.moments import Moment, moments_against_others
from grhmc.paper.ranking import Ranking
from grhmc.paper.tables import path_columns, write_moments_csv

LARGEST_TABLE = 30
"""Coordinates shown per method, those with the fewest effective draws; tables.csv has all."""


def write_own_report(
    directory: Path, name: str, results: Sequence[CellResult], pictures: Sequence[Picture], seconds: float
) -> None:
    """Write `tables.csv`, `moments.csv`, `report.html` and `report.md` into `directory`.

    Parameters
    ----------
    directory : Path
    name : str
        Of the model.
    results : sequence of CellResult
        Finished cells, of one or several integrators.
    pictures : sequence of Picture
    seconds : float
        Wall clock of this run.
    """
    directory.mkdir(parents=True, exist_ok=True)
    n_gradients = sum(int(result.n_tuning.sum() + result.n_sampling.sum()) for result in results)
    lengths = ", ".join(f"{2 * n:,}" for n in sorted({result.cell.draws for result in results}))
    blocks: list[Block] = [
        Heading(f"{name}: the comparison of Tran & Kleppe (2024)", 1),
        Paragraph(
            "Ten independent trajectories per method from q̄ ~ N(0, I): 6000 time units to tune centre and scale at "
            f"event rate 0.2, 5000 to tune the event rate, then {lengths} time units with all fixed, one draw every "
            "2. VARI: marginal variances; ISG: integrated squared gradients; MCT: median crossing times. There is "
            "nothing published on this model: these are its own numbers, of its unconstrained coordinates."
        ),
        Paragraph(
            f"{len(results)} cells, {n_gradients / 1e6:,.1f} million gradients in tuning and sampling; this call took "
            f"{seconds / 60:.1f} minutes."
        ),
    ]
    moments = []
    for path in dict.fromkeys(result.cell.path for result in results):
        of_path = [result for result in results if result.cell.path == path]
        found = [moment for result in of_path for moment in moments_against_others(result, of_path)]
        moments += [(of_path[0].cell, moment) for moment in found]
        blocks += _section(path, of_path, found)
    if pictures:
        blocks += [Heading("Figures"), *pictures]
    _write_tables_csv(directory / "tables.csv", results)
    write_moments_csv(directory / "moments.csv", moments)
    replace_text(directory / "report.html", to_html(blocks))
    replace_text(directory / "report.md", to_markdown(blocks, directory))


def own_ranking(results: Sequence[CellResult]) -> Ranking:
    """Methods by the worst coordinate's ESS per 100 000 evaluations, with its standard error."""
    ours = {}
    for result in results:
        j = int(np.argmin(result.ess))
        factor = 1e5 / float(result.n_sampling.sum())
        ours[result.cell.method] = float(result.ess[j]) * factor, float(_ess_error(result)[j]) * factor
    return Ranking(results[0].cell.target, ours, {})


def _section(path: str, results: Sequence[CellResult], moments: Sequence[Moment]) -> list[Block]:
    ranking = own_ranking(results)
    blocks: list[Block] = [
        Heading(path),
        Paragraph(
            "ESS per 100 000 evaluations of the worst coordinate: "
            + ", ".join(f"{m.upper()} {value:.4g} ± {error:.2g}" for m, (value, error) in ranking.ours.items())
            + f". Order: {ranking.order}, where ≈ stands between methods that two standard errors do not tell apart."
        ),
        Heading("The worst coordinate of each method", 3),
        _grid([(result, int(np.argmin(result.ess))) for result in results]),
        Heading("By coordinate", 3),
    ]
    shown = [(result, int(j)) for result in results for j in np.sort(np.argsort(result.ess)[:LARGEST_TABLE])]
    blocks.append(_grid(shown))
    if len(results[0].names) > LARGEST_TABLE:
        blocks.append(
            Paragraph(f"The {LARGEST_TABLE} coordinates with the fewest effective draws; tables.csv has all.")
        )
    if moments:
        blocks += [
            Heading("Moments, against the other methods", 3),
            Paragraph(
                "The largest difference of a mean or mean square from the other methods' average, in Monte Carlo "
                "standard errors. All methods have the same target: a large one says that chains have not seen it all."
            ),
            _moments_grid(moments),
        ]
    return blocks


def _grid(cells: Sequence[tuple[CellResult, int]]) -> Grid:
    columns = ("method", "coordinate", "S", "ESS", "ESS per 10⁵ evaluations", "evaluations (10⁶)", "λ")
    rows = []
    for result, j in cells:
        factor = result.cell.length_factor
        rows.append(
            (
                result.cell.method.upper(),
                result.names[j],
                f"{result.scale[:, j].mean():.4g} ± {result.scale[:, j].std(ddof=1):.2g}",
                f"{result.ess[j] * factor:,.0f} ± {_ess_error(result)[j] * factor:,.0f}",
                f"{1e5 * result.ess[j] / result.n_sampling.sum():.4g}",
                f"{1e-6 * result.n_sampling.sum() * factor:.2f}",
                f"{np.exp(np.log(result.event_rate).mean()):.3f}",
            )
        )
    return Grid(columns, tuple(rows), n_labels=2)


def _ess_error(result: CellResult) -> np.ndarray:
    return result.ess_trajectory.std(axis=0, ddof=1) * math.sqrt(TRAJECTORIES)


def _moments_grid(moments: Sequence[Moment]) -> Grid:
    rows = []
    for method in dict.fromkeys(moment.method for moment in moments):
        worst = max((moment for moment in moments if moment.method == method), key=lambda moment: abs(moment.z))
        rows.append(
            (
                method.upper(),
                f"{worst.quantity} of {worst.name}",
                f"{worst.estimate:.4g}",
                f"{worst.expected:.4g}",
                f"{worst.z:+.1f}",
            )
        )
    return Grid(("method", "worst", "this method", "the others", "difference / s.e."), tuple(rows), n_labels=2)


def _write_tables_csv(path: Path, results: Sequence[CellResult]) -> None:
    rows = [
        {
            **path_columns(result.cell),
            "target": result.cell.target,
            "method": result.cell.method,
            "name": name,
            "s_mean": result.scale[:, j].mean(),
            "s_sd": result.scale[:, j].std(ddof=1),
            "ess": result.ess[j] * result.cell.length_factor,
            "ess_error": _ess_error(result)[j] * result.cell.length_factor,
            "ess_per_1e5_evals": 1e5 * result.ess[j] / result.n_sampling.sum(),
            "n_evaluations": result.n_sampling.sum() * result.cell.length_factor,
            "n_tuning": result.n_tuning.sum(),
            "mean": result.mean[j],
            "sd": result.sd[j],
            "tuning_seconds": result.tuning_seconds,
            "sampling_seconds": result.sampling_seconds,
        }
        for result in results
        for j, name in enumerate(result.names)
    ]
    with replacing(path) as complete, complete.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
