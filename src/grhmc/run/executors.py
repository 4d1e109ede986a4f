"""Running several chains at once: threads that advance chains in blocks, and stop cleanly on Ctrl-C or an error."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from grhmc.outcomes import Outcome
from grhmc.run.chain import Chain
from grhmc.run.cross_chain import adapt_across_chains

BLOCK_SECONDS = 0.08
"""Aimed length of a block: short enough for a prompt Ctrl-C, long enough to cost nothing."""

_FIRST_BLOCK_GRADIENTS = 200
_POLL_SECONDS = 0.1

Report = Callable[[], None]


def run_chains(
    chains: Sequence[Chain],
    n_threads: int,
    report: Report,
    block_gradients: int | None = None,
    is_interrupted: Callable[[], bool] = lambda: False,
) -> bool:
    """Advance every chain to the end of its programme.

    Parameters
    ----------
    chains : sequence of Chain
    n_threads : int
    report : callable
        Called from the calling thread about ten times a second.
    block_gradients : int, optional
        Fixed size of a block; by default it follows the clock. Draws do not depend on it.
    is_interrupted : callable, optional
        Asked as often as `report` is called: whether the user wants the run to stop.

    Returns
    -------
    bool
        False if the user interrupted; the chains keep what they have drawn.

    Raises
    ------
    BaseException
        What the first failing chain's code raised; the other chains are stopped at their next gradient.
    """
    try:
        while True:
            if not _run_until_they_wait(chains, n_threads, report, block_gradients, is_interrupted):
                return False
            waiting = [chain for chain in chains if chain.outcome == Outcome.WAITING]
            if not waiting or any(chain.outcome == Outcome.DENSITY_RAISED for chain in chains):
                return True
            adapt_across_chains(waiting)
    except KeyboardInterrupt:
        return False
    finally:
        for chain in chains:
            if chain.outcome in (Outcome.RUNNING, Outcome.WAITING):
                chain.outcome = Outcome.INTERRUPTED


def _run_until_they_wait(
    chains: Sequence[Chain],
    n_threads: int,
    report: Report,
    block_gradients: int | None,
    is_interrupted: Callable[[], bool],
) -> bool:
    """Advance every chain to its end, or to where it waits for the others; False if interrupted."""

    def run(chain: Chain) -> None:
        _run_chain(chain, block_gradients)
        if chain.outcome == Outcome.DENSITY_RAISED:
            _stop(chains)

    pool = ThreadPoolExecutor(max_workers=n_threads, thread_name_prefix="grhmc")
    pending: set[Future[None]] = set()
    try:
        pending = {pool.submit(run, chain) for chain in chains}
        while pending:
            done, pending = wait(pending, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
            for future in done:
                future.result()
            report()
            if is_interrupted():
                return False
        return True
    except BaseException:
        _stop(chains)
        raise
    finally:
        if pending:
            _stop(chains)
        pool.shutdown(wait=True, cancel_futures=True)


def _stop(chains: Sequence[Chain]) -> None:
    for chain in chains:
        chain.stop()


def _run_chain(chain: Chain, block_gradients: int | None) -> None:
    """Advance one chain, block by block, until it ends or is told to stop."""
    n_gradients = block_gradients or _FIRST_BLOCK_GRADIENTS
    while not chain.is_told_to_stop:
        began = time.perf_counter()
        outcome = chain.advance(n_gradients)
        if outcome != Outcome.RUNNING:
            return
        if block_gradients is None:
            elapsed = max(time.perf_counter() - began, 1e-6)
            growth = min(max(BLOCK_SECONDS / elapsed, 0.25), 4.0)
            n_gradients = max(10, int(n_gradients * growth))
