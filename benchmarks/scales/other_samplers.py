"""What the metric of `grhmc.tune` is worth to PyMC, Stan, NumPyro and BlackJAX, against what each finds itself.

    python benchmarks/scales/other_samplers.py run stan numpyro     # with the packages of this environment
    python benchmarks/scales/other_samplers.py table   # of docs/scales-for-other-samplers.md

Each run is a line of results.csv, and those that are there are not run again. The table has medians over seeds, and
the least and the greatest of what varies most. CmdStan runs the one program that PyPI has compiled
(prophet_model.py), all others the same three models.
"""

from __future__ import annotations

import csv
import importlib.metadata
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from models import NAMES
from samplers import CHAINS, DRAWS, FROM_CENTRE, METRICS, PACKAGES, SAMPLERS, smallest_ess

RESULTS = Path(__file__).parent / "results.csv"
SEEDS = (1, 2, 3, 4, 5)
COLUMNS = (
    "sampler", "version", "model", "metric", "seed", "tune_gradients", "warmup_gradients", "sampling_gradients",
    "smallest_ess", "n_divergent",
)  # fmt: skip


def models_of(sampler: str) -> tuple[str, ...]:
    return ("prophet",) if sampler == "cmdstan" else NAMES


def metrics_of(sampler: str) -> tuple[str, ...]:
    return (*METRICS, FROM_CENTRE) if sampler == "cmdstan" else METRICS


def read() -> list[dict[str, Any]]:
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def cells(sampler: str) -> Iterator[tuple[str, str, int]]:
    """Model, metric and seed; the longest last: kidscore_interaction with what samplers find themselves."""
    order = [(model, metric) for model in reversed(models_of(sampler)) for metric in metrics_of(sampler)]
    order.sort(key=lambda cell: cell[0] == "kidscore_interaction" and cell[1].startswith("own"))
    return ((model, metric, seed) for model, metric in order for seed in SEEDS)


def run(names: list[str]) -> None:
    done = {(row["sampler"], row["model"], row["metric"], int(row["seed"])) for row in read()}
    for sampler in names:
        version = importlib.metadata.version(PACKAGES[sampler])
        for model, metric, seed in cells(sampler):
            if (sampler, model, metric, seed) in done:
                continue
            made = SAMPLERS[sampler](model, metric, seed)
            counts = (made.tune_gradients, made.warmup_gradients, made.sampling_gradients)
            row = (sampler, version, model, metric, seed, *counts, f"{smallest_ess(made.draws):.0f}", made.n_divergent)
            is_new = not RESULTS.exists()
            with RESULTS.open("a", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows([COLUMNS, row] if is_new else [row])
            print(*row, flush=True)


def spread(values: list[float], digits: str) -> str:
    """The median, and in parentheses the least and the greatest."""
    middle, low, high = (format(value, digits) for value in (statistics.median(values), min(values), max(values)))
    return f"{middle} ({low} to {high})" if len(values) > 1 else middle


def table() -> None:
    rows = read()
    header = ("model", "sampler", "metric", "warm-up gradients", "gradients a draw", "smallest ESS")
    print("|", " | ".join([*header, "gradients per ESS", "divergences", "runs"]), "|")
    print("|---" * (len(header) + 3) + "|")
    for model in (*NAMES, "prophet"):
        for sampler in SAMPLERS:
            for metric in metrics_of(sampler):
                cell = [
                    row for row in rows if (row["sampler"], row["model"], row["metric"]) == (sampler, model, metric)
                ]
                if cell:
                    print(f"| {model} | {sampler} | {metric} | {figures(cell)} | {len(cell)} |")


def figures(cell: list[dict[str, Any]]) -> str:
    warmup = statistics.median(int(row["tune_gradients"]) + int(row["warmup_gradients"]) for row in cell)
    steps = statistics.median(int(row["sampling_gradients"]) for row in cell) / (CHAINS * DRAWS)
    ess = spread([float(row["smallest_ess"]) for row in cell], ",.0f")
    cost = spread([int(row["sampling_gradients"]) / float(row["smallest_ess"]) for row in cell], ",.1f")
    diverging = statistics.median(int(row["n_divergent"]) for row in cell)
    return f"{warmup:,.0f} | {steps:.1f} | {ess} | {cost} | {diverging:.0f}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["table"]:
        table()
    elif sys.argv[1:2] == ["run"] and set(sys.argv[2:]) <= set(SAMPLERS):
        run(sys.argv[2:] or list(SAMPLERS))
    else:
        sys.exit(__doc__)
