"""What a run is told while it goes on, from whatever thread: to pause, to go on, to end."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grhmc.run.chain import Chain

INTERRUPTED = "interrupted"

GRACE_SECONDS = 0.3
"""A chain that is to end may come to the end of its trajectory first, so that it can be saved, for so long."""


class Control:
    """Shared by the threads that advance chains, the one that waits for them, and whoever wants something of a run.

    Attributes
    ----------
    reason : str
        Why the run ends before all draws are made, or an empty string: "interrupted", or what rule was met.
    """

    def __init__(self) -> None:
        self.reason = ""
        self.busy = threading.RLock()
        """Held while the states of chains are changed by another thread than their own."""
        self._chains: Sequence[Chain] = ()
        self._condition = threading.Condition()
        self._n_pauses = 0
        self._n_active = self._n_resting = 0
        self._told_to_end = 0.0  # when
        self._grace = GRACE_SECONDS

    def watch_over(self, chains: Sequence[Chain]) -> None:
        """The chains that are to be told."""
        self._chains = chains

    # ------------------------------------------------------------------ what users want

    def end(self, reason: str, grace: float = GRACE_SECONDS) -> None:
        """Have every chain end with the draws that it has, at the end of its trajectory or, after `grace`, at once.

        Parameters
        ----------
        reason : str
        grace : float
            Seconds.
        """
        with self._condition:
            if self.reason:
                return
            self.reason, self._told_to_end, self._grace = reason, time.monotonic(), grace
            self._condition.notify_all()
        self._flag(True)

    def pause(self) -> None:
        """Have chains rest after their present step or trajectory, until `go_on`; returns at once."""
        with self._condition:
            self._n_pauses += 1
        self._flag(True)

    def go_on(self) -> None:
        """Take one `pause` back."""
        with self._condition:
            self._n_pauses = max(0, self._n_pauses - 1)
            goes_on = self._n_pauses == 0 and not self.reason
            self._condition.notify_all()
        if goes_on:
            self._flag(False)

    @property
    def is_interrupted(self) -> bool:
        """Whether the user has broken the run off."""
        return self.reason == INTERRUPTED

    @property
    def is_pausing(self) -> bool:
        """Whether chains rest, or are about to."""
        return self._n_pauses > 0

    @contextlib.contextmanager
    def at_rest(self) -> Iterator[None]:
        """A block of code during which no chain changes. Not to be entered from a chain's thread."""
        self.pause()
        try:
            with self._condition:
                self._condition.wait_for(lambda: self._n_active == self._n_resting)
            with self.busy:
                yield
        finally:
            self.go_on()

    # ------------------------------------------------------------------ what chains do

    @contextlib.contextmanager
    def chain_at_work(self) -> Iterator[None]:
        """The block in which a thread advances a chain."""
        with self._condition:
            self._n_active += 1
        try:
            yield
        finally:
            with self._condition:
                self._n_active -= 1
                self._condition.notify_all()

    def rest(self) -> bool:
        """Between two blocks of a chain: wait while the run pauses. False if it is to end."""
        if self._n_pauses and not self.reason:
            with self._condition:
                self._n_resting += 1
                self._condition.notify_all()
                self._condition.wait_for(lambda: self._n_pauses == 0 or bool(self.reason))
                self._n_resting -= 1
        return not self.reason

    # ------------------------------------------------------------------ what the waiting thread does

    def insist(self, stop: Callable[[], None]) -> bool:
        """Whether the run is to end; calls `stop` once chains have had their time to come to an end."""
        if not self.reason:
            return False
        if time.monotonic() > self._told_to_end + self._grace:
            stop()
        return True

    def _flag(self, wanted: bool) -> None:
        for chain in self._chains:
            chain.pause(wanted)
