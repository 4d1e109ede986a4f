"""A chain's whole state as plain arrays, and a chain put back into it."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grhmc.adaptation.tuners.scale_from_moments import MCT
from grhmc.dynamics.coefficients import TABLEAUS
from grhmc.dynamics.density_call import GO_ON
from grhmc.outcomes import Outcome
from grhmc.run.carried_state import CarriedState
from grhmc.run.draw_rows import INTERVALS, make_room
from grhmc.run.plain_arrays import walk_arrays
from grhmc.run.stage_tuners import renew_crossing_time_tuner

if TYPE_CHECKING:
    from grhmc.run.chain_state import ChainState

_CODED = ("outcome", "integrator")
# Saved as integers.

_OF_DRAWS = ("draws", "statistics")

_OF_WARMUP = ("process.draw_sample.positions", "process.draw_sample.gradients")
# Large, and of no use once sampling has begun.

_GOES_ON = (Outcome.INTERRUPTED, Outcome.WAITING)
# Saved as RUNNING: a chain at the end of its stage finds so again.


class Known(NamedTuple):
    """Rows of a chain's records, from the first on, that who is to read its state has already.

    Attributes
    ----------
    draws, intervals, history : int
        Draws of sampling in memory, intervals of time averages, and rows of tuning history.
    """

    draws: int = 0
    intervals: int = 0
    history: int = 0


NOTHING_KNOWN = Known()


def chain_to_arrays(
    chain: ChainState, *, with_draws: bool = True, known: Known = NOTHING_KNOWN, must_be_whole: bool = True
) -> dict[str, np.ndarray]:
    """The chain's whole state, and those rows of its records that were written and are in memory, by name.

    Parameters
    ----------
    chain : Chain
    with_draws : bool
        False leaves out the draws of sampling and their statistics, as if they had been handed over.
    known : Known
        Rows to leave out.
    must_be_whole : bool
        False: to look at only, where the chain cannot go on.

    Raises
    ------
    RuntimeError
        If the chain was stopped within a trajectory, or ended with an error: there is no way on from there.
    """
    if must_be_whole and not chain.is_whole:
        raise RuntimeError(f"chain {chain.index} was stopped within a step ({chain.outcome.name}) and cannot be saved")
    arrays = state_to_arrays(chain)
    for name, rows in _written_rows(chain).items():
        n_known = _n_known(name, known) if with_draws or name not in _OF_DRAWS else len(rows)
        arrays[f"records.{name}"] = rows[n_known:].copy()
    if not with_draws:
        arrays["n_stored"] = np.array(chain.n_draws)
    return arrays


def state_to_arrays(chain: ChainState) -> dict[str, np.ndarray]:
    """The state without the records, which is all that `restore_state` needs where these have only grown."""
    parts = {f"process.{name}": array for name, array in walk_arrays(chain.process)}
    if not chain.stage.is_warmup:
        for name in _OF_WARMUP:
            del parts[name]
    arrays = {name: array.copy() for name, array in parts.items()}
    arrays["process.density.stop"][:] = GO_ON
    arrays["outcome"] = np.array(int(Outcome.RUNNING if chain.outcome in _GOES_ON else chain.outcome))
    arrays["integrator"] = np.array(tuple(TABLEAUS).index(chain.integrator))
    return arrays | {name: np.array(getattr(chain, name)) for name in _carried() if name not in _CODED}


def restore_chain(chain: ChainState, arrays: dict[str, np.ndarray], *, with_draws: bool = True) -> None:
    """Put a chain made with the same model, settings and stages into a saved state; see `Chain.restore`.

    Without draws, those that it has stay, and `take_draws` adds new ones. Rows of records that were left out stay as
    they are.
    """
    n_stored = chain.n_stored
    restore_state(chain, arrays)
    make_room(chain)
    if not with_draws:
        chain.n_stored = n_stored
    if not chain.stage.is_warmup:
        chain.process.cursors.first_row = chain.n_warmup_rows - chain.n_stored
    for name, rows in _written_rows(chain).items():
        if with_draws or name not in _OF_DRAWS:
            n_new = len(arrays.get(f"records.{name}", ()))
            new = _saved(arrays, f"records.{name}", (min(n_new, len(rows)), *rows.shape[1:]))
            rows[len(rows) - n_new :] = new


def restore_state(chain: ChainState, arrays: dict[str, np.ndarray]) -> None:
    """Put everything but a chain's records into a saved state."""
    missing = [name for name in _carried() if name not in arrays]
    if missing:
        raise ValueError(f"the saved state belongs to another run: it has no {', '.join(missing)}")
    chain.use_integrator(tuple(TABLEAUS)[int(arrays["integrator"])])
    for name in _carried():
        value = getattr(chain, name)
        if isinstance(value, np.ndarray):
            value[:] = arrays[name]
        elif name not in _CODED:
            setattr(chain, name, type(value)(arrays[name]))
    if chain.stage_index >= 0 and chain.stage.scale.tuner == MCT:
        renew_crossing_time_tuner(chain.process, chain.stage.scale)
    for name, array in walk_arrays(chain.process):
        if f"process.{name}" in arrays or chain.stage.is_warmup or f"process.{name}" not in _OF_WARMUP:
            array[...] = _saved(arrays, f"process.{name}", array.shape)
    chain.outcome = Outcome(int(arrays["outcome"]))
    chain.is_whole = True


def take_draws(chain: ChainState, arrays: dict[str, np.ndarray]) -> None:
    """Add the draws of a state that another process has led the chain to, after those that are in memory."""
    for name in _OF_DRAWS:
        new = arrays[f"records.{name}"]
        end = chain.n_warmup_rows + chain.n_draws - chain.n_stored
        getattr(chain.records, name)[end - len(new) : end] = new


def _carried() -> list[str]:
    """Names of what a chain carries beside its process and its records."""
    return [field.name for field in fields(CarriedState)]


def _n_known(name: str, known: Known) -> int:
    if name in _OF_DRAWS:
        return known.draws
    if name in INTERVALS:
        return known.intervals
    return known.history if name.startswith("history_") else 0


def _saved(arrays: dict[str, np.ndarray], name: str, shape: tuple[int, ...]) -> np.ndarray:
    """The saved array of that name, if it has this shape."""
    saved = arrays.get(name)
    if saved is None or saved.shape != shape:
        found = "nothing" if saved is None else f"shape {saved.shape}"
        raise ValueError(f"the saved state belongs to another run: {name} should have shape {shape}, found {found}")
    return saved


def _written_rows(chain: ChainState) -> dict[str, np.ndarray]:
    """Views of the rows of a chain's records that are written and in memory, by name."""
    cursors, sampling = chain.process.cursors[0], not chain.stage.is_warmup
    n_draws = chain.n_draws - chain.n_stored
    n_warmup = min(chain.warmup_draws_before if sampling else chain.draws_done, chain.n_warmup_rows)
    n_intervals = int(cursors.interval_index) if sampling else 0
    first, records = chain.n_warmup_rows, chain.records
    rows = {
        "warmup_draws": records.draws[:n_warmup],
        "warmup_statistics": records.statistics[:n_warmup],
        "draws": records.draws[first : first + n_draws],
        "statistics": records.statistics[first : first + n_draws],
    }
    for name, array in walk_arrays(records):
        if name.startswith("history_"):
            rows[name] = array[: int(cursors.history_index)]
        elif name in INTERVALS:
            rows[name] = array[:n_intervals]
    return rows
