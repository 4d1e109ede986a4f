"""Show how far the chains are: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import io
import math
import sys
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Protocol

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from grhmc._terminal import format_count
from grhmc.run.chain_snapshot import ChainSnapshot
from grhmc.run.notebook import NotebookOutput, notebook_output
from grhmc.run.recent_rate import RecentRate
from grhmc.run.standing import Standing

LINE_SECONDS = 5.0
"""Between two plain lines."""

_REDRAW_SECONDS = 0.1
_COST = 0.003
# Share of one core that showing may take: where it takes more, as a table of many rows does, it is shown less often.


class ProgressView(Protocol):
    """A context manager that is told from time to time where the chains are."""

    def update(self, snapshots: Sequence[ChainSnapshot], standing: Standing | None = None) -> None:
        """Take note of where the chains are, and the rules that may end the run; call it as often as you like."""
        ...

    def __enter__(self) -> ProgressView: ...

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


def progress_view(enabled: bool, console: Console | None = None) -> ProgressView:
    """Choose how to show progress.

    Parameters
    ----------
    enabled : bool
        False shows nothing.
    console : rich.console.Console, optional
        Where to; standard error by default.

    Returns
    -------
    ProgressView
        A live table on a terminal and in a notebook (Jupyter, marimo), which needs no widgets; elsewhere a line every
        few seconds and one at the end.
    """
    if not enabled:
        return _Silent()
    console = Console(stderr=True) if console is None else console
    notebook = notebook_output() if console.is_jupyter or "marimo" in sys.modules else None
    if notebook is not None:
        return _NotebookTable(notebook)
    if console.is_jupyter:  # so Rich thinks
        return _PlainLines(Console(file=console.file, force_jupyter=False))
    if console.is_terminal and not console.is_dumb_terminal:
        return _LiveTable(console)
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

    def update(self, snapshots: Sequence[ChainSnapshot], standing: Standing | None = None) -> None:
        """As that of the view."""
        self._try(lambda view: view.update(snapshots, standing))

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
        self._standing: Standing | None = None
        self._rate = RecentRate()
        self._began = self._shown = time.perf_counter()
        self._took = 0.0  # CPU seconds, to show it the last time

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

    def update(self, snapshots: Sequence[ChainSnapshot], standing: Standing | None = None) -> None:
        self._snapshots, self._standing = list(snapshots), standing
        self._rate.observe(self._elapsed(), _done(self._snapshots))
        if time.perf_counter() - self._shown >= max(self._spacing_seconds, self._took / _COST):
            self._shown, began = time.perf_counter(), time.thread_time()
            self._show()
            self._took = time.thread_time() - began

    _spacing_seconds = _REDRAW_SECONDS

    def _show(self) -> None: ...

    def _close(self) -> None: ...

    def _elapsed(self) -> float:
        return time.perf_counter() - self._began

    def _per_second(self) -> float:
        return self._rate.per_second(self._elapsed(), _done(self._snapshots))

    def _progress_table(self, room: int, width: int) -> Table:
        return progress_table(self._snapshots, self._elapsed(), room, width, self._per_second(), self._standing)


class _Silent(_View):
    """Shows nothing."""


class _PlainLines(_View):
    """A line for all chains together, for log files and pipes."""

    _spacing_seconds = LINE_SECONDS

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console

    def _show(self) -> None:
        line = summary_line(self._snapshots, self._elapsed(), self._per_second(), self._standing)
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _close(self) -> None:
        if self._snapshots:
            self._show()


class _LiveTable(_View):
    """One row and one bar for all chains together, and for each where there is room."""

    def __init__(self, console: Console) -> None:
        super().__init__()
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
        # A live display must not be taller than the terminal.
        room = max(0, self._console.height - _OTHER_LINES - (self._standing is not None))
        return self._progress_table(room, self._console.width)


class _NotebookTable(_View):
    """The same table as text, which replaces itself in the output of a notebook's cell."""

    _spacing_seconds = 0.25

    def __init__(self, output: NotebookOutput) -> None:
        super().__init__()
        self._output = output

    def _show(self) -> None:
        table = self._progress_table(_NOTEBOOK_CHAINS, _NOTEBOOK_WIDTH)
        text = io.StringIO()
        Console(file=text, width=_NOTEBOOK_WIDTH, force_terminal=False, force_jupyter=False).print(table)
        self._output(text.getvalue())

    def _close(self) -> None:
        if self._snapshots:
            self._show()


_NOTEBOOK_CHAINS, _NOTEBOOK_WIDTH = 16, 110


_OTHER_LINES = 6  # headings, total, two of caption, a hint of two lines


def progress_table(
    snapshots: Sequence[ChainSnapshot],
    elapsed_seconds: float,
    room: int,
    width: int = 80,
    draws_per_second: float | None = None,
    standing: Standing | None = None,
) -> Table:
    """Table of at most `room` chains, the unfinished ones first if not all fit, and of all together."""
    shown = list(snapshots)
    if len(shown) > room:
        shown = sorted(shown, key=lambda snapshot: (snapshot.finished, snapshot.chain))[:room]
    left = _remaining(snapshots, elapsed_seconds, draws_per_second, standing)
    caption = f"{format_seconds(elapsed_seconds)}{left}"
    if len(shown) < len(snapshots):
        n_finished = sum(snapshot.finished for snapshot in snapshots)
        caption += f"; {n_finished} of {len(snapshots)} chains finished, {len(shown)} shown"
    caption += "".join(f"\n{words}" for words in _words(standing) + _first_hint(snapshots))
    table = Table(box=None, caption=caption, caption_justify="left", pad_edge=False)
    table.add_column("chain", justify="right", no_wrap=True)
    table.add_column("progress", min_width=8, max_width=24, ratio=1)
    columns = _columns(snapshots, width)
    for name in columns:
        table.add_column(name, justify="left" if name == "stage" else "right", no_wrap=True)
    for snapshot in shown:
        table.add_row(
            str(snapshot.chain),
            _bar(snapshot.done, _total(snapshot, standing)),
            *(cell(snapshot) for cell in columns.values()),
            style="red" if snapshot.n_diverging else None,
        )
    if len(snapshots) > 1:
        together = _together(snapshots, elapsed_seconds)
        table.add_row(
            "all",
            _bar(sum(s.done for s in snapshots), sum(_total(s, standing) for s in snapshots)),
            *(together.get(name, "") for name in columns),
        )
    return table


def _bar(done: int, total: int) -> ProgressBar:
    return ProgressBar(total=max(total, 1), completed=done, finished_style="green")


_WIDTH_OF_STAGES, _WIDTH_OF_ALL = 78, 94


def _columns(snapshots: Sequence[ChainSnapshot], width: int) -> dict[str, Callable[[ChainSnapshot], str]]:
    """What a row says, by heading: of the process, and as much as there is room for."""
    columns: dict[str, Callable[[ChainSnapshot], str]] = {}
    if width >= _WIDTH_OF_ALL:
        columns["warm-up"] = lambda s: f"{s.warmup_done}/{s.warmup_total}"
    columns["draws"] = lambda s: f"{s.draws_done}/{s.draws_total}"
    columns["grad/s"] = lambda s: format_count(_speed(s.n_gradients, s.seconds))
    columns["diverging"] = lambda s: str(s.n_diverging)
    if width >= _WIDTH_OF_STAGES:
        columns["stage"] = lambda s: f"{s.stage:9}"  # as wide as the longest, lest the table jump
        if any(snapshot.event_rate is not None for snapshot in snapshots):
            columns["λ"] = lambda s: "–" if s.event_rate is None else f"{s.event_rate:.2g}"
        columns["step"] = lambda s: f"{s.step_size:.2g}"
        columns["rejected"] = lambda s: "–" if s.rejected_fraction is None else f"{s.rejected_fraction:.1%}"
    return columns


def _together(snapshots: Sequence[ChainSnapshot], elapsed_seconds: float) -> dict[str, str]:
    """What the row of all chains says, by heading."""
    return {
        "warm-up": f"{sum(s.warmup_done for s in snapshots)}/{sum(s.warmup_total for s in snapshots)}",
        "draws": f"{sum(s.draws_done for s in snapshots)}/{sum(s.draws_total for s in snapshots)}",
        "grad/s": format_count(_speed(sum(s.n_gradients for s in snapshots), elapsed_seconds)),
        "diverging": str(sum(s.n_diverging for s in snapshots)),
    }


def summary_line(
    snapshots: Sequence[ChainSnapshot],
    elapsed_seconds: float,
    draws_per_second: float | None = None,
    standing: Standing | None = None,
) -> str:
    """All chains in one line of plain text."""
    n_chains = len(snapshots)
    n_gradients = sum(snapshot.n_gradients for snapshot in snapshots)
    seconds = sum(snapshot.seconds for snapshot in snapshots)
    n_finished = sum(snapshot.finished for snapshot in snapshots)
    stages = dict.fromkeys(snapshot.stage for snapshot in snapshots if not snapshot.finished)
    where = "finished" if n_finished == n_chains else f"{n_finished} finished, {'/'.join(stages)}"
    together = _together(snapshots, elapsed_seconds)
    return (
        f"grhmc: {n_chains} chain{'s' * (n_chains != 1)} ({where}), {together['draws']} draws after "
        f"{together['warm-up']} of warm-up, {format_count(n_gradients)} gradients, "
        f"{format_count(_speed(n_gradients, seconds))}/s per core, {together['diverging']} diverging, "
        f"{format_seconds(elapsed_seconds)}{_remaining(snapshots, elapsed_seconds, draws_per_second, standing)}"
        + "".join(f"; {words}" for words in _words(standing) + _first_hint(snapshots))
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


def _done(snapshots: Sequence[ChainSnapshot]) -> int:
    return sum(snapshot.done for snapshot in snapshots)


def _words(standing: Standing | None) -> list[str]:
    return [] if standing is None else [standing.words]


def _total(snapshot: ChainSnapshot, standing: Standing | None) -> int:
    """Draws to make, as far as is known."""
    if standing is None or standing.draws is None:
        return snapshot.total
    return max(snapshot.done, min(snapshot.total, snapshot.warmup_total + standing.draws))


def _remaining(
    snapshots: Sequence[ChainSnapshot],
    elapsed_seconds: float,
    draws_per_second: float | None,
    standing: Standing | None = None,
) -> str:
    """Guess at the time left, once there is something to go by; at the mean rate so far unless another is given."""
    done, total = _done(snapshots), sum(_total(snapshot, standing) for snapshot in snapshots)
    if elapsed_seconds < 2.0 or all(snapshot.finished for snapshot in snapshots) or done >= total:
        return ""
    if done == 0:
        return "; no draw yet (the first run on a machine compiles for up to a minute)"
    left = (total - done) / (draws_per_second or done / elapsed_seconds)
    if standing is None:
        return f", about {format_seconds(left)} left"
    most = math.inf if standing.seconds is None else standing.seconds
    if standing.draws is None:
        return f", at most {format_seconds(most)} left" if most < math.inf else ""
    return f", about {format_seconds(min(left, most))} left"
