"""All figures of a report, in order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from grhmc.paper.cells import CellResult
from grhmc.paper.document import Picture
from grhmc.paper.figure_crossing_times import draw_crossing_times
from grhmc.paper.figure_paths import draw_paths
from grhmc.paper.figure_scale_traces import draw_scale_traces
from grhmc.paper.figure_tolerance import draw_tolerance


def draw_figures(
    output: Path, cells_directory: Path, results: Sequence[CellResult], cores: int, console: Console
) -> list[Picture]:
    """Draw what the results allow, into `output`/figures; with several integrators, by each target's first one.

    Raises
    ------
    ImportError
        Without matplotlib.
    """
    directory = output / "figures"
    by_name: dict[tuple[str, str], CellResult] = {}
    for result in results:
        by_name.setdefault((result.cell.target, result.cell.method), result)
    first = list(by_name.values())
    pictures: list[Picture] = []
    for words, draw in (
        ("paths with a bad and a good S", lambda: draw_paths(directory, results[0].cell.seed)),
        ("S over tuning", lambda: draw_scale_traces(directory, first)),
        ("median crossing times", lambda: draw_crossing_times(directory, cells_directory, first, cores)),
        ("ESS against tolerance", lambda: draw_tolerance(directory, cells_directory, first, cores)),
    ):
        with console.status(f"Drawing {words}"):
            pictures += draw()
    return pictures
