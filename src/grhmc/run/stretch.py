"""A stretch of a chain on a worker: what it is sent, what it does, and what comes back."""

from __future__ import annotations

import contextlib
import time
import traceback
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from grhmc.adaptation.stage import Stage
from grhmc.models.pickling import from_message, to_message
from grhmc.outcomes import Outcome
from grhmc.run.chain import Chain
from grhmc.run.executors import FIRST_BLOCK_GRADIENTS, next_block
from grhmc.run.keeper import ChunkWriter, Rows
from grhmc.run.restored_chain import restored_chain
from grhmc.run.saved_chain import Known, chain_to_arrays
from grhmc.run.whole_chunks import WholeChunks

if TYPE_CHECKING:
    from grhmc.models.log_density import LogDensity
    from grhmc.settings import RunSettings

_MOST_MODELS = 4


@dataclass(frozen=True)
class Stretch:
    """What a worker is sent.

    Attributes
    ----------
    key : str
        Of the model, which workers keep.
    model : bytes or None
        Pickled; None: the worker is thought to have it.
    settings : RunSettings
    stages : list of Stage
    index : int
        Of the chain.
    start : ndarray, shape (dim,)
        Where the chain started.
    state : dict of str to ndarray
        Its state.
    pauses_at, most_gradients : int
        See `Chain`.
    n_draws : int
        Most draws to send back, where the worker cannot write them.
    seconds : float
    writer : ChunkWriter or None
        What the worker writes draws by, if it sees the place.
    """

    key: str
    model: bytes | None
    settings: RunSettings
    stages: list[Stage]
    index: int
    start: np.ndarray
    state: dict[str, np.ndarray]
    pauses_at: int
    most_gradients: int
    n_draws: int
    seconds: float
    writer: ChunkWriter | None = None


@dataclass(frozen=True)
class Answer:
    """What comes back.

    Attributes
    ----------
    state : dict of str to ndarray, or None
        With the draws made, but for those that were written; None: the worker needs the model.
    outcome : Outcome
    error : BaseException or None
        That the log density raised.
    head : Rows or None
        Where the stretch has passed the end of a chunk: draws, perhaps none, that come before those written.
    problem : str
        Why draws could not be written.
    """

    state: dict[str, np.ndarray] | None
    outcome: Outcome = Outcome.RUNNING
    error: BaseException | None = None
    head: Rows | None = None
    problem: str = ""


_models: dict[str, LogDensity] = {}


def advance_stretch(stretch: Stretch) -> Answer:
    """Advance a chain for a while; what a worker does."""
    if stretch.key not in _models:
        if stretch.model is None:
            return Answer(None)
        while len(_models) >= _MOST_MODELS:
            _models.pop(next(iter(_models)))
        _models[stretch.key] = from_message(stretch.model)
    model = _models[stretch.key].for_thread()
    writer = stretch.writer if stretch.writer is not None and stretch.writer.is_in_reach() else None
    chain = restored_chain(
        model,
        stretch.settings,
        stretch.stages,
        index=stretch.index,
        start=stretch.start,
        state=stretch.state,
        rows_at_once=stretch.n_draws if writer is None else writer.n_rows,
    )
    chain.pauses_at, chain.most_gradients = stretch.pauses_at, stretch.most_gradients
    known = known_to_both(chain)
    chunks = None if writer is None else WholeChunks(chain, writer, time.monotonic(), stretch.seconds)
    _advance(chain, stretch, chunks)
    error = model.take_exception() if chain.outcome == Outcome.DENSITY_RAISED else None
    answer = Answer(chain_to_arrays(chain, known=known, must_be_whole=False), chain.outcome, _portable(error))
    return answer if chunks is None else replace(answer, head=chunks.head, problem=chunks.problem)


def _advance(chain: Chain, stretch: Stretch, chunks: WholeChunks | None) -> None:
    """Advance a chain for the time of a stretch; longer, within bounds, where it ends with a chunk of draws then."""
    end, n_gradients = time.monotonic() + stretch.seconds, FIRST_BLOCK_GRADIENTS
    while not chain.is_paused:
        began = time.monotonic()
        outcome = chain.advance(n_gradients)
        now = time.monotonic()
        n_gradients = next_block(n_gradients, now - began)
        if chunks is None:
            goes_on = now < end and chain.n_draws - chain.n_stored < stretch.n_draws
        else:
            is_at_an_end = chunks.take(chain)
            goes_on = now < end or (not is_at_an_end and chunks.is_worth_waiting_for(chain, now))
            goes_on = goes_on and not chunks.problem
        if outcome != Outcome.RUNNING or not goes_on:
            return


def known_to_both(chain: Chain) -> Known:
    """Rows of intervals and history that the other side has as well."""
    cursors = chain.process.cursors[0]
    n_intervals = 0 if chain.stage.is_warmup or chain.settings.joins_intervals else int(cursors.interval_index)
    return Known(0, n_intervals, int(cursors.history_index))


def _portable(error: BaseException | None) -> BaseException | None:
    """The exception, with its traceback as a note, or another one if it cannot travel."""
    if error is None:
        return None
    text = "".join(traceback.format_exception(error))
    with contextlib.suppress(Exception):
        error.add_note(f"Traceback on the worker:\n{text}")
        from_message(to_message(error))
        return error
    return RuntimeError(f"the log density raised an exception that cannot be sent from the worker:\n{text}")
