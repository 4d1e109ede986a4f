"""Samplers on the trend inflation model: what effective draws cost, and whether all find the same posterior.

    python benchmarks/trend_inflation/compare.py run grhmc_default nutpie stan_nuts --seeds 1 2 3
    python benchmarks/trend_inflation/compare.py tables

Samplers, starts and counts of gradients are those of the race (`benchmarks/peers`). A run's moments go to `runs/`, its
costs to `results.csv`.
"""

from __future__ import annotations

import argparse
import csv
import sys
from itertools import combinations
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "peers"))

from samplers import SAMPLERS  # noqa: E402
from statistics_of_draws import judge, judge_parameters  # noqa: E402
from targets import make_target  # noqa: E402

RESULTS, RUNS = HERE / "results.csv", HERE / "runs"
FIELDS = (
    "sampler",
    "seed",
    "draws",
    "warmup_gradients",
    "sampling_gradients",
    "seconds",
    "n_divergent",
    "ess_bulk",
    "ess_tail",
    "ess_q2",
    "r_hat",
)


def run(name: str, seed: int, draws: int) -> None:
    """One run: a line of the results, and means, errors and quantiles of all parameters."""
    from arviz_stats.base import array_stats

    target = make_target("SW")
    done = SAMPLERS[name].run(target, seed, draws=draws)
    values = done.values if done.draws is None else target.select(done.draws)
    judgement = judge(target, done.draws) if done.values is None else judge_parameters(target, done.values)
    columns = np.moveaxis(values, -1, 0)
    ess = np.array([array_stats.ess(column, method="mean") for column in columns])
    flat = values.reshape(-1, values.shape[-1])
    RUNS.mkdir(exist_ok=True)
    np.savez_compressed(
        RUNS / f"{name}-{seed}.npz",
        mean=flat.mean(axis=0),
        sd=flat.std(axis=0, ddof=1),
        error=flat.std(axis=0, ddof=1) / np.sqrt(ess),
        quantiles=np.quantile(flat, [0.05, 0.5, 0.95], axis=0),
    )
    row = {
        "sampler": name,
        "seed": seed,
        "draws": draws,
        "warmup_gradients": done.warmup_gradients,
        "sampling_gradients": done.sampling_gradients,
        "seconds": f"{done.seconds:.1f}",
        "n_divergent": done.n_divergent,
        "ess_bulk": f"{judgement.ess_bulk:.1f}",
        "ess_tail": f"{judgement.ess_tail:.1f}",
        "ess_q2": f"{judgement.ess_q2:.1f}",
        "r_hat": f"{max(array_stats.rhat(column) for column in columns):.4f}",
    }
    rows = [other for other in read() if (other["sampler"], other["seed"]) != (name, str(seed))]
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows([*rows, row])
    print(row, flush=True)


def read() -> list[dict[str, str]]:
    """The lines of the results."""
    if not RESULTS.is_file():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def pooled(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, its standard error and SD of all parameters, over the seeds of a sampler."""
    runs = [dict(np.load(path)) for path in sorted(RUNS.glob(f"{name}-[0-9]*.npz"))]
    mean = np.mean([one["mean"] for one in runs], axis=0)
    error = np.sqrt(np.sum([one["error"] ** 2 for one in runs], axis=0)) / len(runs)
    return mean, error, np.mean([one["sd"] for one in runs], axis=0)


def tables() -> None:
    """Costs by sampler, medians over seeds; then every pair's differences of means in standard errors."""
    names = list(dict.fromkeys(row["sampler"] for row in read()))
    for name in names:
        rows = [row for row in read() if row["sampler"] == name]
        gradients = [int(row["warmup_gradients"]) + int(row["sampling_gradients"]) for row in rows]
        per_thousand = [
            1000 * min(float(row[key]) for key in ("ess_bulk", "ess_tail", "ess_q2")) / n
            for row, n in zip(rows, gradients, strict=True)
        ]
        print(
            f"{name:>22} {len(rows)} seeds, {np.median(gradients):.0f} gradients, worst ESS per 1000 "
            f"{np.median(per_thousand):.3g} ({min(per_thousand):.3g} to {max(per_thousand):.3g}), "
            f"divergences {sum(int(row['n_divergent']) for row in rows)}, R-hat {max(row['r_hat'] for row in rows)}"
        )
    for first, second in combinations(names, 2):
        (a, a_error, sd), (b, b_error, _) = pooled(first), pooled(second)
        z = (a - b) / np.hypot(a_error, b_error)
        trend = z[-252:]
        print(
            f"{first:>22} and {second}: {z.size} means, mean square z {np.mean(z**2):.2f}, "
            f"largest {np.max(np.abs(z)):.1f}; "
            f"trend: {np.mean(trend**2):.2f}, {np.max(np.abs(trend)):.1f}, "
            f"{np.max(np.abs(a - b)[-252:] / sd[-252:]):.3f} posterior SDs at most"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("samplers", nargs="+", choices=list(SAMPLERS))
    running.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    running.add_argument("--draws", type=int, default=1000)
    commands.add_parser("tables")
    arguments = parser.parse_args()
    np.seterr(all="ignore")
    if arguments.command == "tables":
        tables()
        return
    for name in arguments.samplers:
        for seed in arguments.seeds:
            run(name, seed, arguments.draws)


if __name__ == "__main__":
    main()
