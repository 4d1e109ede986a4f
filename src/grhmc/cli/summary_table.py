"""The posterior summary as the commands print it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

from grhmc._terminal import printable

if TYPE_CHECKING:
    import pandas


def summary_table(summary: pandas.DataFrame) -> Table:
    """Posterior summary, numbers rounded to what their Monte Carlo error allows."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column("parameter")
    formats = {
        "mean": "{:.3f}", "sd": "{:.3f}", "5%": "{:.3f}", "95%": "{:.3f}", "mcse_mean": "{:.4f}",
        "ess_bulk": "{:,.0f}", "ess_tail": "{:,.0f}", "r_hat": "{:.3f}",
    }  # fmt: skip
    headings = {"mcse_mean": "MCSE", "ess_bulk": "bulk ESS", "ess_tail": "tail ESS", "r_hat": "R-hat"}
    for column in formats:
        table.add_column(headings.get(column, column), justify="right")
    for name, row in summary.iterrows():
        table.add_row(printable(str(name)), *(text.format(row[c]) for c, text in formats.items()))
    return table
