"""Chains in other processes or on other machines: through any executor of PEP 3148, a stretch of a chain at a time.

The chains of a run stay where `sample` was called: their states, their draws, and what they decide together. A stretch
is sent out as a chain's state, plain arrays, and comes back as the state a few seconds later and the draws in between.
So draws are those of threads in every bit, and a worker that is lost costs its last stretch, which is sent out again.
"""

from __future__ import annotations

import time
import uuid
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from typing import TYPE_CHECKING

from grhmc.models.pickling import to_message
from grhmc.outcomes import Outcome
from grhmc.run.chain import Chain
from grhmc.run.control import Control
from grhmc.run.executors import POLL_SECONDS, Report
from grhmc.run.keeper import Keeper, KeepsNothing
from grhmc.run.saved_chain import chain_to_arrays, restore_chain, take_draws
from grhmc.run.stretch import Answer, Stretch, advance_stretch, known_to_both

if TYPE_CHECKING:
    from grhmc.models.log_density import LogDensity

STRETCH_SECONDS = 2.0
"""That a worker advances a chain for, before it sends back what it has; longer for states of more than a megabyte."""

_BYTES_OF_DRAWS, _BYTES_OF_STATE = 2**22, 1e6
_MOST_LOSSES = 20
_FEWEST_MODELS, _BYTES_OF_MODELS = 64, 2**28
# Chains that are sent out with the model before a worker has answered; the others wait until one has.


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
        self._most_models = max(_FEWEST_MODELS, _BYTES_OF_MODELS // len(self._model))
        self._has_answered = False
        self._lacking: set[int] = set()  # chains that came to a worker without the model
        self._keeper = KeepsNothing() if keeper is None else keeper
        self._writer = self._keeper.lend_writer()
        self._has_warned = False
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
                    n_sent = len(resting) if self._has_answered else max(0, self._most_models - len(pending))
                    for chain in resting[:n_sent]:
                        pending[self._send(chain)] = chain
                    del resting[:n_sent]
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
        """Shut down an executor that was made here; workers that are still busy write no more."""
        self._keeper.take_writer_back()
        if self._executor is not None and self._is_ours:
            self._executor.shutdown(wait=False, cancel_futures=True)

    @staticmethod
    def _can_go_on(chain: Chain) -> bool:
        return chain.outcome == Outcome.RUNNING and not chain.is_paused

    def _send(self, chain: Chain) -> Future[Answer]:
        n_rows = max(1, _BYTES_OF_DRAWS // (8 * chain.model.dim))
        if chain.rows_at_once is not None:
            n_rows = min(n_rows, chain.rows_at_once - (chain.n_draws - chain.n_stored))
        known = known_to_both(chain)
        known = known._replace(history=max(0, known.history - 1))  # when the next row is due depends on the last one
        state = chain_to_arrays(chain, with_draws=False, known=known)
        size = sum(array.nbytes for array in state.values())
        stretch = Stretch(
            key=self._key,
            model=None if self._has_answered and chain.index not in self._lacking else self._model,
            settings=chain.settings,
            stages=chain.stages,
            index=chain.index,
            start=chain.start,
            state=state,
            pauses_at=chain.pauses_at,
            most_gradients=chain.most_gradients,
            n_draws=max(1, n_rows),
            seconds=self._seconds * max(1.0, size / _BYTES_OF_STATE),
            writer=self._writer,
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
        if answer.state is None:  # a worker that has come later
            self._lacking.add(chain.index)
            return True
        self._has_answered = True
        self._lacking.discard(chain.index)
        with self._control.busy:
            if answer.head is not None:
                self._keeper.complete_chunk(chain, answer.head)
                restore_chain(chain, answer.state)
            else:
                restore_chain(chain, answer.state, with_draws=False)
                take_draws(chain, answer.state)
        chain.outcome = answer.outcome
        chain.is_whole = answer.outcome not in _BROKEN
        chain.error = answer.error
        self._keeper.after_block(chain)
        if answer.problem and not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"a worker could not write to the store, whose draws were written from here: {answer.problem}",
                stacklevel=2,
            )
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
