"""What the metric of `grhmc.tune` is worth to PyMC, Stan, NumPyro and BlackJAX, against what each finds itself.

    python benchmarks/scales/other_samplers.py run stan numpyro     # with the packages of this environment
    python benchmarks/scales/other_samplers.py table   # of docs/scales-for-other-samplers.md

Each run is a line of results.csv, and those that are there are not run again. The table has medians over seeds.
"""

from __future__ import annotations

import csv
import importlib.metadata
import itertools
import statistics
import sys
from pathlib import Path
from typing import Any

from models import NAMES
from samplers import CHAINS, DRAWS, METRICS, PACKAGES, SAMPLERS, smallest_ess

RESULTS = Path(__file__).parent / "results.csv"
SEEDS = (1, 2, 3)
COLUMNS = (
    "sampler", "version", "model", "metric", "seed", "tune_gradients", "warmup_gradients", "sampling_gradients",
    "smallest_ess", "n_divergent",
)  # fmt: skip


def read() -> list[dict[str, Any]]:
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def run(names: list[str]) -> None:
    """The longest last: kidscore_interaction with what samplers find themselves."""
    done = {(row["sampler"], row["model"], row["metric"], row["seed"]) for row in read()}
    order = [(model, metric) for model in reversed(NAMES) for metric in METRICS]
    order.sort(key=lambda cell: cell[0] == "kidscore_interaction" and cell[1].startswith("own"))
    for sampler, seed, (model, metric) in itertools.product(names, SEEDS, order):
        if (sampler, model, metric, str(seed)) in done:
            continue
        made = SAMPLERS[sampler](model, metric, seed)
        counts = (made.tune_gradients, made.warmup_gradients, made.sampling_gradients)
        ess = f"{smallest_ess(made.draws):.0f}"
        version = importlib.metadata.version(PACKAGES[sampler])
        row = (sampler, version, model, metric, seed, *counts, ess, made.n_divergent)
        is_new = not RESULTS.exists()
        with RESULTS.open("a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, row] if is_new else [row])
        print(*row, flush=True)


def table() -> None:
    """Medians over the seeds that were run, whose number is in the last column."""
    rows = read()
    header = ("model", "sampler", "metric", "warm-up gradients", "gradients a draw", "smallest ESS")
    print("|", " | ".join([*header, "gradients per ESS", "divergences", "runs"]), "|")
    print("|---" * (len(header) + 3) + "|")
    for model, sampler, metric in itertools.product(NAMES, SAMPLERS, METRICS):
        cell = [row for row in rows if (row["sampler"], row["model"], row["metric"]) == (sampler, model, metric)]
        if not cell:
            continue
        warmup = statistics.median(int(row["tune_gradients"]) + int(row["warmup_gradients"]) for row in cell)
        steps = statistics.median(int(row["sampling_gradients"]) for row in cell) / (CHAINS * DRAWS)
        ess = statistics.median(float(row["smallest_ess"]) for row in cell)
        cost = statistics.median(int(row["sampling_gradients"]) / float(row["smallest_ess"]) for row in cell)
        diverging = statistics.median(int(row["n_divergent"]) for row in cell)
        figures = f"{warmup:,.0f} | {steps:.1f} | {ess:,.0f} | {cost:.1f} | {diverging:.0f} | {len(cell)}"
        print(f"| {model} | {sampler} | {metric} | {figures} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["table"]:
        table()
    elif sys.argv[1:2] == ["run"] and set(sys.argv[2:]) <= set(SAMPLERS):
        run(sys.argv[2:] or list(SAMPLERS))
    else:
        sys.exit(__doc__)
