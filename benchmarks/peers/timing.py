"""Seconds per gradient of the samplers that call a density natively: the price of their own arithmetic.

python benchmarks/peers/timing.py --targets N10 F2

Processor time of a long run less that of a short one with the same seed, over the gradients in between: what a call
costs whatever its length is not in it. Samplers take turns, and the fastest of two rounds counts. With the race's
effective sample sizes per gradient it gives `tables.py` those per second. Writes results/timing.csv.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

from race import RESULTS, warm_up_compiler
from samplers import SAMPLERS, Sampler
from targets import TARGETS, make_target

OUTPUT = RESULTS / "timing.csv"
NAMES = ("stan_nuts", "nutpie", "owalnuts", "walnutpie", "grhmc_default")
FIELDS = ("target", "sampler", "nanoseconds_per_gradient")
ROUNDS = 2
LONG_SECONDS, MOST_DRAWS = 0.4, 20_000


def nanoseconds_per_gradient(sampler: Sampler, name: str) -> float:
    """Of sampling, once."""
    target = make_target(name)
    short = sampler.run(target, 1, 1000)
    draws = int(min(MOST_DRAWS, max(3000, 1000 * LONG_SECONDS / max(short.seconds, 1e-3))))
    long = sampler.run(target, 1, draws)
    gradients = long.sampling_gradients - short.sampling_gradients
    return 1e9 * (long.seconds - short.seconds) / gradients


def read() -> list[dict[str, str]]:
    """What has been measured."""
    if not OUTPUT.is_file():
        return []
    with OUTPUT.open(newline="") as file:
        return list(csv.DictReader(file))


def store(rows: list[dict[str, str]], path: Path = OUTPUT) -> None:
    """Replace the lines of the same target and sampler."""
    new = {(row["target"], row["sampler"]) for row in rows}
    kept = [row for row in read() if (row["target"], row["sampler"]) not in new]
    order = list(TARGETS)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted([*kept, *rows], key=lambda row: (order.index(row["target"]), row["sampler"])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", nargs="+", default=list(TARGETS), choices=list(TARGETS), metavar="NAME")
    parser.add_argument("--samplers", nargs="+", default=list(NAMES), choices=list(SAMPLERS), metavar="NAME")
    arguments = parser.parse_args()
    samplers = [SAMPLERS[name] for name in arguments.samplers]
    for sampler in samplers:
        warm_up_compiler(sampler)
    for target in arguments.targets:
        rounds = [[nanoseconds_per_gradient(sampler, target) for sampler in samplers] for _ in range(ROUNDS)]
        best = [min(times) for times in zip(*rounds, strict=True)]
        named = dict(zip(arguments.samplers, best, strict=True))
        store([{"target": target, "sampler": k, "nanoseconds_per_gradient": f"{v:.1f}"} for k, v in named.items()])
        print(target, {k: round(v) for k, v in named.items()}, flush=True)


if __name__ == "__main__":
    main()
