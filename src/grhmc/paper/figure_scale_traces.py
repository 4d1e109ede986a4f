"""How S moved while it was tuned, for each method: what the paper's tables show only the end of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from grhmc.paper.canvas import colour, new_figure, plain_log_axis, save
from grhmc.paper.cells import CellResult
from grhmc.paper.document import Picture
from grhmc.paper.targets import TARGETS

_TUNING_TIME = 6000.0


def draw_scale_traces(directory: Path, results: Sequence[CellResult]) -> list[Picture]:
    """One figure per table: a row per target, two coordinates, ten thin lines per method."""
    pictures = []
    for table in sorted({TARGETS[result.cell.target].table for result in results}):
        of_table = [result for result in results if TARGETS[result.cell.target].table == table]
        pictures.append(draw_scales(directory / f"scale_table_{table}.png", f"Table {table}", of_table))
    return pictures


def draw_scales(path: Path, name: str, results: Sequence[CellResult]) -> Picture:
    """A row per target; `name` begins the caption."""
    targets = list(dict.fromkeys(result.cell.target for result in results))
    figure, axes = new_figure(len(targets), 2, (9.0, 0.5 + 2.0 * len(targets)), share_x=True)
    for target, row in zip(targets, axes, strict=True):
        of_target = [result for result in results if result.cell.target == target]
        last = len(of_target[0].names) - 1
        for axis, j in zip(row, (0, last), strict=True):
            for result in of_target:
                shown = result.history_time <= _TUNING_TIME
                lines = result.history_scale[:, shown, j].T
                axis.plot(result.history_time[shown], lines, color=colour(result.cell.method), linewidth=0.6, alpha=0.6)
            plain_log_axis(axis)
            axis.set_title(f"{target}, {of_target[0].names[j]}", fontsize=9)
    for axis in axes[-1]:
        axis.set_xlabel("process time", fontsize=9)
        axis.set_xlim(0.0, _TUNING_TIME)
    methods = list(dict.fromkeys(result.cell.method for result in results))
    for method in methods:
        axes[0][0].plot([], [], color=colour(method), label=method.upper())
    axes[0][0].legend(fontsize=8, frameon=False, ncols=len(methods))
    caption = (
        f"{name}: S over tuning, ten trajectories per method, first and last coordinate. VARI and ISG change S "
        "at momentum refreshments after the first 300 time units, MCT at median crossings in runs of 1000 and 5000."
    )
    return Picture(save(figure, path), caption)
