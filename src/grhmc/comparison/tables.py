"""Write a comparison of scale tuners as tables: for terminals, as plain text, and as HTML."""

from __future__ import annotations

import html
import io
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

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


class Shown(NamedTuple):
    """A table: its title, the headings of its columns, which may have several lines, and its rows."""

    title: str
    headings: list[str]
    rows: list[list[str]]


Part = Shown | str
"""Of what is shown: a table, or a remark below one."""


def tuner_parts(rows: Sequence[ComparisonRow], summaries: Sequence[TunerSummary]) -> list[Part]:
    """A table by tuner, and one by parameter."""
    parts: list[Part] = [Shown(_TUNER_TITLE, *_tuner_cells(summaries)), _NOTE]
    if rows:
        parts.append(Shown(_PARAMETER_TITLE, *_parameter_cells(rows, summaries)))
    return [*parts, *left_out(len(_parameters(rows)), "parameters")]


def rich_tables(parts: Sequence[Part], notes: Sequence[str]) -> Group:
    """Tables, remarks and notes, for a Rich console."""
    shown: list[Text | Table] = []
    for part in parts:
        if isinstance(part, Shown):
            shown += [Text(f"\n{part.title}" if shown else part.title, style="bold"), _rich_table(*part[1:])]
        else:
            shown.append(Text(part, style="dim"))
    return Group(*shown, *(printable(note) for note in notes))


def plain_text(parts: Sequence[Part], notes: Sequence[str]) -> str:
    """The same, without colours."""
    console = Console(file=io.StringIO(), width=_TEXT_WIDTH, color_system=None, highlight=False)
    with console.capture() as capture:
        console.print(rich_tables(parts, notes))
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def html_tables(parts: Sequence[Part], notes: Sequence[str]) -> str:
    """The same as HTML; names are escaped."""
    shown = [_html_table(*part) if isinstance(part, Shown) else f"<p>{html.escape(part)}</p>" for part in parts]
    return "\n".join([*shown, *(f"<p>{html.escape(note)}</p>" for note in notes)])


def _tuner_cells(summaries: Sequence[TunerSummary]) -> tuple[list[str], list[list[str]]]:
    # Narrow enough for a terminal of 80 columns.
    columns: dict[str, Callable[[TunerSummary], str]] = {
        "tuner": lambda s: s.tuner,
        "bulk\nESS": lambda s: count_text(s.ess_bulk),
        "tail\nESS": lambda s: count_text(s.ess_tail),
        "q²\nESS": lambda s: count_text(s.ess_q2),
        "per 1k\ngrad.": lambda s: number_text(_worst(s, "per_1000_gradients")),
        "per s": lambda s: _compact(_worst(s, "per_second")),
        "worst\nparameter": lambda s: s.worst.parameter if s.worst else "–",
        "grad.\nsampl.": lambda s: count_text(s.n_gradients),
        "grad.\nwarm-up": lambda s: count_text(s.warmup_gradients),
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
                *(number_text(row.ess_per_1000_gradients["worst"]) for row in cells),
                *(number_text(row.scale) for row in cells),
            ]
        )
    return headings, table


def _parameters(rows: Sequence[ComparisonRow]) -> list[str]:
    return list(dict.fromkeys(row.parameter for row in rows))


def left_out(n_rows: int, what: str) -> list[str]:
    """What a table does not show."""
    return [f"and {n_rows - LARGEST_TABLE} more {what}; see to_dataset()"] if n_rows > LARGEST_TABLE else []


def _rich_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for heading in headings:
        is_word = heading in ("tuner", "parameter", "worst\nparameter", "coordinate", "worst\ncoordinate")
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


def count_text(value: float) -> str:
    """A whole number with commas."""
    return "–" if math.isnan(value) else f"{value:,.0f}"


def _compact(value: float) -> str:
    return "–" if math.isnan(value) else format_count(value)


def number_text(value: float) -> str:
    """Three significant digits, without an exponent where that is short."""
    if math.isnan(value):
        return "–"
    if 0.001 <= abs(value) < 10_000:
        digits = max(0, 2 - math.floor(math.log10(abs(value))))
        return f"{value:.{digits}f}"
    return f"{value:.3g}"
