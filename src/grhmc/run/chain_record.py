"""What a chain hands to the results and to the progress display."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from grhmc.adaptation.low_rank import factor_of
from grhmc.adaptation.stage import HISTORY_ROWS_PER_STAGE, Stage
from grhmc.process.state import Process, Records, init_records
from grhmc.process.statistics import STATISTICS
from grhmc.results.record import ChainRecord
from grhmc.run.carried_state import AT_SAMPLING_START

if TYPE_CHECKING:
    from grhmc.run.chain_state import ChainState
    from grhmc.settings import RunSettings


_OF_THE_DISCRETE_PROCESS = "acceptance_rate"

HISTORY = {
    "history_time": "history_time",
    "history_scale": "history_scale",
    "history_centre": "history_centre",
    "history_event_rate": "history_event_rate",
    "history_metric_rank": "history_rank",
    "history_smallest_eigenvalue": "history_smallest_eigenvalue",
    "history_largest_eigenvalue": "history_largest_eigenvalue",
    "history_n_gradients": "history_gradients",
}
"""Variables of the history of tuning, and the fields of `Records` that have them."""


@dataclass
class ChainCounts:
    """Totals of a chain since it began, for progress lines and diagnostics."""

    n_gradients: int
    n_steps: int
    n_rejected: int
    n_non_finite: int
    n_events: int
    n_bounces: int
    n_floored: int
    n_diverging: int


def named_statistics(rows: np.ndarray, is_discrete: bool) -> dict[str, np.ndarray]:
    """Per-draw statistics by name: views of the columns of `Records.statistics`."""
    names = STATISTICS if is_discrete else [name for name in STATISTICS if name != _OF_THE_DISCRETE_PROCESS]
    return {name: rows[:, STATISTICS.index(name)] for name in names}


def present_values(process: Process) -> dict[str, float]:
    """What is kept of the moment when sampling begins, as it is now."""
    path, counters = process.path[0], process.counters[0]
    return {name: float(path.time if name == "time" else counters[name]) for name in AT_SAMPLING_START}


def tuning_record(chain: ChainState) -> dict[str, np.ndarray]:
    """What warm-up has found so far, and its history."""
    path, counters, cursors, records, tuner = (
        chain.process.path[0],
        chain.process.counters[0],
        chain.process.cursors[0],
        chain.records,
        chain.process.rate_tuner,
    )
    sampling = not chain.stage.is_warmup
    n_rows = int(cursors.history_index)
    at_sampling_start = dict(zip(AT_SAMPLING_START, chain.sampling_start, strict=True))
    warmup = at_sampling_start if sampling else present_values(chain.process)
    elapsed = path.time - (at_sampling_start["time"] if sampling else cursors.stage_start_time)
    standardization = chain.process.standardization
    factor = factor_of(standardization)
    n_crossings = np.maximum(chain.process.n_crossings, 1)
    return {
        "scale": standardization.scale.copy(),
        "metric_rank": np.array(factor.rank),
        "metric_eigenvalues": factor.eigenvalues,
        "metric_directions": factor.directions,
        "agreed": np.array(chain.is_agreed),
        "n_moves": np.array(chain.n_moves),
        "places": np.vstack([chain.places, chain.process.highest]),
        "density_noise": np.array(max(chain.noise, 0.0)),
        "centre": standardization.centre.copy(),
        "event_rate": np.array(path.event_rate),
        "step_size": np.array(path.trajectory_step if chain.is_discrete else path.step_size),
        "time_to_u_turn": np.exp(tuner.log_process_time[0]),
        "n_gradients": np.array(int(warmup["n_gradients"])),
        "n_event_rate_gradients": np.array(tuner.n_gradients[0]),
        "crossing_time": elapsed / n_crossings,
        "n_bounces": np.array(counters.n_bounces),
        "n_non_finite": np.array(counters.n_non_finite),
        "n_floored": np.array(counters.n_floored),
        "n_rejected_paths": np.array(counters.n_rejected_paths),
        "n_warmup_bounces": np.array(int(warmup["n_bounces"])),
        "n_warmup_floored": np.array(int(warmup["n_floored"])),
        "n_warmup_non_finite": np.array(int(warmup["n_non_finite"])),
        **{name: getattr(records, own)[:n_rows] for name, own in HISTORY.items()},
    }


def chain_record(chain: ChainState) -> ChainRecord:
    """Everything recorded so far; draws and statistics are views of the chain's own arrays."""
    sampling = not chain.stage.is_warmup
    n_draws = int(chain.process.cursors.draw_index[0]) if sampling else 0
    n_warmup = 0
    if chain.n_warmup_rows:
        n_warmup = chain.warmup_draws_before if sampling else min(chain.draws_done, chain.n_warmup_rows)
    first, n_draws = chain.n_warmup_rows, n_draws - chain.n_stored
    n_intervals = int(chain.process.cursors.interval_index[0]) if sampling else 0
    records, is_discrete = chain.records, chain.is_discrete
    return ChainRecord(
        chain=chain.index,
        draws=records.draws[first : first + n_draws],
        statistics=named_statistics(records.statistics[first : first + n_draws], is_discrete),
        warmup_draws=records.draws[:n_warmup],
        warmup_statistics=named_statistics(records.statistics[:n_warmup], is_discrete),
        time_average={
            "position": records.interval_position[:n_intervals],
            "position_squared": records.interval_squared[:n_intervals],
            "functions": records.interval_functions[:n_intervals],
            "duration": records.interval_duration[:n_intervals],
        },
        tuning=tuning_record(chain),
        warmup_seconds=float(chain.seconds[0]),
        sampling_seconds=float(chain.seconds[1]),
        outcome=chain.outcome,
        n_draws=chain.n_draws,
        draws_per_interval=max(1, int(chain.process.settings.draws_per_interval[0])),
    )


def records_of_run(
    settings: RunSettings,
    stages: list[Stage],
    dim: int,
    n_functions: int,
    n_chains: int,
    rows_at_once: int | None = None,
) -> list[Records]:
    """Room for what each chain of a run writes down, side by side in memory: a result needs no copy of it.

    Where `rows_at_once` says how many draws are handed over at once, chains make room for these when sampling begins.
    """
    n_draws = sum(stage.n_draws for stage in stages if not stage.is_warmup) if rows_at_once is None else 0
    return init_records(
        n_chains,
        dim,
        n_warmup_rows(settings, stages) + n_draws,
        settings.n_intervals,
        n_functions,
        HISTORY_ROWS_PER_STAGE * sum(stage.is_warmup for stage in stages) + 1,
    )


def n_warmup_rows(settings: RunSettings, stages: list[Stage]) -> int:
    """Rows that a chain keeps of its warm-up."""
    return sum(stage.n_draws for stage in stages if stage.is_warmup) if settings.save_warmup else 0
