"""Run many cells: in several processes, with progress, one file per finished cell, so that a killed run can go on."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from grhmc.paper.cells import LSODA, Cell, CellResult, default_integrator, default_tolerance, load_cell, save_cell
from grhmc.paper.run_cell import run_cell
from grhmc.paper.targets import TARGETS
from grhmc.settings import EventRateRuleName

_POLL_SECONDS = 0.2


def plan_cells(
    *,
    tables: Sequence[int] | None = None,
    targets: Sequence[str] | None = None,
    methods: Sequence[str],
    integrators: Sequence[str] | None,
    tolerance: float | None,
    scale_down: int,
    seed: int,
    event_rate_rule: EventRateRuleName = "as_run",
) -> list[Cell]:
    """The cells of a run, by integrator, then in the order of the tables.

    Parameters
    ----------
    tables : sequence of int or None
        None: all.
    targets : sequence of str or None
        Of those in `tables`; None: all.
    integrators : sequence of str or None
        None: one for each target, `default_integrator`.
    tolerance : float or None
        None: each integrator's own, `default_tolerance`.
    """
    return [
        Cell(
            target=target.name,
            method=method,
            integrator=used,
            tolerance=default_tolerance(used) if tolerance is None else tolerance,
            scale_down=scale_down,
            seed=seed,
            event_rate_rule=event_rate_rule,
        )
        for integrator in (integrators or (None,))
        for target in TARGETS.values()
        if (tables is None or target.table in tables)
        and (targets is None or target.name in targets)
        and (not target.on_request or tables is not None or targets is not None)
        for used in (integrator or default_integrator(target.table),)
        for method in methods
    ]


def finished_cells(cells: Sequence[Cell], directory: Path) -> list[CellResult]:
    """Results of those cells that have a file, in the order of `cells`."""
    return [result for cell in cells if (result := load_cell(directory, cell)) is not None]


class Programme(NamedTuple):
    """What has become of cells: results in their order, and what those raised that failed."""

    results: list[CellResult]
    failures: dict[Cell, Exception]


def run_programme(cells: Sequence[Cell], directory: Path, jobs: int, console: Console) -> Programme:
    """Run the cells that have no file yet. One that fails does not keep others from running.

    Parameters
    ----------
    cells : sequence of Cell
    directory : Path
        Where the cells' files are.
    jobs : int
        Processes; 1 runs the cells here, one after the other.
    console : rich.console.Console

    Raises
    ------
    KeyboardInterrupt
        If the user stopped the run; what is finished stays.
    BrokenProcessPool
        If a process was killed from outside.
    """
    found = {cell: load_cell(directory, cell) for cell in cells}
    missing = sorted((cell for cell in cells if found[cell] is None), key=_expected_cost, reverse=True)
    n_found = len(cells) - len(missing)
    if n_found:
        console.print(f"{n_found} of {len(cells)} cells are finished already.")
    if not missing:
        return Programme(finished_cells(cells, directory), {})
    failures: dict[Cell, Exception] = {}
    with _CellProgress(len(cells), n_found, console) as progress:
        if jobs == 1:
            for cell in missing:
                progress.started(cell)
                try:
                    found[cell] = result = _finish(cell, directory)
                except Exception as error:
                    failures[cell] = error
                    progress.failed(cell, error)
                else:
                    progress.finished(result)
        else:
            failures = _run_in_processes(missing, directory, jobs, progress, found)
    return Programme([result for cell in cells if (result := found[cell]) is not None], failures)


def _finish(cell: Cell, directory: Path) -> CellResult:
    """Run a cell and save it; what a worker process does."""
    result = run_cell(cell)
    save_cell(directory, result)
    return result


def _run_in_processes(
    missing: Sequence[Cell],
    directory: Path,
    jobs: int,
    progress: _CellProgress,
    found: dict[Cell, CellResult | None],
) -> dict[Cell, Exception]:
    """Fills `found` and returns what cells raised."""
    # Processes rather than threads: LSODA and the effective sample sizes are Python. Started afresh rather than
    # forked: a fork of a process with compiled code and threads in it may hang.
    context = multiprocessing.get_context("spawn")
    failures: dict[Cell, Exception] = {}
    waiting = list(missing)
    running: dict[Future[CellResult], Cell] = {}
    pool = ProcessPoolExecutor(max_workers=min(jobs, len(missing)), mp_context=context)
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                cell = waiting.pop(0)
                running[pool.submit(_finish, cell, directory)] = cell
                progress.started(cell)
            done, _ = wait(running, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
            for future in done:
                cell = running.pop(future)
                try:
                    found[cell] = result = future.result()
                except BrokenProcessPool:
                    raise
                except Exception as error:
                    failures[cell] = error
                    progress.failed(cell, error)
                else:
                    progress.finished(result)
    except BaseException:
        _stop(pool)
        raise
    pool.shutdown()
    return failures


def _stop(pool: ProcessPoolExecutor) -> None:
    """End the workers at once: a cell that is not finished is not kept anyway."""
    workers = list((getattr(pool, "_processes", None) or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for worker in workers:
        worker.terminate()


_RELATIVE_COST = {"BLR2": 60.0, "BLR1": 15.0, "NG3": 3.0, "F2": 3.0, "F1": 2.0, "NG2": 2.0, "G3": 2.0}


def _expected_cost(cell: Cell) -> float:
    """Longest first, so that the processes finish together."""
    return _RELATIVE_COST.get(cell.target, 1.0) * (100.0 if cell.integrator == LSODA else 1.0) / cell.tolerance**0.15


class _CellProgress:
    """A bar over all cells and a line for each that runs; on a pipe, a line for each that is finished."""

    def __init__(self, n_cells: int, n_finished: int, console: Console) -> None:
        self._console = console
        self._n_cells, self._n_finished = n_cells, n_finished
        self._began: dict[Cell, float] = {}
        self._lines: dict[Cell, TaskID] = {}
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        self._bars = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._all = self._bars.add_task("cells", total=n_cells, completed=n_finished)

    def __enter__(self) -> _CellProgress:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def started(self, cell: Cell) -> None:
        self._began[cell] = time.perf_counter()
        self._lines[cell] = self._bars.add_task(f"{cell.target} {cell.method.upper()}, {cell.path}", total=1)

    def finished(self, result: CellResult) -> None:
        n_gradients = 1e-6 * (result.n_tuning.sum() + result.n_sampling.sum())
        seconds = time.perf_counter() - self._began[result.cell]
        self._ended(result.cell, f"{n_gradients:.1f} million gradients, {seconds:.1f} s")

    def failed(self, cell: Cell, error: Exception) -> None:
        self._ended(cell, f"failed, {type(error).__name__}: {error}")

    def _ended(self, cell: Cell, words: str) -> None:
        self._n_finished += 1
        self._bars.remove_task(self._lines.pop(cell))
        self._bars.update(self._all, completed=self._n_finished)
        self._console.print(
            f"[{self._n_finished}/{self._n_cells}] {cell.target} {cell.method.upper()}, {cell.path}: {words}",
            markup=False,
            highlight=False,
        )
