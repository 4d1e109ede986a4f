"""Run the race: every sampler on every target with three seeds; finished cells are kept and not run again.

    python benchmarks/peers/race.py                                   # all that is missing
    python benchmarks/peers/race.py --targets correlated              # the simulated ones
    python benchmarks/peers/race.py --targets N10 F2 --samplers nutpie grhmc_default --seeds 1
    python benchmarks/peers/race.py --again --samplers grhmc_default  # after a change of ours

A cell is a line of `results/peers.csv` or `results/grhmc.csv`. `tables.py` turns them into tables and figures.
"""

from __future__ import annotations

import argparse
import csv
import fcntl
import subprocess
import sys
import time
import traceback
from pathlib import Path

import numpy as np
from samplers import OURS, PEERS, SAMPLERS, Run, Sampler
from statistics_of_draws import Judgement, judge, judge_parameters
from targets import CORRELATED, REPOSITORY, TARGETS, Target, make_target
from until import Until, gradients_until_enough

RESULTS = Path(__file__).parent / "results"
SEEDS = (1, 2, 3)
FIELDS = (
    "target",
    "sampler",
    "seed",
    "version",
    "warmup_gradients",
    "sampling_gradients",
    "seconds",
    "n_divergent",
    *Judgement._fields,
    *Until._fields,
    "remark",
)


def results_file(sampler: Sampler) -> Path:
    """Peers' figures are made once, ours again after every change."""
    return RESULTS / ("peers.csv" if sampler in PEERS else "grhmc.csv")


def read(path: Path) -> list[dict[str, str]]:
    """The cells of a file; none if it is not there."""
    if not path.is_file():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, rows: list[dict[str, str]]) -> None:
    """Replace a file, in the order of targets, samplers and seeds."""
    orders = [{name: i for i, name in enumerate(names)} for names in (TARGETS, SAMPLERS)]

    def key(row: dict[str, str]) -> tuple[int, int, int]:
        return (orders[0].get(row["target"], 999), orders[1].get(row["sampler"], 999), int(row["seed"]))

    path.parent.mkdir(exist_ok=True)
    temporary = path.with_suffix(".tmp")
    with temporary.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows, key=key))
    temporary.replace(path)


def cell_of(row: dict[str, str]) -> tuple[str, str, str]:
    """What a line is about."""
    return row["target"], row["sampler"], row["seed"]


def store(path: Path, row: dict[str, str]) -> None:
    """Put one line in its place; several races may run at the same time."""
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        write(path, [*(other for other in read(path) if cell_of(other) != cell_of(row)), row])


def run_cell(target_name: str, sampler: Sampler, seed: int) -> dict[str, str]:
    """One line of the results; a sampler that fails gets a line that says so."""
    row = {"target": target_name, "sampler": sampler.name, "seed": str(seed), "version": version_of(sampler)}
    target = make_target(target_name)
    try:
        run = sampler.run(target, seed)
        judgement = judge_parameters(target, run.values) if run.draws is None else judge(target, run.draws)
    except Exception as error:  # a losing cell stays in the table
        traceback.print_exc()
        return {**row, "remark": f"{type(error).__name__}: {error}"[:200].replace("\n", " ")}
    row |= {name: str(getattr(run, name)) for name in ("warmup_gradients", "sampling_gradients", "n_divergent")}
    row["seconds"] = f"{run.seconds:.3f}"
    row |= {k: v if isinstance(v, str) else f"{v:.5g}" for k, v in judgement._asdict().items()}
    return row | until_enough(target, sampler, seed, run)


def until_enough(target: Target, sampler: Sampler, seed: int, run: Run) -> dict[str, str]:
    """The columns of `until.Until`; a longer run that fails leaves the rest of the line as it is."""
    try:
        return {k: str(v) for k, v in gradients_until_enough(sampler, target, seed, run)._asdict().items()}
    except Exception:
        traceback.print_exc()
        return {"to_400_by": "failed"}


def is_finished(row: dict[str, str]) -> bool:
    """Whether a line has all columns: those made before there was `until.py` are made again."""
    return bool(row["remark"] or row.get("to_400_by"))


def version_of(sampler: Sampler) -> str:
    """A peer's release; of ours, the last commit that changed the sources."""
    if sampler not in OURS:
        return sampler.version
    sources = str(REPOSITORY / "src")

    def git(*command: str) -> str:
        done = subprocess.run(["git", "-C", sources, *command], capture_output=True, text=True, check=False)
        return done.stdout.strip()

    commit = git("log", "-1", "--format=%h", "--", sources) or sampler.version
    return f"{commit}-dirty" if git("status", "--porcelain", "--", sources) else commit


def describe(row: dict[str, str], wall_seconds: float) -> str:
    """One line for the screen."""
    head = f"{row['target']:>22} {row['sampler']:>24} {row['seed']}"
    if row.get("remark"):
        return f"{head}  {row['remark']}"
    per_thousand = 1000 / (int(row["sampling_gradients"]))
    worst = "/".join(f"{float(row[f'ess_{name}']) * per_thousand:.3g}" for name in ("bulk", "tail", "q2"))
    gradients = f"{row['warmup_gradients']}+{row['sampling_gradients']}"
    errors = f"mean {row['mean_error']} sd (z {row['mean_z']}), sd {row['sd_error']} (z {row['sd_z']})"
    gradients += f"  {int(row.get('gradients_to_400') or 0) / 1000:.1f}k to 400 by {row['to_400_by']}"
    return f"{head}  {worst:>18}  {gradients:>16}  {row['seconds']} s ({wall_seconds:.1f})  {errors}"


def warm_up_compiler(sampler: Sampler) -> None:
    """Nothing is timed before it is compiled."""
    if sampler in OURS or sampler.is_native:
        sampler.run(make_target("G1"), 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", nargs="+", default=list(TARGETS), choices=[*TARGETS, "correlated"], metavar="NAME")
    parser.add_argument("--samplers", nargs="+", default=list(SAMPLERS), choices=list(SAMPLERS), metavar="NAME")
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--again", action="store_true", help="run finished cells again")
    arguments = parser.parse_args()
    if arguments.targets == ["correlated"]:
        arguments.targets = list(CORRELATED)
    np.seterr(all="ignore")
    for name in arguments.samplers:
        sampler = SAMPLERS[name]
        path = results_file(sampler)
        is_warm = False
        for target in arguments.targets:
            for seed in arguments.seeds:
                finished = {cell_of(row) for row in read(path) if is_finished(row)}
                if (target, name, str(seed)) in finished and not arguments.again:
                    continue
                if not is_warm:
                    warm_up_compiler(sampler)
                    is_warm = True
                began = time.perf_counter()
                row = run_cell(target, sampler, seed)
                store(path, row)
                sys.stdout.write(describe(row, time.perf_counter() - began) + "\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
