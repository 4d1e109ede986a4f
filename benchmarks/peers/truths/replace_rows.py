"""Keep a file of truths: the rows of one target are replaced, the others stay."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def replace_rows(path: Path, fields: Sequence[str], target: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write `rows` as those of `target`, after those of the other targets that the file has, if there is one."""
    kept = []
    if path.is_file():
        with path.open() as file:
            kept = [row for row in csv.DictReader(file) if row["target"] != target]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows([*kept, *rows])
