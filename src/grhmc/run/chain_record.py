"""What a chain hands to the results and to the progress display."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from grhmc.outcomes import Outcome
from grhmc.process.state import STATISTICS

if TYPE_CHECKING:
    from grhmc.run.chain import Chain

AT_SAMPLING_START = ("n_gradients", "time", "n_bounces", "n_floored")
"""Of the clock: what is kept of the moment when sampling began."""

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


def tuning_record(chain: Chain) -> dict[str, np.ndarray]:
    """What warm-up has found so far, and its history."""
    clock, records, tuner = chain.process.clock[0], chain.records, chain.process.rate_tuner
    sampling = not chain.stage.is_warmup
    n_rows = int(clock.history_index)
    warmup = chain.sampling_start if sampling else [clock[name] for name in AT_SAMPLING_START]
    elapsed = clock.time - (chain.sampling_start[1] if sampling else clock.stage_start_time)
    n_crossings = np.maximum(chain.process.n_crossings, 1)
    return {
        "scale": chain.process.standardization.scale.copy(),
        "agreed": np.array(chain.is_agreed),
        "n_moves": np.array(chain.n_moves),
        "places": np.vstack([chain.places, chain.process.highest]),
        "centre": chain.process.standardization.centre.copy(),
        "event_rate": np.array(clock.event_rate),
        "step_size": np.array(clock.trajectory_step if chain.is_discrete else clock.step_size),
        "time_to_u_turn": np.exp(tuner.log_process_time[0]),
        "n_gradients": np.array(int(warmup[0])),
        "n_event_rate_gradients": np.array(tuner.n_gradients[0]),
        "crossing_time": elapsed / n_crossings,
        "n_bounces": np.array(clock.n_bounces),
        "n_refused": np.array(clock.n_refused),
        "n_floored": np.array(clock.n_floored),
        "n_refused_paths": np.array(clock.n_refused_paths),
        "n_warmup_bounces": np.array(int(warmup[2])),
        "n_warmup_floored": np.array(int(warmup[3])),
        "history_time": records.history_time[:n_rows],
        "history_scale": records.history_scale[:n_rows],
        "history_centre": records.history_centre[:n_rows],
        "history_event_rate": records.history_event_rate[:n_rows],
        "history_n_gradients": records.history_gradients[:n_rows],
    }
