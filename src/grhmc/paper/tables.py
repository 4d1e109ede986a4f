"""The comparison as tables: blocks for the report and rows for `tables.csv` and `moments.csv`."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from grhmc._files import replacing
from grhmc.paper.cells import Cell, CellResult
from grhmc.paper.conclusion import Conclusion
from grhmc.paper.document import Grid
from grhmc.paper.moments import Moment
from grhmc.paper.pooled_tests import PooledTest
from grhmc.paper.ranking import Ranking
from grhmc.paper.verdicts import Row, Verdict, compare_cell


def comparison_grid(rows: Sequence[Row]) -> Grid:
    """One of the paper's tables: ours, published, difference in standard errors, verdict."""
    columns = (
        "target",
        "method",
        "coordinate",
        "S",
        "published",
        "difference / s.e.",
        "",
        "SD / published",
        "",
        "ESS",
        "published",
        "ratio",
        "difference / s.e.",
        "",
        "ESS per 10⁵ evaluations",
        "published",
        "evaluations (10⁶)",
        "published",
    )
    return Grid(columns, tuple(_grid_row(row) for row in rows), n_labels=3)


def _grid_row(row: Row) -> tuple[str | Verdict, ...]:
    published = row.published
    is_extreme = row.coordinate in ("min", "max")
    coordinate = f"{row.coordinate} ({row.name})" if is_extreme else row.coordinate
    return (
        row.target,
        row.method.upper(),
        coordinate,
        f"{row.s_mean:.3f} ± {row.s_sd:.3f}",
        f"{published.s_mean:.2f} ± {published.s_sd:.3f}" if published else "",
        _signed(row.s_difference),
        row.s_verdict,
        f"{row.sd_ratio:.2f}" if published else "",
        row.sd_verdict,
        f"{row.ess:,.0f}",
        f"{published.ess:,.0f}" if published else "",
        f"{row.ess_ratio:.2f}" if published else "",
        _signed(row.ess_difference),
        row.ess_verdict,
        f"{row.ess_per_1e5:,.0f}",
        f"{published.ess_per_1e5_evals:,.0f}" if published else "",
        f"{1e-6 * row.n_evaluations:.1f}",
        f"{1e-6 * published.n_ode:.1f}" if published else "",
    )


def _signed(value: float) -> str:
    return "" if math.isnan(value) else f"{value:+.1f}"


def moments_grid(moments: Sequence[Moment]) -> Grid:
    """Per target and method: how many moments agree, and the worst of them."""
    cells: dict[tuple[str, str], list[Moment]] = {}
    for moment in moments:
        cells.setdefault((moment.target, moment.method), []).append(moment)
    rows = []
    for (target, method), of_cell in cells.items():
        judged = [moment for moment in of_cell if moment.judged]
        if not judged:
            continue
        worst = max(judged, key=lambda moment: abs(moment.z))
        rows.append(
            (
                target,
                method.upper(),
                "exact" if worst.is_exact else "the other methods",
                f"{sum(moment.agrees for moment in judged)} of {len(judged)}",
                f"{worst.quantity} of {worst.name}",
                f"{worst.estimate:.4f}",
                f"{worst.expected:.4f}",
                f"{worst.z:+.1f}",
                Verdict.AGREE if all(moment.agrees for moment in judged) else Verdict.DISAGREE,
            )
        )
    columns = ("target", "method", "against", "agree", "worst", "ours", "expected", "difference / s.e.", "")
    return Grid(columns, tuple(rows), n_labels=3)


def conclusions_grid(found: Sequence[Conclusion]) -> Grid:
    """The paper's statements and whether they hold here."""
    words = {Verdict.AGREE: "holds", Verdict.DISAGREE: "contradicted", Verdict.NONE: "undecided"}
    rows = tuple((c.statement, c.evidence, words[c.verdict], c.verdict) for c in found)
    return Grid(("statement", "ours", "", ""), rows, n_labels=3)


def pooled_grid(tests: Sequence[PooledTest]) -> Grid:
    """The tests over all rows of a method."""
    rows = tuple(
        (test.method.upper() or "all", test.quantity, test.test, test.effect, f"{test.p_value:.2g}", test.verdict)
        for test in tests
    )
    return Grid(("method", "of", "test", "found", "p", ""), rows, n_labels=4)


def ranking_grid(found: Sequence[Ranking]) -> Grid:
    """Methods by the worst coordinate's ESS per evaluation."""
    methods = list(dict.fromkeys(method for ranking in found for method in ranking.ours))
    columns = ["target"]
    for method in methods:
        columns += [method.upper(), "published"]
    rows = []
    for ranking in found:
        row: list[str | Verdict] = [ranking.target]
        for method in methods:
            ours, published = ranking.ours.get(method), ranking.published.get(method)
            row += ["" if ours is None else f"{ours[0]:.4g} ± {ours[1]:.2g}"]
            row += ["" if published is None else f"{published:.4g}"]
        rows.append((*row, ranking.order, ranking.published_order, ranking.verdict))
    return Grid((*columns, "order", "published order", ""), tuple(rows))


def write_tables_csv(path: Path, results: Sequence[CellResult]) -> None:
    """All rows of all cells, numbers in full."""
    _write_csv(path, [_csv_row(result, row) for result in results for row in compare_cell(result)])


def _csv_row(result: CellResult, row: Row) -> dict[str, object]:
    published = row.published
    return {
        **path_columns(result.cell),
        "table": row.table,
        "target": row.target,
        "method": row.method,
        "coordinate": row.coordinate,
        "name": row.name,
        "s_mean": row.s_mean,
        "s_sd": row.s_sd,
        "s_mean_published": published.s_mean if published else "",
        "s_sd_published": published.s_sd if published else "",
        "s_difference_in_errors": row.s_difference,
        "s_verdict": row.s_verdict.value,
        "s_sd_ratio": row.sd_ratio,
        "s_sd_verdict": row.sd_verdict.value,
        "ess": row.ess,
        "ess_error": row.ess_error,
        "ess_published": published.ess if published else "",
        "ess_difference_in_errors": row.ess_difference,
        "ess_verdict": row.ess_verdict.value,
        "ess_per_1e5_evals": row.ess_per_1e5,
        "ess_per_1e5_evals_published": published.ess_per_1e5_evals if published else "",
        "n_evaluations": row.n_evaluations,
        "n_ode_published": published.n_ode if published else "",
        "evaluations_verdict": row.count_verdict.value,
        "tuning_seconds": result.tuning_seconds,
        "sampling_seconds": result.sampling_seconds,
    }


def write_moments_csv(path: Path, moments: Iterable[tuple[Cell, Moment]]) -> None:
    """Every moment beside what it should be."""
    _write_csv(
        path,
        [
            {
                **path_columns(cell),
                "target": moment.target,
                "method": moment.method,
                "name": moment.name,
                "quantity": moment.quantity,
                "estimate": moment.estimate,
                "expected": moment.expected,
                "error": moment.error,
                "difference_in_errors": moment.z,
                "expected_is_exact": moment.is_exact,
                "verdict": ("agree" if moment.agrees else "disagree") if moment.judged else "–",
            }
            for cell, moment in moments
        ],
    )


def path_columns(cell: Cell) -> dict[str, object]:
    """What a row of any table begins with."""
    return {"integrator": cell.integrator, "tolerance": cell.tolerance, "scale_down": cell.scale_down}


def _write_csv(path: Path, rows: Sequence[dict[str, object]]) -> None:
    with replacing(path) as complete, complete.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
