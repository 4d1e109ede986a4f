"""How wrong the stated error of an effective sample size is: replicated runs of the paper's targets.

    python benchmarks/ess_errors/ess_errors.py

A report takes the error of an ESS from its spread over a run's ten trajectories. Here twelve runs of ten are made of
each target and method, with the published S and the event rate that belongs to it, over a tenth of its length.
The SD over runs of log ESS is what the error is; the mean of what runs state is what they take it for. No published ESS
is used. Writes `src/grhmc/data/paper_ess_errors.csv`, which the pooled tests of ESS read.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

from grhmc import Continuous, sample
from grhmc.comparison.effective_size import ess_per_trajectory, monitor_ess
from grhmc.comparison.reading import unconstrained_draws
from grhmc.paper.cells import METHODS, TRAJECTORIES
from grhmc.paper.published import published_rows
from grhmc.paper.targets import TARGETS

OUTPUT = Path(__file__).parents[2] / "src" / "grhmc" / "data" / "paper_ess_errors.csv"
RUNS, DRAWS, DROPPED = 12, 5000, 100
EVENT_RATES = {2: 0.351, 10: 0.261}
"""Of normals under the rule as run, by dimension (docs/paper.md)."""


def replicated_runs(target: str, method: str) -> np.ndarray:
    """Draws of shape (runs, 10, draws, 2): the first and the last coordinate."""
    made = TARGETS[target]
    coordinates = ("max", "min") if made.reports_extremes else ("1", "2")
    scale = np.full(made.dim, np.mean([published_rows()[target, method, key].s_mean for key in coordinates]))
    if made.dim == 2:
        scale = np.array([published_rows()[target, method, key].s_mean for key in coordinates])
    chains = RUNS * TRAJECTORIES
    result = sample(
        made.make(),
        scale=scale,
        draws=DRAWS + DROPPED,
        tune=0,
        chains=chains,
        cores=1,
        seed=77,
        init=0.5 * np.random.default_rng(78).standard_normal((chains, made.dim)),
        process=Continuous("rkn64", 1e-4, event_rate=EVENT_RATES[made.dim], sample_interval=2.0, warmup="paper"),
        progress_bar=False,
        diagnose=False,
    )
    draws = unconstrained_draws(result)[:, DROPPED:, [0, -1]]
    return draws.reshape(RUNS, TRAJECTORIES, *draws.shape[1:])


def main() -> None:
    rows = []
    for target in (one for one in TARGETS.values() if one.dim in EVENT_RATES):
        for method in METHODS:
            runs = replicated_runs(target.name, method)
            ess = np.array([monitor_ess(run) for run in runs])
            stated = np.array([ess_per_trajectory(run).std(axis=0, ddof=1) * np.sqrt(TRAJECTORIES) for run in runs])
            for j in range(2):
                rows.append(
                    {
                        "target": target.name,
                        "method": method,
                        "coordinate": j + 1,
                        "runs": RUNS,
                        "stated": f"{np.sqrt(np.mean((stated[:, j] / ess[:, j]) ** 2)):.4f}",
                        "actual": f"{np.log(ess[:, j]).std(ddof=1):.4f}",
                    }
                )
                sys.stdout.write(f"{rows[-1]}\n")
                sys.stdout.flush()
    with OUTPUT.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
