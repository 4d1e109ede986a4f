"""Ctrl-C while draws are at stake: it is remembered, not raised; and what to keep of a run that was stopped."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grhmc.results.record import ChainRecord


class CtrlC:
    """A context in which Ctrl-C is remembered, and raised only where `raising` allows it.

    So neither the first one nor a second one, of an impatient user, falls into code that would lose draws. Only the
    main thread hears of it; elsewhere, and where SIGINT has no handler in Python, this does nothing.

    Attributes
    ----------
    error : BaseException or None
        What the handler that was there before has raised: KeyboardInterrupt, unless it is the user's own.
    """

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self._previous: Callable[[int, FrameType | None], Any] | None = None
        self._raises = False

    def __enter__(self) -> CtrlC:
        if threading.current_thread() is threading.main_thread():
            previous = signal.getsignal(signal.SIGINT)
            if callable(previous):
                self._previous = previous
                signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        if self._previous is not None:
            try:
                signal.signal(signal.SIGINT, self._previous)
            except BaseException as error:  # Ctrl-C just now: there is a result already, which it must not cost
                self.error = error

    @property
    def is_pressed(self) -> bool:
        """Whether there was one."""
        return self.error is not None

    @contextlib.contextmanager
    def raising(self) -> Iterator[None]:
        """A block of code that may be broken off."""
        self._raises = True
        try:
            yield
        finally:
            self._raises = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._previous is None:
            return
        try:
            self._previous(number, frame)
        except BaseException as error:
            self.error = error
            if self._raises:
                self._raises = False
                raise


_FEWEST_SHARE = 0.25


def worth_keeping(records: Sequence[ChainRecord]) -> list[ChainRecord]:
    """The chains to keep of a run that was cut short: all with at least a quarter of the draws of the longest.

    Results are cut to their shortest chain, and one that has hardly begun, where there are fewer threads than chains,
    would cost the others' draws. Not those that together leave most draws: chains may be slow because of where they
    are, and without them the rest would seem to agree.
    """
    longest = max(record.n_draws for record in records)
    return [record for record in records if record.n_draws >= _FEWEST_SHARE * longest]
