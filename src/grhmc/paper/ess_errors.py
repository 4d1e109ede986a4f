"""Whether the error that a run states for an effective sample size can be trusted, by replicated runs.

The stated error comes from the spread over ten trajectories. Where an ESS hangs on rare excursions or jumps, most runs
miss what another one has, and state too small an error. `benchmarks/ess_errors` measures by how much; its results ship
with the package. Neither the published effective sizes nor those of a report go into them.
"""

from __future__ import annotations

import csv
import functools
from importlib import resources

import numpy as np

from grhmc.paper.targets import TARGETS

TRUSTED = 1.5
"""Stated errors of a target are trusted if the actual ones are at most this many times as large."""


@functools.cache
def actual_over_stated() -> dict[str, float]:
    """By target, how many times larger the SD over runs is than what runs state, over methods and coordinates.

    At least 1. The regressions, nearly normal, were not measured: they have 1.
    """
    text = resources.files("grhmc").joinpath("data", "paper_ess_errors.csv").read_text(encoding="utf-8")
    squares: dict[str, list[float]] = {}
    for row in csv.DictReader(text.splitlines()):
        squares.setdefault(row["target"], []).append((float(row["actual"]) / float(row["stated"])) ** 2)
    return {target: max(1.0, float(np.sqrt(np.mean(values)))) for target, values in squares.items()}


def error_factor(target: str) -> float:
    """What a stated error of this target is to be multiplied with."""
    return actual_over_stated().get(target, 1.0)


def is_trusted(target: str) -> bool:
    """Whether a run can tell its own error: by replicated runs, and the authors do not call the ESS unreliable (F2)."""
    return TARGETS[target].ess_tolerance is not None and error_factor(target) <= TRUSTED
