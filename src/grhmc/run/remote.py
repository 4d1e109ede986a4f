"""Chains in other processes or on other machines: through any executor of PEP 3148, a stretch of a chain at a time.

The chains of a run stay where `sample` was called: their states, their draws, and what they decide together. A stretch
is sent out as a chain's state, plain arrays, and comes back as the state a few seconds later and the draws in between.
So draws are those of threads in every bit, and a worker that is lost costs its last stretch, which is sent out again.
"""

from __future__ import annotations

import contextlib
import time
import traceback
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from grhmc.adaptation.stage import Stage
from grhmc.models.pickling import from_message, to_message
from grhmc.outcomes import Outcome
from grhmc.run.chain import Chain
from grhmc.run.control import Control
from grhmc.run.executors import FIRST_BLOCK_GRADIENTS, POLL_SECONDS, Keeper, KeepsNothing, Report, next_block
from grhmc.run.restored_chain import restored_chain
from grhmc.run.saved_chain import Known, chain_to_arrays, restore_chain, take_draws

if TYPE_CHECKING:
    from grhmc.models.log_density import LogDensity
    from grhmc.settings import RunSettings

STRETCH_SECONDS = 2.0
"""That a worker advances a chain for, before it sends back what it has; longer for states of more than a megabyte."""

_BYTES_OF_DRAWS, _BYTES_OF_STATE = 2**22, 1e6
_MOST_LOSSES = 20
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
        Most draws to send back.
    seconds : float
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


@dataclass(frozen=True)
class Answer:
    """What comes back.

    Attributes
    ----------
    state : dict of str to ndarray, or None
        With the draws made; None: the worker needs the model.
    outcome : Outcome
    error : BaseException or None
        That the log density raised.
    """

    state: dict[str, np.ndarray] | None
    outcome: Outcome = Outcome.RUNNING
    error: BaseException | None = None


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
    chain = restored_chain(
        model,
        stretch.settings,
        stretch.stages,
        index=stretch.index,
        start=stretch.start,
        state=stretch.state,
        rows_at_once=stretch.n_draws,
    )
    chain.pauses_at, chain.most_gradients = stretch.pauses_at, stretch.most_gradients
    known = _known(chain)
    end, n_gradients = time.monotonic() + stretch.seconds, FIRST_BLOCK_GRADIENTS
    while not chain.is_paused and chain.n_draws - chain.n_stored < stretch.n_draws:
        began = time.monotonic()
        if chain.advance(n_gradients) != Outcome.RUNNING or time.monotonic() >= end:
            break
        n_gradients = next_block(n_gradients, time.monotonic() - began)
    error = model.take_exception() if chain.outcome == Outcome.DENSITY_RAISED else None
    return Answer(chain_to_arrays(chain, known=known, must_be_whole=False), chain.outcome, _portable(error))


def _known(chain: Chain) -> Known:
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


class Workers:
    """Advances chains on the workers of an executor.

    Parameters
    ----------
    make_executor : callable
        Gives the executor; called again where its workers were lost and it takes no more work.
    model : LogDensity
        That can be pickled.
    keeper : Keeper, optional
    control : Control, optional
    seconds : float
        Of a stretch.
    is_ours : bool
        Whether to shut the executor down at the end.
    """

    def __init__(
        self,
        make_executor: Callable[[], Executor],
        model: LogDensity,
        keeper: Keeper | None = None,
        control: Control | None = None,
        seconds: float = STRETCH_SECONDS,
        is_ours: bool = False,
    ) -> None:
        self._make_executor = make_executor
        self._executor: Executor | None = None
        self._key = uuid.uuid4().hex
        self._model = to_message(model)
        self._has_answered = False
        self._keeper = KeepsNothing() if keeper is None else keeper
        self._control = Control() if control is None else control
        self._seconds = seconds
        self._is_ours = is_ours
        self.n_lost = 0

    def __call__(self, chains: Sequence[Chain], report: Report) -> bool:
        """Go on until none of the chains can."""
        pending: dict[Future[Answer], Chain] = {}
        resting = [chain for chain in chains if self._can_go_on(chain)]
        try:
            while pending or resting:
                if self._control.reason:
                    return False
                if not self._control.is_pausing:
                    for chain in resting:
                        pending[self._send(chain)] = chain
                    resting = []
                if pending:
                    done, _ = wait(pending, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
                else:
                    done = set()
                    time.sleep(POLL_SECONDS)
                for future in done:
                    chain = pending.pop(future)
                    if self._take(chain, future):
                        resting.append(chain)
                    if chain.outcome == Outcome.DENSITY_RAISED:
                        return True
                report()
            return not self._control.reason
        finally:
            for future in pending:
                future.cancel()

    def close(self) -> None:
        """Shut down an executor that was made here."""
        if self._executor is not None and self._is_ours:
            self._executor.shutdown(wait=False, cancel_futures=True)

    @staticmethod
    def _can_go_on(chain: Chain) -> bool:
        return chain.outcome == Outcome.RUNNING and not chain.is_paused

    def _send(self, chain: Chain) -> Future[Answer]:
        n_rows = max(1, _BYTES_OF_DRAWS // (8 * chain.model.dim))
        if chain.rows_at_once is not None:
            n_rows = min(n_rows, chain.rows_at_once - (chain.n_draws - chain.n_stored))
        known = _known(chain)
        known = known._replace(history=max(0, known.history - 1))  # when the next row is due depends on the last one
        state = chain_to_arrays(chain, with_draws=False, known=known)
        size = sum(array.nbytes for array in state.values())
        stretch = Stretch(
            key=self._key,
            model=None if self._has_answered else self._model,
            settings=chain.settings,
            stages=chain.stages,
            index=chain.index,
            start=chain.start,
            state=state,
            pauses_at=chain.pauses_at,
            most_gradients=chain.most_gradients,
            n_draws=max(1, n_rows),
            seconds=self._seconds * max(1.0, size / _BYTES_OF_STATE),
        )
        while True:
            if self._executor is None:
                self._executor = self._make_executor()
            try:
                return self._executor.submit(advance_stretch, stretch)
            except BrokenExecutor as error:
                self._lose(error)

    def _take(self, chain: Chain, future: Future[Answer]) -> bool:
        """Put what a worker has found into the chain; whether it is to be sent out again."""
        try:
            answer = future.result()
        except (BrokenExecutor, CancelledError, ConnectionError, EOFError) as error:
            self._lose(error)
            return True
        except Exception as error:
            if type(error).__name__ not in _LOST_BY_NAME:
                raise
            self._lose(error)
            return True
        if answer.state is None:
            self._has_answered = False  # a new worker: send the model along
            return True
        self._has_answered = True
        with self._control.busy:
            restore_chain(chain, answer.state, with_draws=False)
            take_draws(chain, answer.state)
        chain.outcome = answer.outcome
        chain.is_whole = answer.outcome not in _BROKEN
        chain.error = answer.error
        self._keeper.after_block(chain)
        return self._can_go_on(chain)

    def _lose(self, error: BaseException) -> None:
        """A worker is gone: have another executor, unless that has happened too often."""
        self.n_lost += 1
        if self.n_lost > _MOST_LOSSES:
            raise RuntimeError(
                f"workers were lost {self.n_lost} times ({error!r}); are they killed for want of memory? The draws "
                "until then are in this error's partial_result"
            ) from error
        if isinstance(error, BrokenExecutor):
            self._executor = None
            self._has_answered = False


_LOST_BY_NAME = ("KilledWorker", "FutureCancelledError", "WorkerCrashedError", "RayActorError")
# Of Dask and Ray, which say by these that a worker is gone.
_BROKEN = (Outcome.DENSITY_RAISED, Outcome.STEP_BUDGET_USED, Outcome.STUCK)
