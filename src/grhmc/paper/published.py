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
def published_worst_ess() -> dict[tuple[str, str], float]:
    """The worst coordinate's ESS per 100 000 evaluations by target and method (lower case), tables and programs."""
    worst: dict[tuple[str, str], float] = {}
    for row in published_rows().values():
        key = (row.target, row.method)
        worst[key] = min(worst.get(key, row.ess_per_1e5_evals), row.ess_per_1e5_evals)
    text = resources.files("grhmc").joinpath("data", "paper_worst_ess.csv").read_text(encoding="utf-8")
    for line in csv.DictReader(text.splitlines()):
        worst[line["target"], line["method"].lower()] = float(line["ess_per_1e5_evals"])
    return worst


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
