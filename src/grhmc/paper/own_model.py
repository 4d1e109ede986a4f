"""The paper's comparison on a model of one's own: run, without published rows to compare with."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console

from grhmc.models.log_density import LogDensity
from grhmc.models.named import load_model
from grhmc.paper.cells import Cell, CellResult, default_tolerance, load_cell, save_cell
from grhmc.paper.document import Picture
from grhmc.paper.figure_crossing_times import draw_crossing_times
from grhmc.paper.figure_scale_traces import draw_scales
from grhmc.paper.run_cell import run_cell_on
from grhmc.paper.run_cells import Programme, finished_cells
from grhmc.settings import EventRateRuleName

_N_PLACES = 3


class OwnModel(NamedTuple):
    """A model and what to call it.

    Attributes
    ----------
    name : str
        For headings and for names of files.
    model : LogDensity
    fingerprint : str
        Differs between models with other parameters or another log density.
    """

    name: str
    model: LogDensity
    fingerprint: str


def own_model(text: str, data: Path | None = None) -> OwnModel:
    """A model as `grhmc sample` takes it.

    Raises
    ------
    ValueError, OSError, ImportError
        If there is no such model, or it cannot be used.
    """
    model = load_model(text, data)
    source, _, attribute = text.rpartition(":")
    words = [Path(source or text).stem, *([attribute] if source else []), *([data.stem] if data else [])]
    return OwnModel(re.sub(r"[^\w.-]+", "_", "-".join(words)), model, _fingerprint(model))


def _fingerprint(model: LogDensity) -> str:
    places = np.random.default_rng(1).standard_normal((_N_PLACES, model.dim))
    values = [f"{model.evaluate(place)[0]:.9e}" for place in places]
    described = json.dumps([model.dim, list(map(str, model.coordinate_names)), values])
    return hashlib.sha256(described.encode()).hexdigest()[:12]


def plan_own_cells(
    own: OwnModel,
    *,
    methods: Sequence[str],
    integrators: Sequence[str] | None,
    tolerance: float | None,
    scale_down: int,
    seed: int,
    event_rate_rule: EventRateRuleName,
) -> list[Cell]:
    """A cell per integrator and method; by default RKN 6(4) at the published tolerance."""
    return [
        Cell(
            target=own.name,
            method=method,
            integrator=integrator,
            tolerance=default_tolerance(integrator) if tolerance is None else tolerance,
            scale_down=scale_down,
            seed=seed,
            event_rate_rule=event_rate_rule,
        )
        for integrator in (integrators or ("rkn64",))
        for method in methods
    ]


def run_own_cells(own: OwnModel, cells: Sequence[Cell], directory: Path, cores: int, console: Console) -> Programme:
    """Run the cells that have no file yet; trajectories in threads, so that the model need not be pickled.

    Raises
    ------
    KeyboardInterrupt
        If the user stopped the run; what is finished stays.
    """
    failures: dict[Cell, Exception] = {}
    for number, cell in enumerate(cells, start=1):
        if load_cell(directory, cell) is not None:
            continue
        words = f"[{number}/{len(cells)}] {cell.target} {cell.method.upper()}, {cell.path}"
        began = time.perf_counter()
        try:
            with console.status(words):
                result = run_cell_on(own.model, cell, cores)
        except Exception as error:
            failures[cell] = error
            console.print(f"{words}: failed, {type(error).__name__}: {error}", markup=False, highlight=False)
            continue
        save_cell(directory, result)
        n_gradients = 1e-6 * (result.n_tuning.sum() + result.n_sampling.sum())
        seconds = time.perf_counter() - began
        console.print(f"{words}: {n_gradients:.1f} million gradients, {seconds:.1f} s", markup=False, highlight=False)
    return Programme(finished_cells(cells, directory), failures)


def draw_own_figures(
    own: OwnModel, output: Path, directory: Path, results: Sequence[CellResult], cores: int, console: Console
) -> list[Picture]:
    """S over tuning, and crossing times before and after; of the first integrator.

    Raises
    ------
    ImportError
        Without matplotlib.
    """
    first = [result for result in results if result.cell.path == results[0].cell.path]
    with console.status("Drawing S over tuning"):
        pictures = [draw_scales(output / "figures" / "scale.png", own.name, first)]
    with console.status("Drawing median crossing times"):
        return pictures + draw_crossing_times(output / "figures", directory, first, cores, lambda _: own.model)
