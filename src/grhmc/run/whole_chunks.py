"""Draws that a worker writes itself: whole chunks of them, and nothing else.

A chunk is written once, whole, by who has made its draws. So nobody ever adds to what another one has written, and a
stretch that is repeated, or two workers at the same one because the first was only thought to be lost, write the same
bytes. A stretch may begin and end within a chunk: the draws that complete the first one, the *head*, and those after
the last one go back to who has sent the stretch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grhmc.run.draw_rows import hand_over
from grhmc.run.keeper import Rows

if TYPE_CHECKING:
    from grhmc.run.chain import Chain
    from grhmc.run.keeper import ChunkWriter

_PATIENCE = 3.0
# Times its length that a stretch may take to end with a chunk, after which no draws need to travel.


class WholeChunks:
    """Writes the whole chunks that a chain fills during a stretch.

    Parameters
    ----------
    chain : Chain
        None of whose draws are in memory; room for a chunk is.
    writer : ChunkWriter
    now : float
        Seconds, when the stretch begins.
    seconds : float
        Length of the stretch.

    Attributes
    ----------
    head : Rows or None
        Where the stretch has come to the end of the chunk in which it has begun: draws, perhaps none, to complete it.
    problem : str
        Why a chunk could not be written; its draws are in the chain's memory then.
    """

    def __init__(self, chain: Chain, writer: ChunkWriter, now: float, seconds: float) -> None:
        self._writer = writer
        self._began, self._seconds, self._n_before = now, seconds, chain.n_draws
        self._n_head = -chain.n_draws % writer.n_rows
        chain.rows_at_once = self._n_head or writer.n_rows
        self.head: Rows | None = None
        self.problem = ""

    def take(self, chain: Chain) -> bool:
        """After a block: take what completes a chunk out of the chain's memory; whether there was anything."""
        n_rows, n_taken = self._writer.n_rows, 0
        if self.head is None and chain.n_draws - chain.n_stored >= (self._n_head or n_rows):
            self.head = _first_rows(chain, self._n_head)
            hand_over(chain, self._n_head)
            chain.rows_at_once = n_rows
            n_taken = 1
        while chain.n_draws - chain.n_stored >= n_rows:
            try:
                self._writer.write(chain.index, chain.n_stored, _first_rows(chain, n_rows))
            except Exception as error:  # whatever the place raises: whoever has sent the stretch will try, too
                self.problem = f"{type(error).__name__}: {error}"
                return False
            hand_over(chain, n_rows)
            n_taken += 1
        return n_taken > 0

    def is_worth_waiting_for(self, chain: Chain, now: float) -> bool:
        """Whether the present chunk will be full before the stretch has become much longer than it should be."""
        n_made = chain.n_draws - self._n_before
        if n_made <= 0 or chain.rows_at_once is None:
            return False
        n_left = chain.rows_at_once - (chain.n_draws - chain.n_stored)
        return now + n_left * (now - self._began) / n_made <= self._began + _PATIENCE * self._seconds


def _first_rows(chain: Chain, n_rows: int) -> Rows:
    """A copy of the first draws of sampling that are in memory."""
    part = slice(chain.n_warmup_rows, chain.n_warmup_rows + n_rows)
    return Rows(chain.records.draws[part].copy(), chain.records.statistics[part].copy())
