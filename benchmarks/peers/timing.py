"""Seconds per gradient of the samplers that call a density natively: the price of their own arithmetic.

python benchmarks/peers/timing.py --targets N10 F2

Processor time of a long run less that of a short one with the same seed, over the gradients in between: what a call
costs whatever its length is not in it. Samplers take turns, and the fastest of two runs counts. With the race's
effective sample sizes per gradient it gives `tables.py` those per second, and with the gradients to an effective size
of 400 the milliseconds. Writes results/timing.csv.
"""

from __future__ import annotations

import argparse
import csv
import math
from pathlib import Path

from race import RESULTS, warm_up_compiler
from samplers import SAMPLERS, Sampler
from targets import TARGETS, make_target

OUTPUT = RESULTS / "timing.csv"
NAMES = ("stan_nuts", "stan_dense", "nutpie", "nutpie_low_rank_400", "grhmc_default")
FIELDS = ("target", "sampler", "nanoseconds_per_gradient")
ROUNDS = 2
FIXED_SECONDS = 0.2  # of a short run, whatever is sampled
LONG_SECONDS, MOST_DRAWS, MOST_NUMBERS = 1.0, 1_000_000, 20_000_000


class Clock:
    """One sampler on one target: the fastest short and the fastest long run so far."""

    def __init__(self, sampler: Sampler, name: str) -> None:
        self.sampler, self.target = sampler, make_target(name)
        self.seconds = [math.inf, math.inf]
        self.gradients = [0, 0]
        self.draws = [1000, 0]

    def run(self) -> None:
        """One of each."""
        for i in range(2):
            self.draws[i] = self.draws[i] or self.long_enough()
            run = self.sampler.run(self.target, 1, self.draws[i])
            self.seconds[i] = min(self.seconds[i], run.seconds)
            self.gradients[i] = run.sampling_gradients

    def long_enough(self) -> int:
        """Draws of a long run: more where a short one took no time, within memory."""
        fitting = MOST_NUMBERS // (4 * self.target.dim)
        of_sampling = max(self.seconds[0] - FIXED_SECONDS, 0.01)
        return int(max(3000, min(fitting, MOST_DRAWS, 1000 * LONG_SECONDS / of_sampling)))

    @property
    def nanoseconds_per_gradient(self) -> float:
        """Of sampling."""
        return 1e9 * (self.seconds[1] - self.seconds[0]) / (self.gradients[1] - self.gradients[0])


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
        clocks = {sampler.name: Clock(sampler, target) for sampler in samplers}
        for _ in range(ROUNDS):
            for clock in clocks.values():
                clock.run()
        named = {name: clock.nanoseconds_per_gradient for name, clock in clocks.items()}
        store([{"target": target, "sampler": k, "nanoseconds_per_gradient": f"{v:.1f}"} for k, v in named.items()])
        print(target, {k: round(v) for k, v in named.items()}, flush=True)


if __name__ == "__main__":
    main()
