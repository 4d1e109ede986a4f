"""Map bias against cost: every integrator over tolerances, on targets whose answer is known.

python benchmarks/accuracy/accuracy.py                                  # what is missing in results.csv
python benchmarks/accuracy/accuracy.py --targets F2 --configurations splitting:0.05 --budget 60 --again

A cell is a configuration (integrator:tolerance) on a target: independent runs of four chains, each with a cold start
and a tuning of its own, until the standard errors are small enough or the budget of processor time is spent. Errors
come from the spread of chains, so they hold however the draws depend on each other.
"""

from __future__ import annotations

import argparse
import csv
import fcntl
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "peers"))

from known import Known, known_answer  # noqa: E402
from race import version_of  # noqa: E402
from samplers import SAMPLERS  # noqa: E402
from statistics_of_draws import judge_parameters  # noqa: E402
from targets import TARGETS, Target, make_target  # noqa: E402

import grhmc  # noqa: E402

RESULTS = HERE / "results.csv"
CHAINS, TUNE, DRAWS = 4, 1000, 5000
MEAN_STANDARD_ERROR, SD_STANDARD_ERROR = 0.003, 0.002
LARGEST_STANDARD_ERROR = 0.02  # a parameter whose error is known no better is left out
LARGE_TARGETS = ("N1000",)
CONFIGURATIONS = (
    *(f"splitting:{tolerance}" for tolerance in (0.05, 0.1, 0.2, 0.025, 0.0125)),
    *(f"rkn43:{tolerance}" for tolerance in (0.015, 0.05, 0.005)),
    *(f"rkn64:{tolerance}" for tolerance in (0.001, 0.02, 0.005)),
)
FIELDS = (
    "target",
    "scale",
    "configuration",
    "version",
    "n_chains",
    "gradients_per_time",
    "worst_ess",
    *(f"{name}{part}" for name in ("mean", "sd", "q05", "q95") for part in ("_error", "_standard_error", "_of")),
    "average_sd_error",
    "average_sd_standard_error",
    "seconds",
)


@dataclass
class Sums:
    """Averages over each chain, shape (n_chains, n_parameters)."""

    deviation: np.ndarray
    square: np.ndarray
    below: np.ndarray
    above: np.ndarray

    @staticmethod
    def of(values: np.ndarray, known: Known) -> Sums:
        """From draws of shape (chains, n, n_parameters)."""
        deviation = (values - known.mean) / known.sd
        return Sums(
            deviation.mean(axis=1),
            (deviation**2).mean(axis=1),
            (values < known.q05).mean(axis=1),
            (values > known.q95).mean(axis=1),
        )

    def __add__(self, other: Sums) -> Sums:
        return Sums(*(np.concatenate(pair) for pair in zip(self.parts(), other.parts(), strict=True)))

    def parts(self) -> tuple[np.ndarray, ...]:
        """The four arrays."""
        return self.deviation, self.square, self.below, self.above

    def errors(self, known: Known) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Signed error and standard error of each parameter, the truth's own included.

        Of the mean, in sds; of the sd, relative; of the shares of draws below the true 5 % and above the true 95 %
        quantile, as shares.
        """
        means = [part.mean(axis=0) for part in self.parts()]
        spread = [part.std(axis=0, ddof=1) / np.sqrt(len(part)) for part in self.parts()]
        sd = np.sqrt(means[1] - means[0] ** 2)
        return {
            "mean": (means[0], np.hypot(spread[0], known.mean_error)),
            "sd": (sd - 1, np.hypot(spread[1] / (2 * sd), known.sd_error)),
            "q05": (means[2] - 0.05, np.hypot(spread[2], known.tail_error)),
            "q95": (means[3] - 0.05, np.hypot(spread[3], known.tail_error)),
        }

    def average_sd_error(self) -> tuple[float, float]:
        """The relative error of the sd, averaged over parameters, and its standard error."""
        sd = np.sqrt(self.square.mean(axis=0) - self.deviation.mean(axis=0) ** 2)
        per_chain = np.mean((self.square - self.square.mean(axis=0)) / (2 * sd), axis=1)
        return float(np.mean(sd - 1)), float(per_chain.std(ddof=1) / np.sqrt(len(per_chain)))

    @property
    def is_precise(self) -> bool:
        """Whether more runs would tell little."""
        spread = [part.std(axis=0, ddof=1) / np.sqrt(len(part)) for part in self.parts()[:2]]
        return bool(np.max(spread[0]) < MEAN_STANDARD_ERROR and np.max(spread[1]) / 2 < SD_STANDARD_ERROR)


def run(target: Target, arguments: dict[str, object], seed: int) -> tuple[np.ndarray, int, float]:
    """Draws of the parameters, gradients and process time of the sampling of one run."""
    result = grhmc.sample(
        target.model,
        chains=CHAINS,
        cores=1,
        seed=seed,
        tune=TUNE,
        draws=DRAWS,
        progress_bar=False,
        check_gradient=False,
        **arguments,  # pyright: ignore[reportArgumentType]
    )
    statistics = result["sample_stats"]
    times = statistics["process_time"].to_numpy()
    gradients = statistics["n_gradients"].to_numpy()[:, 1:].sum()
    draws = result["unconstrained_posterior"]["position"].to_numpy()
    return target.select(draws), int(gradients), float((times[:, -1] - times[:, 0]).sum())


def measure(target: Target, scale: str, configuration: str, budget: float) -> dict[str, str]:
    """One line of the results."""
    integrator, _, tolerance = configuration.partition(":")
    process = grhmc.Continuous(integrator, float(tolerance) if tolerance else None)  # pyright: ignore[reportArgumentType]
    arguments: dict[str, object] = {"scale": scale, "process": process}
    known = known_answer(target)
    sums: Sums | None = None
    gradients, process_time, sizes = 0, 0.0, []
    began = time.process_time()
    for seed in range(1, 1000):
        values, n, elapsed = run(target, arguments, 1000 + seed)
        gradients, process_time = gradients + n, process_time + elapsed
        sums = Sums.of(values, known) if sums is None else sums + Sums.of(values, known)
        if len(sizes) < 2:
            judged = judge_parameters(target, values)
            sizes.append(1000 * min(judged.ess_bulk, judged.ess_tail, judged.ess_q2) / n)
        if seed >= 4 and (sums.is_precise or time.process_time() - began > budget):
            break
    assert sums is not None
    row = {
        "target": target.name,
        "scale": scale,
        "configuration": configuration,
        "version": version_of(SAMPLERS["grhmc_default"]),
        "n_chains": str(len(sums.deviation)),
        "gradients_per_time": f"{gradients / process_time:.3f}",
        "worst_ess": f"{np.mean(sizes):.3g}",
        "seconds": f"{time.process_time() - began:.1f}",
    }
    average = sums.average_sd_error()
    row["average_sd_error"], row["average_sd_standard_error"] = f"{average[0]:.5f}", f"{average[1]:.5f}"
    for name, (error, standard_error) in sums.errors(known).items():
        is_known = standard_error < LARGEST_STANDARD_ERROR
        if np.any(is_known):
            j = int(np.argmax(np.where(is_known, np.abs(error), -1.0)))
            row[f"{name}_error"], row[f"{name}_standard_error"] = f"{error[j]:.5f}", f"{standard_error[j]:.5f}"
            row[f"{name}_of"] = target.parameters[j]
    return row


def read() -> list[dict[str, str]]:
    """The finished cells."""
    if not RESULTS.is_file():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def cell_of(row: dict[str, str]) -> tuple[str, str, str]:
    """What a line is about."""
    return row["target"], row["scale"], row["configuration"]


def store(row: dict[str, str]) -> None:
    """Put a line in its place."""
    order = {name: i for i, name in enumerate(TARGETS)}
    with RESULTS.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        rows = [*(other for other in read() if cell_of(other) != cell_of(row)), row]
        with RESULTS.open("w", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(sorted(rows, key=lambda row: (order[row["target"]], row["scale"], row["configuration"])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [name for name in TARGETS if name not in LARGE_TARGETS]
    parser.add_argument("--targets", nargs="+", default=names, choices=list(TARGETS), metavar="NAME")
    parser.add_argument("--configurations", nargs="+", default=list(CONFIGURATIONS), metavar="INTEGRATOR:TOLERANCE")
    parser.add_argument("--scale", default="isg")
    parser.add_argument("--budget", type=float, default=20.0, help="processor seconds per cell")
    parser.add_argument("--again", action="store_true", help="run finished cells again")
    arguments = parser.parse_args()
    for configuration in arguments.configurations:
        for name in arguments.targets:
            if (name, arguments.scale, configuration) in map(cell_of, read()) and not arguments.again:
                continue
            row = measure(make_target(name), arguments.scale, configuration, arguments.budget)
            store(row)
            errors = ", ".join(
                f"{k} {row.get(f'{k}_error', '?')} ± {row.get(f'{k}_standard_error', '?')} ({row.get(f'{k}_of', '?')})"
                for k in ("mean", "sd", "q05", "q95")
            )
            print(
                f"{name:>20} {configuration:>16} {row['gradients_per_time']} per time, ESS {row['worst_ess']}: {errors}"
                f"; {row['n_chains']} chains, {row['seconds']} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
