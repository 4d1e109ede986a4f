"""Show how far the chains are: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from grhmc._terminal import format_count

LINE_SECONDS = 5.0
"""Between two plain lines."""

_REDRAW_SECONDS = 0.1


@dataclass(frozen=True)
class ChainSnapshot:
    """Where one chain is.

    Attributes
    ----------
    chain : int
    stage : str
        Name of the present stage.
    draws_done, draws_total : int
        Of the whole programme, warm-up included.
    n_gradients : int
        Since the chain began.
    seconds : float
        Wall clock that the chain has run.
    event_rate, step_size : float
        Present ones; λ per process time, and process time.
    rejected_fraction : float
        Of the steps tried.
    n_diverging : int
        Paths whose energy error passed the threshold.
    finished : bool
        The chain will not go on.
    hint : str
        Why the chain costs far more than others of its kind, or nothing.
    """

    chain: int
    stage: str
    draws_done: int
    draws_total: int
    n_gradients: int
    seconds: float
    event_rate: float
    step_size: float
    rejected_fraction: float
    n_diverging: int
    finished: bool
    hint: str = ""


class ProgressView(Protocol):
    """A context manager that is told from time to time where the chains are."""

    def update(self, snapshots: Sequence[ChainSnapshot]) -> None:
        """Take note of where the chains are; call it as often as you like."""
        ...

    def __enter__(self) -> ProgressView: ...

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


def progress_view(n_chains: int, enabled: bool, console: Console | None = None) -> ProgressView:
    """Choose how to show progress.

    Parameters
    ----------
    n_chains : int
    enabled : bool
        False shows nothing.
    console : rich.console.Console, optional
        Where to; standard error by default.

    Returns
    -------
    ProgressView
        A live table on a terminal and in a notebook; elsewhere a line every few seconds and one at
        the end.
    """
    if not enabled:
        return _Silent()
    console = Console(stderr=True) if console is None else console
    if console.is_jupyter or (console.is_terminal and not console.is_dumb_terminal):
        return _LiveTable(n_chains, console)
    return _PlainLines(console)


class SteadyView:
    """A view that is given up where showing it fails: that must not stop the chains.

    Attributes
    ----------
    problem : str
        What failed, or an empty string.
    """

    def __init__(self, view: ProgressView) -> None:
        self.problem = ""
        self._view: ProgressView | None = view

    def __enter__(self) -> SteadyView:
        self._try(lambda view: view.__enter__())
        return self

    def __exit__(self, *error: Any) -> None:
        self._try(lambda view: view.__exit__(*error))

    def update(self, snapshots: Sequence[ChainSnapshot]) -> None:
        """As that of the view."""
        self._try(lambda view: view.update(snapshots))

    def _try(self, show: Callable[[ProgressView], object]) -> None:
        if self._view is None:
            return
        try:
            show(self._view)
        except Exception as error:  # a full disk behind standard error, a terminal that cannot show λ
            self.problem = f"{type(error).__name__}: {error}"
            self._view = None


class _View:
    """What the views share: the last snapshots, and a clock."""

    def __init__(self) -> None:
        self._snapshots: Sequence[ChainSnapshot] = ()
        self._began = self._shown = time.perf_counter()

    def __enter__(self) -> _View:
        self._began = self._shown = time.perf_counter()
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._close()

    def update(self, snapshots: Sequence[ChainSnapshot]) -> None:
        self._snapshots = list(snapshots)
        if time.perf_counter() - self._shown >= self._spacing_seconds:
            self._shown = time.perf_counter()
            self._show()

    _spacing_seconds = _REDRAW_SECONDS

    def _show(self) -> None: ...

    def _close(self) -> None: ...

    def _elapsed(self) -> float:
        return time.perf_counter() - self._began


class _Silent(_View):
    """Shows nothing."""


class _PlainLines(_View):
    """A line for all chains together, for log files and pipes."""

    _spacing_seconds = LINE_SECONDS

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console

    def _show(self) -> None:
        line = summary_line(self._snapshots, self._elapsed())
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _close(self) -> None:
        if self._snapshots:
            self._show()


class _LiveTable(_View):
    """One row and one bar per chain."""

    def __init__(self, n_chains: int, console: Console) -> None:
        super().__init__()
        self._n_chains = n_chains
        self._console = console
        self._live = Live(console=console, auto_refresh=False)

    def __enter__(self) -> _LiveTable:
        super().__enter__()
        self._live.start()
        return self

    def _show(self) -> None:
        self._live.update(self._table(), refresh=True)

    def _close(self) -> None:
        if self._snapshots:
            self._show()
        self._live.stop()

    def _table(self) -> Table:
        # A live display must not be taller than the terminal; in a notebook there is no limit.
        room = self._n_chains if self._console.is_jupyter else max(1, self._console.height - 5)
        return progress_table(self._snapshots, self._elapsed(), room, self._console.width)


def progress_table(snapshots: Sequence[ChainSnapshot], elapsed_seconds: float, room: int, width: int = 80) -> Table:
    """Table of at most `room` chains, the unfinished ones first if not all fit."""
    shown = list(snapshots)
    if len(shown) > room:
        shown = sorted(shown, key=lambda snapshot: (snapshot.finished, snapshot.chain))[:room]
    caption = f"{format_seconds(elapsed_seconds)}{_remaining(snapshots, elapsed_seconds)}"
    if len(shown) < len(snapshots):
        n_finished = sum(snapshot.finished for snapshot in snapshots)
        caption += f"; {n_finished} of {len(snapshots)} chains finished, {len(shown)} shown"
    caption += "".join(f"\n{hint}" for hint in _first_hint(snapshots))
    table = Table(box=None, caption=caption, caption_justify="left", pad_edge=False)
    columns = [*_COLUMNS, *(_MORE_COLUMNS if width >= _WIDTH_OF_ALL else {})]
    table.add_column("chain", justify="right", no_wrap=True)
    table.add_column("progress", min_width=8, max_width=24, ratio=1)
    for name in columns:
        table.add_column(name, justify="left" if name == "stage" else "right", no_wrap=True)
    for snapshot in shown:
        table.add_row(
            str(snapshot.chain),
            ProgressBar(
                total=max(snapshot.draws_total, 1),
                completed=snapshot.draws_done,
                finished_style="green",
            ),
            *((_COLUMNS | _MORE_COLUMNS)[name](snapshot) for name in columns),
            style="red" if snapshot.n_diverging else None,
        )
    return table


_COLUMNS: dict[str, Callable[[ChainSnapshot], str]] = {
    "draws": lambda s: f"{s.draws_done}/{s.draws_total}",
    "grad/s": lambda s: format_count(_speed(s.n_gradients, s.seconds)),
    "diverging": lambda s: str(s.n_diverging),
}
_MORE_COLUMNS: dict[str, Callable[[ChainSnapshot], str]] = {
    "stage": lambda s: f"{s.stage:9}",  # as wide as the longest, lest the table jump
    "λ": lambda s: f"{s.event_rate:.2g}",
    "step": lambda s: f"{s.step_size:.2g}",
    "rejected": lambda s: f"{s.rejected_fraction:.1%}",
}
_WIDTH_OF_ALL = 78


def summary_line(snapshots: Sequence[ChainSnapshot], elapsed_seconds: float) -> str:
    """All chains in one line of plain text."""
    n_chains = len(snapshots)
    done = sum(snapshot.draws_done for snapshot in snapshots)
    total = sum(snapshot.draws_total for snapshot in snapshots)
    n_gradients = sum(snapshot.n_gradients for snapshot in snapshots)
    seconds = sum(snapshot.seconds for snapshot in snapshots)
    n_finished = sum(snapshot.finished for snapshot in snapshots)
    stages = dict.fromkeys(snapshot.stage for snapshot in snapshots if not snapshot.finished)
    where = "finished" if n_finished == n_chains else f"{n_finished} finished, {'/'.join(stages)}"
    return (
        f"grhmc: {n_chains} chain{'s' * (n_chains != 1)} ({where}), {done}/{total} draws, "
        f"{format_count(n_gradients)} gradients, {format_count(_speed(n_gradients, seconds))}/s "
        f"per core, {sum(snapshot.n_diverging for snapshot in snapshots)} diverging, "
        f"{format_seconds(elapsed_seconds)}{_remaining(snapshots, elapsed_seconds)}"
        + "".join(f"; {hint}" for hint in _first_hint(snapshots))
    )


def _first_hint(snapshots: Sequence[ChainSnapshot]) -> list[str]:
    """One hint is enough: what makes a chain dear makes the others dear too."""
    return [snapshot.hint for snapshot in snapshots if snapshot.hint][:1]


def format_seconds(seconds: float) -> str:
    """As ``3.2 s``, ``4 min 05 s`` or ``2 h 10 min``."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def _speed(n_gradients: int, seconds: float) -> float:
    return n_gradients / seconds if seconds > 0 else 0.0


def _remaining(snapshots: Sequence[ChainSnapshot], elapsed_seconds: float) -> str:
    """Guess at the time left, once there is something to go by."""
    done = sum(snapshot.draws_done for snapshot in snapshots)
    total = sum(s.draws_done if s.finished else s.draws_total for s in snapshots)
    if elapsed_seconds < 2.0 or done >= total:
        return ""
    if done == 0:
        return "; no draw yet (the first run on a machine compiles for up to a minute)"
    return f", about {format_seconds(elapsed_seconds * (total - done) / done)} left"
