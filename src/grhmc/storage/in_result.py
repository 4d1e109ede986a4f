"""What a result in memory holds of its run: the states of its chains, from which `extend` goes on.

What the other groups hold is left out: draws and their statistics, averages, the history of tuning, and times.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from grhmc.models.log_density import LogDensity
from grhmc.process.statistics import STATISTICS
from grhmc.results.checkpoint import CheckpointError
from grhmc.results.packed_arrays import pack_arrays, unpack_arrays
from grhmc.run.chain import Chain
from grhmc.run.chain_record import HISTORY, named_statistics
from grhmc.run.draw_rows import INTERVALS
from grhmc.run.saved_chain import Known, chain_to_arrays
from grhmc.settings import RunSettings
from grhmc.storage.run_store import POSITION, STATISTICS_GROUP
from grhmc.storage.saved_run import SavedRun, describe_run, read_settings

if TYPE_CHECKING:
    import xarray

    from grhmc.results.record import ChainRecord

CHECKPOINT = "checkpoint"
"""The group."""

_PLACE = "the result"


def add_checkpoint(
    result: xarray.DataTree,
    records: Sequence[ChainRecord],
    chains: Sequence[Chain],
    model: LogDensity,
    settings: RunSettings,
    function_names: Sequence[str],
    kept: tuple[str, ...] | None,
    terms: Sequence[str],
) -> None:
    """Add the states of all chains to a new result, if there is a way on from them."""
    import xarray

    n_draws = min(record.n_draws for record in records)
    if len(records) < len(chains) or n_draws == 0 or not all(chain.is_whole for chain in chains):
        return
    if callable(settings.continuous.event_rate_kind):
        return  # a function, which no file holds
    is_even = len({(record.draws_per_interval, len(record.time_average["duration"])) for record in records}) == 1
    states = []
    for chain in chains:
        cursors = chain.process.cursors[0]
        known = Known(n_draws, int(cursors.interval_index) if is_even else 0, int(cursors.history_index))
        state = chain_to_arrays(chain, known=known)
        del state["seconds"]  # equal runs have equal states
        states.append(pack_arrays(state))
    rows = np.zeros((len(states), max(map(len, states))), dtype=np.uint8)
    for row, state in zip(rows, states, strict=True):
        row[: len(state)] = state
    group = xarray.Dataset({"state": (("chain", "byte"), rows)}, {"chain": [record.chain for record in records]})
    group["state"].attrs["description"] = "state of each chain, from which grhmc.extend goes on, compressed"
    group.attrs = dict(result[POSITION].attrs)
    group.attrs["run"] = json.dumps(describe_run(model, settings, function_names, kept, terms))
    result[CHECKPOINT] = xarray.DataTree(group)


def load_from_result(result: xarray.DataTree) -> SavedRun:
    """Read the run that a result is of.

    Raises
    ------
    ValueError
        If it does not hold the states of its chains.
    CheckpointError
        If they are damaged, or of another format.
    """
    if CHECKPOINT not in result.children:
        raise ValueError(
            f"the result has no group {CHECKPOINT}, with the states of its chains, so that it cannot be extended: it "
            "is of another sampler, was cut, has an event rate of the user's own, or a chain ended with an error, was "
            "interrupted before its first draw, or all of a sudden within a long trajectory. Of a run in a store give "
            "the store"
        )
    group = result[CHECKPOINT]
    try:
        description = json.loads(group.attrs["run"])
        settings = read_settings(description, _PLACE)
        states = [unpack_arrays(row, f"{_PLACE}, chain {k}") for k, row in enumerate(group["state"].to_numpy())]
        points = result[POSITION]["position"].to_numpy()
        values = result[STATISTICS_GROUP]["lp"].to_numpy()
        for index, state in enumerate(states):
            _add_rows(state, result, index, settings)
    except (KeyError, TypeError, IndexError, json.JSONDecodeError) as error:
        raise CheckpointError(f"{_PLACE} has a damaged group {CHECKPOINT}, or lacks others ({error!r})") from error
    return SavedRun(settings, description, points[:, -1].copy(), values[:, -1:].copy(), states)


def _add_rows(state: dict[str, np.ndarray], result: xarray.DataTree, chain: int, settings: RunSettings) -> None:
    """Put rows of a chain's records that other groups hold in front of those in its state."""
    draws = result[POSITION]["position"].to_numpy()[chain]
    statistics = np.zeros((len(draws), len(STATISTICS)))
    for name, column in named_statistics(statistics, settings.is_discrete).items():
        column[:] = result[STATISTICS_GROUP][name].to_numpy()[chain]
    if not settings.is_discrete:
        statistics[:, STATISTICS.index("acceptance_rate")] = 1.0
    tuning = result["tuning"].to_dataset()
    state["seconds"] = np.array([float(tuning[name][chain]) for name in ("warmup_seconds", "sampling_seconds")])
    front = {"draws": draws, "statistics": statistics}
    cursors: Any = state["process.cursors"][0]
    for name, own in HISTORY.items():
        front[own] = tuning[name].to_numpy()[chain, : int(cursors["history_index"])]
    if not len(state[f"records.{INTERVALS[0]}"]):
        averages = result["time_average"].to_dataset()
        for name, own in zip(("position", "position_squared", "functions", "duration"), INTERVALS, strict=True):
            rows = averages[name].to_numpy()[chain] if name in averages else np.zeros((averages.sizes["interval"], 0))
            front[own] = rows[: int(cursors["interval_index"])]
    for name, rows in front.items():
        state[f"records.{name}"] = np.concatenate([rows, state[f"records.{name}"]])
