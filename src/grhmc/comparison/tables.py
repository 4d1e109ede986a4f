"""Write a comparison of scale tuners as tables: for terminals, as plain text, and as HTML."""

from __future__ import annotations

import html
import io
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from grhmc._terminal import format_count, printable

if TYPE_CHECKING:
    from grhmc.comparison.rows import ComparisonRow, TunerSummary

LARGEST_TABLE = 30
"""Parameters shown one by one; `Comparison.to_dataset` has them all."""

_TEXT_WIDTH = 100

_TUNER_TITLE = "Scale tuners: effective draws of the worst parameter"
_PARAMETER_TITLE = "By parameter: ESS per 1000 gradients (smallest of bulk, tail, q²), and scale S"
_NOTE = (
    "ESS: smallest over parameters, by kind. Per 1000 gradients and per second of one core, both of "
    "the sampling phase: the smallest of all, which is that of the worst parameter."
)


def rich_tables(rows: Sequence[ComparisonRow], summaries: Sequence[TunerSummary], notes: Sequence[str]) -> Group:
    """Both tables, and the notes, for a Rich console."""
    parts = [
        Text(_TUNER_TITLE, style="bold"),
        _rich_table(*_tuner_cells(summaries)),
        Text(_NOTE, style="dim"),
    ]
    if rows:
        parts += [
            Text(f"\n{_PARAMETER_TITLE}", style="bold"),
            _rich_table(*_parameter_cells(rows, summaries)),
        ]
    parts += [printable(note) for note in [*_left_out(rows), *notes]]
    return Group(*parts)


def plain_text(rows: Sequence[ComparisonRow], summaries: Sequence[TunerSummary], notes: Sequence[str]) -> str:
    """Both tables, and the notes, without colours."""
    console = Console(file=io.StringIO(), width=_TEXT_WIDTH, color_system=None, highlight=False)
    with console.capture() as capture:
        console.print(rich_tables(rows, summaries, notes))
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def html_tables(rows: Sequence[ComparisonRow], summaries: Sequence[TunerSummary], notes: Sequence[str]) -> str:
    """Both tables, and the notes, as HTML; names are escaped."""
    parts = [_html_table(_TUNER_TITLE, *_tuner_cells(summaries))]
    parts.append(f"<p>{html.escape(_NOTE)}</p>")
    if rows:
        parts.append(_html_table(_PARAMETER_TITLE, *_parameter_cells(rows, summaries)))
    parts += [f"<p>{html.escape(note)}</p>" for note in [*_left_out(rows), *notes]]
    return "\n".join(parts)


def _tuner_cells(summaries: Sequence[TunerSummary]) -> tuple[list[str], list[list[str]]]:
    # Narrow enough for a terminal of 80 columns.
    columns: dict[str, Callable[[TunerSummary], str]] = {
        "tuner": lambda s: s.tuner,
        "bulk\nESS": lambda s: _count(s.ess_bulk),
        "tail\nESS": lambda s: _count(s.ess_tail),
        "q²\nESS": lambda s: _count(s.ess_q2),
        "per 1k\ngrad.": lambda s: _number(_worst(s, "per_1000_gradients")),
        "per s": lambda s: _compact(_worst(s, "per_second")),
        "worst\nparameter": lambda s: s.worst.parameter if s.worst else "–",
        "grad.\nsampl.": lambda s: _count(s.n_gradients),
        "grad.\nwarm-up": lambda s: _count(s.warmup_gradients),
        "R-hat": lambda s: "–" if math.isnan(s.r_hat) else f"{s.r_hat:.3f}",
    }
    if any(summary.n_diverging for summary in summaries):
        columns["diver-\nging"] = lambda s: str(s.n_diverging)
    if any(summary.metric_rank for summary in summaries):
        columns["k"] = lambda s: str(s.metric_rank)
    rows = [[cell(summary) for cell in columns.values()] for summary in summaries]
    return list(columns), rows


def _worst(summary: TunerSummary, unit: str) -> float:
    if summary.worst is None:
        return math.nan
    if unit == "per_second":
        return summary.worst.ess_per_second
    return summary.worst.ess_per_1000_gradients["worst"]


def _parameter_cells(
    rows: Sequence[ComparisonRow], summaries: Sequence[TunerSummary]
) -> tuple[list[str], list[list[str]]]:
    tuners = [summary.tuner for summary in summaries]
    headings = [
        "parameter",
        *(f"ESS\n{tuner}" for tuner in tuners),
        *(f"S\n{tuner}" for tuner in tuners),
    ]
    by_key = {(row.tuner, row.parameter): row for row in rows}
    table = []
    for parameter in _parameters(rows)[:LARGEST_TABLE]:
        cells = [by_key[tuner, parameter] for tuner in tuners]
        table.append(
            [
                parameter,
                *(_number(row.ess_per_1000_gradients["worst"]) for row in cells),
                *(_number(row.scale) for row in cells),
            ]
        )
    return headings, table


def _parameters(rows: Sequence[ComparisonRow]) -> list[str]:
    return list(dict.fromkeys(row.parameter for row in rows))


def _left_out(rows: Sequence[ComparisonRow]) -> list[str]:
    n_more = len(_parameters(rows)) - LARGEST_TABLE
    return [f"and {n_more} more parameters; see to_dataset()"] if n_more > 0 else []


def _rich_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for heading in headings:
        is_word = heading in ("tuner", "parameter", "worst\nparameter")
        table.add_column(heading, justify="left" if is_word else "right", overflow="fold")
    for row in rows:
        table.add_row(*(printable(cell) for cell in row))
    return table


def _html_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{html.escape(heading)}</th>" for heading in headings)
    body = "\n".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f"<table><caption>{html.escape(title)}</caption>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody></table>"
    )


def _count(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:,.0f}"


def _compact(value: float) -> str:
    return "–" if math.isnan(value) else format_count(value)


def _number(value: float) -> str:
    """Three significant digits, without an exponent where that is short."""
    if math.isnan(value):
        return "–"
    if 0.001 <= abs(value) < 10_000:
        digits = max(0, 2 - math.floor(math.log10(abs(value))))
        return f"{value:.{digits}f}"
    return f"{value:.3g}"
