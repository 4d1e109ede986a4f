"""Write the report of a run: what was done, every table, the paper's conclusions, moments and figures."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path

import numba
import numpy as np

from grhmc import __version__
from grhmc._files import replace_text
from grhmc.paper.cells import LSODA, CellResult
from grhmc.paper.conclusions import conclusions
from grhmc.paper.counts import Count, count
from grhmc.paper.document import Block, Bullets, Grid, Heading, Paragraph, Picture, to_html, to_markdown
from grhmc.paper.figure_ranking import draw_ranking
from grhmc.paper.moments import Moment, cell_moments
from grhmc.paper.pooled_moments import pooled_moment_tests
from grhmc.paper.pooled_tests import LEVEL, PooledTest, ScaleCell, pooled_ess_tests, pooled_scale_tests, scale_cells
from grhmc.paper.power import smallest_visible
from grhmc.paper.ranking import rankings
from grhmc.paper.remark_list import remarks_on_conclusions, remarks_on_numbers
from grhmc.paper.tables import (
    comparison_grid,
    conclusions_grid,
    moments_grid,
    pooled_grid,
    ranking_grid,
    write_moments_csv,
    write_tables_csv,
)
from grhmc.paper.verdicts import Row, Verdict, compare_cell

_TABLE_TITLES = {
    1: "Gaussian targets",
    2: "Non-Gaussian targets",
    3: "Funnels",
    4: "Logistic regressions",
    5: "in none of the paper's",
}


def write_report(
    directory: Path, results: Sequence[CellResult], pictures: Sequence[Picture], seconds: float
) -> list[Count]:
    """Write `tables.csv`, `moments.csv`, `report.html` and `report.md` into `directory`.

    Parameters
    ----------
    directory : Path
    results : sequence of CellResult
        Finished cells, of one or several integrators.
    pictures : sequence of Picture
    seconds : float
        Wall clock of this run, for the report.

    Returns
    -------
    list of Count
        Verdicts by integrator and kind.
    """
    counts: list[Count] = []
    paths = _by_path(results)
    blocks: list[Block] = [
        Heading("The tables of Tran & Kleppe (2024), run again", 1),
        *_introduction(results, seconds),
    ]
    all_moments = []
    for path, of_path in paths.items():
        moments = _all_moments(of_path)
        all_moments += [(of_path[0].cell, moment) for moment in moments]
        section, of_section = _path_section(path, of_path, moments, results)
        blocks += section
        counts += of_section
    if pictures:
        first = list({(r.cell.target, r.cell.method): r for r in reversed(results)}.values())[::-1]
        blocks += [Heading("Figures"), *pictures, draw_ranking(directory / "figures", first)]
    write_tables_csv(directory / "tables.csv", results)
    write_moments_csv(directory / "moments.csv", all_moments)
    replace_text(directory / "report.html", to_html(blocks))
    replace_text(directory / "report.md", to_markdown(blocks, directory))
    return counts


def _by_path(results: Sequence[CellResult]) -> dict[str, list[CellResult]]:
    paths: dict[str, list[CellResult]] = {}
    for result in results:
        paths.setdefault(result.cell.path, []).append(result)
    return paths


def _introduction(results: Sequence[CellResult], seconds: float) -> list[Block]:
    n_gradients = sum(int(result.n_tuning.sum() + result.n_sampling.sum()) for result in results)
    core_seconds = sum(result.tuning_seconds + result.sampling_seconds for result in results)
    draws = {result.cell.draws for result in results}
    lengths = ", ".join(f"{2 * n:,}" for n in sorted(draws))
    blocks: list[Block] = [
        Paragraph(
            "Ten independent trajectories per target and method: 6000 time units to tune centre and scale at event "
            f"rate 0.2, 5000 to tune the event rate, then {lengths} time units with all of them fixed, one draw every "
            "2. VARI: marginal variances; ISG: integrated squared gradients; MCT: median crossing times."
        ),
        Paragraph(
            "S agrees if the means over ten trajectories differ by no more than four standard errors of the difference "
            "or 3 %, whichever is more, plus half a unit of the published last digit. An effective sample size agrees "
            "within 15 %, or 30 % on NG2, NG3 and F1; on F2 it is shown without a verdict. The SDs of S agree if "
            "the F-test gives their ratio a probability of 0.001 or more. Standard errors of an ESS "
            "come from its spread over our ten trajectories; the published one is taken to be as uncertain."
        ),
        Paragraph(
            f"{len(results)} cells, {n_gradients / 1e6:,.0f} million gradients in tuning and sampling, "
            f"{core_seconds / 60:.1f} core minutes in the sampler; this call took {seconds / 60:.1f} minutes. "
            f"grhmc {__version__}, NumPy {np.__version__}, Numba {numba.__version__}, "
            f"Python {platform.python_version()}."
        ),
    ]
    if any(n < max(draws) or n < 50_000 for n in draws):
        blocks.append(
            Paragraph(
                "Sampling was shortened: effective sample sizes and counts of evaluations are scaled up to the full "
                "length, and their Monte Carlo errors are wider than the published ones."
            )
        )
    return blocks


def _path_section(
    path: str, results: Sequence[CellResult], moments: Sequence[Moment], all_results: Sequence[CellResult]
) -> tuple[list[Block], list[Count]]:
    rows = [row for result in results for row in compare_cell(result)]
    blocks: list[Block] = [Heading(path), _summary(rows, moments)]
    for table in sorted({row.table for row in rows}):
        of_table = [row for row in rows if row.table == table]
        blocks += [Heading(f"Table {table}: {_TABLE_TITLES.get(table, '')}", 3), comparison_grid(of_table)]
    cells = scale_cells(results)
    tests = [*pooled_scale_tests(cells), *pooled_ess_tests(rows), *pooled_moment_tests(moments)]
    blocks += _pooled_section(tests, cells)
    remarks = remarks_on_numbers(results, moments, all_results)
    if remarks:
        blocks += [Heading("Where ours and the published numbers disagree", 3), Bullets(tuple(remarks))]
    found = conclusions(results)
    if found:
        blocks += [
            Heading("The paper's conclusions", 3),
            Paragraph("A ranking is decided by two standard errors of the difference; a smaller one is undecided."),
            conclusions_grid(found),
        ]
        reasons = remarks_on_conclusions(found, results)
        if reasons:
            blocks.append(Bullets(tuple(reasons)))
    ranked = rankings(results)
    blocks += [
        Heading("Methods ranked by ESS per evaluation", 3),
        Paragraph(
            "ESS per 100 000 evaluations of the worst coordinate. Ours disagrees where it decides against a published "
            "lead of more than a tenth."
        ),
        ranking_grid(ranked),
    ]
    if results[0].cell.integrator == LSODA:
        blocks += [Heading("Evaluations, where S agrees", 3), _counts(rows)]
    blocks += [
        Heading("Moments", 3),
        Paragraph(
            "Means and mean squares, and shares of draws below exact 5, 50 and 95 % points, against exact values where "
            "these are known; for the regressions against the other two methods. On the funnels the moments of q2 have "
            "no usable standard error, so only shares are judged there. moments.csv has every one."
        ),
        moments_grid(moments),
    ]
    judged = [moment for moment in moments if moment.judged]
    return blocks, [
        count(path, "S", [row.s_verdict for row in rows]),
        count(path, "SD of S", [row.sd_verdict for row in rows]),
        count(path, "ESS", [row.ess_verdict for row in rows]),
        count(path, "evaluations", [row.count_verdict for row in rows]),
        count(path, "pooled tests", [test.verdict for test in tests]),
        count(path, "moments", [Verdict.AGREE if moment.agrees else Verdict.DISAGREE for moment in judged]),
        count(path, "conclusions", [one.verdict for one in found], decides_exit=False),
        count(path, "rankings", [one.verdict for one in ranked], decides_exit=False),
    ]


def _pooled_section(tests: Sequence[PooledTest], cells: Sequence[ScaleCell]) -> list[Block]:
    if not tests:
        return []
    visible = "; ".join(
        f"{one.method.upper()} {100 * one.shift:.1f} % in S, a factor of {one.sd_ratio:.2f} in its SD"
        for one in smallest_visible(cells)
    )
    return [
        Heading("All rows of a method together", 3),
        Paragraph(
            f"Errors too small for any single row. A test disagrees below p = {LEVEL}. What the same error in every "
            f"row would have to be for these tests to find it in nine runs of ten: {visible or 'nothing is compared'}."
        ),
        pooled_grid(tests),
    ]


def _summary(rows: Sequence[Row], moments: Sequence[Moment]) -> Paragraph:
    s_verdicts = [row.s_verdict for row in rows if row.s_verdict != Verdict.NONE]
    ess_verdicts = [row.ess_verdict for row in rows if row.ess_verdict != Verdict.NONE]
    judged = [moment for moment in moments if moment.judged]
    ratio = [row.ess_per_1e5 / row.published.ess_per_1e5_evals for row in rows if row.published]
    gain = f" ESS per evaluation is {np.median(ratio):.2f} times the published one in the median row." if ratio else ""
    return Paragraph(
        f"S agrees in {s_verdicts.count(Verdict.AGREE)} of {len(s_verdicts)} rows, ESS in "
        f"{ess_verdicts.count(Verdict.AGREE)} of {len(ess_verdicts)}; {sum(moment.agrees for moment in judged)} of "
        f"{len(judged)} moments are within four standard errors.{gain}"
    )


def _counts(rows: Sequence[Row]) -> Grid:
    seen = {(row.target, row.method): row for row in rows}
    lines = tuple(
        (
            row.target,
            row.method.upper(),
            f"{row.n_evaluations / 1e6:.1f}",
            f"{row.published.n_ode / 1e6:.1f}",
            f"{row.n_evaluations / row.published.n_ode:.2f}",
            row.count_verdict,
        )
        for row in seen.values()
        if row.published
    )
    return Grid(("target", "method", "evaluations (10⁶)", "published", "ratio", ""), lines, n_labels=2)


def _all_moments(results: Sequence[CellResult]) -> list[Moment]:
    return [
        moment
        for result in results
        for moment in cell_moments(result, [other for other in results if other.cell.target == result.cell.target])
    ]
