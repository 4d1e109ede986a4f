"""Who keeps what chains draw, beside their own memory, and what of it a worker in another process can write itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from grhmc.run.chain import Chain


class Rows(NamedTuple):
    """Some draws of a chain.

    Attributes
    ----------
    draws : ndarray, shape (n, dim)
    statistics : ndarray, shape (n, n_statistics)
    """

    draws: np.ndarray
    statistics: np.ndarray


class ChunkWriter(Protocol):
    """Writes whole chunks of draws from another process; can be pickled."""

    @property
    def n_rows(self) -> int:
        """Draws of a chunk."""
        ...

    def is_in_reach(self) -> bool:
        """Whether this process sees the place where they are kept."""
        ...

    def write(self, chain: int, first: int, rows: Rows) -> None:
        """Write the chunk that begins with a draw, a multiple of `n_rows`."""
        ...


class Keeper(Protocol):
    """Who keeps what chains draw, beside their own memory."""

    def after_block(self, chain: Chain) -> None:
        """A chain is between two blocks; called in its own thread."""
        ...

    def before_adaptation(self, chains: Sequence[Chain]) -> None:
        """All chains wait, and are about to be changed."""
        ...

    def lend_writer(self) -> ChunkWriter | None:
        """What workers write by, if they can."""
        ...

    def take_writer_back(self) -> None:
        """Have workers write no more, should any still be at work."""
        ...

    def complete_chunk(self, chain: Chain, rest: Rows) -> None:
        """Write the chunk of those draws that a chain has in memory, and of others that complete it."""
        ...


class KeepsNothing:
    """For runs that are in memory alone."""

    def after_block(self, chain: Chain) -> None:
        """Nothing to do."""

    def before_adaptation(self, chains: Sequence[Chain]) -> None:
        """Nothing to do."""

    def lend_writer(self) -> ChunkWriter | None:
        """There is nothing to write to."""
        return None

    def take_writer_back(self) -> None:
        """Nothing to do."""

    def complete_chunk(self, chain: Chain, rest: Rows) -> None:
        """Nothing to do."""
