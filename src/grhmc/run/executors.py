"""Running several chains at once: threads that advance chains in blocks, and stop cleanly on Ctrl-C or an error."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Protocol

from grhmc.outcomes import Outcome
from grhmc.run.chain import Chain
from grhmc.run.control import Control
from grhmc.run.cross_chain import adapt_across_chains
from grhmc.run.keeper import Keeper, KeepsNothing

BLOCK_SECONDS = 0.08
"""Aimed length of a block: short enough for a prompt Ctrl-C, long enough to cost nothing."""

FIRST_BLOCK_GRADIENTS = 200
POLL_SECONDS = 0.1
_FEWEST_GRADIENTS, _MOST_GRADIENTS = 10, 10**9
_TURN_SECONDS = 0.2
# Where there are fewer threads than chains, chains take turns: all have about as many draws when a run is cut short.

Report = Callable[[], None]


class Advance(Protocol):
    """Advances every chain to its end, or to where it waits for the others or pauses; False if it was interrupted."""

    def __call__(self, chains: Sequence[Chain], report: Report) -> bool:
        """Go on until none of the chains can."""
        ...


class Threads:
    """Advances chains in threads of this process.

    Parameters
    ----------
    n_threads : int
    keeper : Keeper
    control : Control
    block_gradients : int, optional
        Fixed size of a block; by default it follows the clock. Draws do not depend on it.
    """

    def __init__(
        self,
        n_threads: int,
        keeper: Keeper | None = None,
        control: Control | None = None,
        block_gradients: int | None = None,
    ) -> None:
        self.n_threads = n_threads
        self.keeper = KeepsNothing() if keeper is None else keeper
        self.control = Control() if control is None else control
        self.block_gradients = block_gradients

    def __call__(self, chains: Sequence[Chain], report: Report) -> bool:
        """Advance every chain to its end, or to where it waits for the others or pauses."""
        turn = _TURN_SECONDS if self.n_threads < len(chains) else math.inf

        def run(chain: Chain) -> Chain | None:
            with self.control.chain_at_work():
                is_at_an_end = self._run_chain(chain, time.monotonic() + turn)
            if chain.outcome == Outcome.DENSITY_RAISED:
                stop_all(chains)
            return None if is_at_an_end else chain

        pool = ThreadPoolExecutor(max_workers=self.n_threads, thread_name_prefix="grhmc")
        pending: set[Future[Chain | None]] = set()
        try:
            pending = {pool.submit(run, chain) for chain in chains}
            while pending:
                done, pending = wait(pending, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
                again = [chain for chain in (future.result() for future in done) if chain is not None]
                pending |= {pool.submit(run, chain) for chain in again}
                report()
                self.control.insist(lambda: stop_all(chains))
            return not self.control.reason
        except BaseException:
            stop_all(chains)
            raise
        finally:
            if pending:
                stop_all(chains)
            pool.shutdown(wait=True, cancel_futures=True)

    def _run_chain(self, chain: Chain, end_of_turn: float) -> bool:
        """Advance one chain, block by block, until its turn is over; True if it ends, waits, pauses or is stopped."""
        n_gradients = self.block_gradients or FIRST_BLOCK_GRADIENTS
        while self.control.rest() and not chain.is_told_to_stop and not chain.is_paused:
            began = time.perf_counter()
            outcome = chain.advance(n_gradients)
            elapsed = time.perf_counter() - began
            self.keeper.after_block(chain)
            if outcome != Outcome.RUNNING:
                return True
            if time.monotonic() > end_of_turn:
                return False
            if self.block_gradients is None:
                n_gradients = next_block(n_gradients, elapsed)
        return True


def run_chains(
    chains: Sequence[Chain],
    advance: Advance,
    report: Report,
    *,
    keeper: Keeper | None = None,
    control: Control | None = None,
    goes_on: Callable[[Sequence[Chain]], bool] = lambda chains: False,
) -> bool:
    """Advance every chain to the end of its programme.

    Parameters
    ----------
    chains : sequence of Chain
    advance : Advance
        Where chains run.
    report : callable
        Called from the calling thread about ten times a second.
    keeper : Keeper, optional
    control : Control, optional
        The same that `advance` has.
    goes_on : callable
        Asked where all chains have made the draws after which they pause: tells them how far to go, or False.

    Returns
    -------
    bool
        False if the user interrupted; the chains keep what they have drawn.

    Raises
    ------
    BaseException
        What the first failing chain's code raised; the other chains are stopped at their next gradient.
    """
    keeper = KeepsNothing() if keeper is None else keeper
    control = Control() if control is None else control
    control.watch_over(chains)
    try:
        while advance(chains, report):
            if any(chain.outcome == Outcome.DENSITY_RAISED for chain in chains):
                return True
            waiting = [chain for chain in chains if chain.outcome == Outcome.WAITING]
            paused = [chain for chain in chains if chain.outcome == Outcome.RUNNING]
            if waiting:
                with control.busy:
                    keeper.before_adaptation(chains)
                    adapt_across_chains(waiting)
            elif not paused:
                return True
            elif not goes_on(chains):
                _end(chains, Outcome.STOPPED)
                return True
        return False
    except KeyboardInterrupt:
        return False
    finally:
        _end(chains, Outcome.STOPPED if control.reason and not control.is_interrupted else Outcome.INTERRUPTED)


def next_block(n_gradients: int, elapsed: float) -> int:
    """Gradients of a block that should take `BLOCK_SECONDS`, after one of `n_gradients` took `elapsed` seconds."""
    growth = min(max(BLOCK_SECONDS / max(elapsed, 1e-6), 0.25), 4.0)
    return min(max(_FEWEST_GRADIENTS, int(n_gradients * growth)), _MOST_GRADIENTS)


def stop_all(chains: Sequence[Chain]) -> None:
    """Have all chains stop at their next gradient."""
    for chain in chains:
        chain.stop()


def _end(chains: Sequence[Chain], outcome: Outcome) -> None:
    for chain in chains:
        if chain.outcome in (Outcome.RUNNING, Outcome.WAITING):
            chain.outcome = outcome
