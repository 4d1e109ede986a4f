"""Median crossing times before and after tuning: the quantity that MCT makes equal, for all methods."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from grhmc import Continuous, sample
from grhmc.comparison.reading import unconstrained_draws
from grhmc.models.log_density import LogDensity
from grhmc.paper.cache import cached
from grhmc.paper.canvas import BEFORE, colour, new_figure, save
from grhmc.paper.cells import CellResult
from grhmc.paper.document import Picture
from grhmc.paper.targets import TARGETS

_TIME_PER_CHAIN, _SHORTEST_TIME_PER_CHAIN = 1000.0, 200.0
# The latter when the run is scaled down: some 250 crossings in all.

_TOLERANCE = 1e-4
_SPACING = 0.05
# Short beside a crossing time of 0.3, the shortest that S = 1 gives on these targets.
_CHAINS = 4
_UNTUNED_EVENT_RATE = 0.2


def median_crossing_times(
    model: LogDensity, scale: np.ndarray, event_rate: float, start: np.ndarray, time: float, seed: int, cores: int
) -> np.ndarray:
    """Mean process time between two crossings of each coordinate's median.

    Parameters
    ----------
    model : LogDensity
    scale : ndarray, shape (dim,)
    event_rate : float
    start : ndarray, shape (4, dim)
        Draws from the target.
    time : float
        Process time of each of the four chains.
    seed, cores : int

    Returns
    -------
    ndarray, shape (dim,)
    """
    result = sample(
        model,
        scale=scale,
        draws=round(time / _SPACING),
        tune=0,
        chains=_CHAINS,
        cores=cores,
        seed=seed,
        init=start,
        process=_process(event_rate),
        progress_bar=False,
        diagnose=False,
    )
    draws = unconstrained_draws(result)
    above = draws > np.median(draws, axis=(0, 1))
    n_crossings = np.count_nonzero(above[:, 1:] != above[:, :-1], axis=(0, 1))
    return _CHAINS * time / np.maximum(n_crossings, 1)


def _process(event_rate: float) -> Continuous:
    """Without a test of paths: a rejected one goes back to its start, and that jump would count as crossings."""
    return Continuous("rkn64", _TOLERANCE, event_rate=event_rate, sample_interval=_SPACING, warmup="paper")


def draw_crossing_times(
    directory: Path,
    cells_directory: Path,
    results: Sequence[CellResult],
    cores: int,
    make_model: Callable[[str], LogDensity] = lambda target: TARGETS[target].make(),
) -> list[Picture]:
    """One figure: a group of rows per target, a dot per coordinate; `make_model` gives the model of a target."""
    targets = list(dict.fromkeys(result.cell.target for result in results))
    rows: list[tuple[str, str, np.ndarray]] = []
    for target in targets:
        of_target = [result for result in results if result.cell.target == target]
        first, model = of_target[0], make_model(target)
        untuned = (np.ones(len(first.names)), _UNTUNED_EVENT_RATE)
        rows.append((target, "S = 1", _times(cells_directory, model, first, "untuned", *untuned, cores)))
        for result in of_target:
            tuned = (_geometric_mean(result.scale), float(_geometric_mean(result.event_rate)))
            times = _times(cells_directory, model, result, result.cell.method, *tuned, cores)
            rows.append((target, result.cell.method, times))
    return [_draw(directory / "crossing_times.png", rows)]


def _times(
    directory: Path,
    model: LogDensity,
    result: CellResult,
    label: str,
    scale: np.ndarray,
    event_rate: float,
    cores: int,
) -> np.ndarray:
    name = f"crossing-untested-{label}-{result.cell.file_name}"
    start, seed = result.last[:_CHAINS], result.cell.seed
    time = max(_TIME_PER_CHAIN / result.cell.scale_down, _SHORTEST_TIME_PER_CHAIN)
    return cached(
        directory / name,
        lambda: {"times": median_crossing_times(model, scale, event_rate, start, time, seed, cores)},
    )["times"]


def _geometric_mean(values: np.ndarray) -> np.ndarray:
    return np.exp(np.log(values).mean(axis=0))


def _draw(path: Path, rows: Sequence[tuple[str, str, np.ndarray]]) -> Picture:
    figure, axes = new_figure(1, 1, (8.0, 1.0 + 0.2 * len(rows)))
    axis = axes[0][0]
    axis.axvline(math.pi, color="#bbbbbb", linewidth=1.0)
    previous = ""
    for k, (target, method, times) in enumerate(rows):
        shade = BEFORE if method == "S = 1" else colour(method)
        axis.plot(times, np.full(len(times), k), "o", color=shade, markersize=4.5, alpha=0.75)
        if target != previous and k > 0:
            axis.axhline(k - 0.5, color="#e5e5e5", linewidth=0.8)
        previous = target
    axis.set_yticks(
        range(len(rows)), [f"{target}  {method if method == 'S = 1' else method.upper()}" for target, method, _ in rows]
    )
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.set_xscale("log")
    axis.set_xlabel("mean time between crossings of the median (process time); line: π", fontsize=9)
    caption = (
        "Time between two crossings of the median, a dot per coordinate: before tuning (S = 1, λ = 0.2) and with the S "
        "and λ that each method found. MCT aims at π in every coordinate. On a normal the exact value is π times the "
        "marginal standard deviation over S (Rice's formula)."
    )
    return Picture(save(figure, path), caption)
