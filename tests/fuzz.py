"""Sample densities of known answer with all kinds of settings, and count what is right, warned of, rejected or wrong.

`python tests/fuzz.py` prints the counts beside the last ones; `python tests/fuzz.py --update` stores them, too.
"""

from __future__ import annotations

import argparse
import csv
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from arviz_stats.base import array_stats

import grhmc
from fuzz_densities import DENSITIES, expectations
from grhmc.models.checks.gradient import GradientError
from grhmc.outcomes import InitializationError

LAST_COUNTS = Path(__file__).parent / "data" / "fuzz_counts.csv"

SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "continuous": {"process": "continuous"},
    "Runge-Kutta-Nyström": {"process": grhmc.Continuous(integrator="rkn43")},
    "leapfrog": {"process": grhmc.Discrete(integrator="leapfrog")},
    "fresh momenta, one chain": {"process": grhmc.Discrete(momentum="fresh"), "chains": 1},
    "gradients, two chains": {"scale": "isg", "chains": 2},
    "variances, one chain": {"scale": "vari", "chains": 1},
    "crossing times": {"scale": "mct", "tune": 100},
    "no tuning": {"tune": 0},
    "short": {"tune": 20, "draws": 50, "chains": 2},
    "one draw": {"tune": 100, "draws": 1, "chains": 1},
}

RIGHT, WARNED, SILENT, REJECTED, SHORT = OUTCOMES = ("right", "warned", "silent", "rejected", "short")
"""`silent`: wrong, and nothing said; `rejected`: ended by a documented error; `short`: too few draws to judge."""

DOCUMENTED = (GradientError, InitializationError, grhmc.SamplingError)
LIMIT = 5.0
"""Monte Carlo standard errors beyond which a mean is wrong."""

_FEWEST_DRAWS = 1000


def run(model: grhmc.LogDensity, exact: tuple[float, float, float], setting: Mapping[str, Any], seed: int) -> str:
    """What became of one run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = grhmc.sample(model, seed=seed, progress_bar=False, **setting)
        except DOCUMENTED:
            return REJECTED
    if not grhmc.Report.from_json(result.attrs["diagnosis"]).is_healthy:
        return WARNED
    draws = result["unconstrained_posterior"]["position"].transpose("chain", "draw", ...).to_numpy()[..., 0]
    if draws.shape[1] < _FEWEST_DRAWS:
        return SHORT
    return SILENT if largest_deviation(draws, exact) > LIMIT else RIGHT


def largest_deviation(draws: np.ndarray, exact: tuple[float, float, float]) -> float:
    """Of the means of two bounded functions, in Monte Carlo standard errors."""
    width, *means = exact
    z = draws / width
    deviations = []
    for values, mean in zip((np.tanh(z), z * z / (1.0 + z * z)), means, strict=True):
        error = float(np.asarray(array_stats.mcse(values, chain_axis=0, draw_axis=1, method="mean")))
        deviations.append(abs(float(values.mean()) - mean) / error)
    return max(deviations)


def count(names: Iterable[str]) -> tuple[dict[str, Counter[str]], list[str]]:
    """Outcomes by density, and the exceptions that are no documented ones."""
    counts: dict[str, Counter[str]] = {}
    surprises = []
    for number, name in enumerate(names):
        model, exact = DENSITIES[name].model(), expectations(DENSITIES[name])
        counts[name] = Counter()
        for order, (setting_name, setting) in enumerate(SETTINGS.items()):
            try:
                counts[name][run(model, exact, setting, seed=1000 * number + order)] += 1
            except Exception as error:  # it is what this fuzz looks for
                surprises.append(f"{name}, {setting_name}: {type(error).__name__}: {error}")
    return counts, surprises


def read_counts() -> dict[str, Counter[str]]:
    """The last ones."""
    with LAST_COUNTS.open(newline="") as file:
        return {row["density"]: Counter({name: int(row[name]) for name in OUTCOMES}) for row in csv.DictReader(file)}


def write_counts(counts: Mapping[str, Counter[str]]) -> None:
    with LAST_COUNTS.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["density", *OUTCOMES])
        writer.writerows([name, *(found[outcome] for outcome in OUTCOMES)] for name, found in counts.items())


def total(counts: Mapping[str, Counter[str]]) -> Counter[str]:
    return sum(counts.values(), Counter())


def table(counts: Mapping[str, Counter[str]], last: Mapping[str, Counter[str]]) -> str:
    """Counts beside the last ones."""
    rows = [*counts.items(), ("all", total(counts))]
    last = {**last, "all": total({name: last[name] for name in counts if name in last})}
    lines = [f"{'density':26}" + "".join(f"{outcome:>16}" for outcome in OUTCOMES)]
    for name, found in rows:
        before = last.get(name, Counter())
        lines.append(f"{name:26}" + "".join(f"{f'{found[one]} (was {before[one]})':>16}" for one in OUTCOMES))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="store the counts")
    update = parser.parse_args().update
    counts, surprises = count(DENSITIES)
    sys.stdout.write(table(counts, read_counts() if LAST_COUNTS.exists() else {}) + "\n")
    sys.stdout.write(("\n".join(surprises) or "no undocumented exception") + "\n")
    if update:
        write_counts(counts)


if __name__ == "__main__":
    main()
