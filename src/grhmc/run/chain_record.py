"""What a chain hands to the results and to the progress display."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grhmc.outcomes import Outcome
from grhmc.process.state import STATISTICS

_INTEGER_STATISTICS = ("n_gradients", "n_steps", "n_rejected", "n_events")
_OF_THE_DISCRETE_PROCESS = "acceptance_rate"


@dataclass
class ChainRecord:
    """What one chain hands to the results. Arrays have one row per draw, interval or row of history."""

    chain: int
    draws: np.ndarray
    statistics: dict[str, np.ndarray]
    warmup_draws: np.ndarray
    warmup_statistics: dict[str, np.ndarray]
    time_average: dict[str, np.ndarray]
    tuning: dict[str, np.ndarray]
    warmup_seconds: float
    sampling_seconds: float
    outcome: Outcome


@dataclass
class ChainCounts:
    """Totals of a chain since it began, for progress lines and diagnostics."""

    n_gradients: int
    n_steps: int
    n_rejected: int
    n_refused: int
    n_events: int
    n_bounces: int
    n_floored: int
    n_diverging: int


def named_statistics(rows: np.ndarray, is_discrete: bool) -> dict[str, np.ndarray]:
    """Per-draw statistics by name, from rows of `Records.statistics`."""
    named = {}
    for column, name in enumerate(STATISTICS):
        values = rows[:, column]
        if name in _INTEGER_STATISTICS:
            values = values.astype(np.int64)
        elif name == "diverging":
            values = values != 0.0
        if is_discrete or name != _OF_THE_DISCRETE_PROCESS:
            named[name] = values
    return named
