"""The published numbers, read from the copy that ships with the package."""

from __future__ import annotations

import csv
import functools
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True)
class PublishedRow:
    """One row of tables 1 to 4 of Tran & Kleppe (2024); `data/README.md` says what the columns mean."""

    table: int
    target: str
    method: str
    coordinate: str
    ess: float
    s_mean: float
    s_sd: float
    ess_per_1e5_evals: float
    n_ode: int


@functools.cache
def published_rows() -> dict[tuple[str, str, str], PublishedRow]:
    """All 66 rows by target, method (lower case) and coordinate ("1", "2", "min" or "max")."""
    text = resources.files("grhmc").joinpath("data", "paper_tables.csv").read_text(encoding="utf-8")
    rows = [
        PublishedRow(
            table=int(row["table"]),
            target=row["target"],
            method=row["method"].lower(),
            coordinate=row["coordinate"],
            ess=float(row["ess"]),
            s_mean=float(row["s_mean"]),
            s_sd=float(row["s_sd"]),
            ess_per_1e5_evals=float(row["ess_per_1e5_evals"]),
            n_ode=int(row["n_ode"]),
        )
        for row in csv.DictReader(text.splitlines())
    ]
    return {(row.target, row.method, row.coordinate): row for row in rows}
