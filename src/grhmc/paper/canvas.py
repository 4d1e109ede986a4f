"""What the figures share: matplotlib without global state, the methods' colours, and saving."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grhmc._files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {"vari": "#33658a", "isg": "#d9822b", "mct": "#2a9d6f"}
"""By method; distinguishable without colour vision, too."""

BEFORE, MEDIAN = "#8c8c8c", "#c0392b"
_DOTS_PER_INCH = 110


def colour(method: str) -> str:
    """A method's colour; methods that are not the paper's share one."""
    return COLOURS.get(method, "#7b4fa3")


def new_figure(
    n_rows: int, n_columns: int, size: tuple[float, float], *, share_x: bool = False
) -> tuple[Figure, list[list[Axes]]]:
    """A figure and its axes as a grid.

    Raises
    ------
    ImportError
        Without matplotlib.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("the figures need matplotlib: pip install 'grhmc[paper]', or leave out --figures") from error
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False, sharex=share_x)
    for row in axes:
        for one in row:
            one.spines[["top", "right"]].set_visible(False)
            one.tick_params(labelsize=8)
    return figure, [list(row) for row in axes]


def plain_log_axis(axis: Axes) -> None:
    """A logarithmic vertical axis labelled with plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    axis.set_yscale("log")
    low, high = axis.get_ylim()
    wide = high / low > 30.0
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0,) if wide else (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_minor_formatter(FuncFormatter(lambda _value, _: ""))
    if high / low < 2.0:
        axis.set_yscale("linear")


def save(figure: Figure, path: Path) -> Path:
    """Write a PNG."""
    path.parent.mkdir(parents=True, exist_ok=True)
    layout = figure.get_layout_engine()
    if layout is not None:  # once, where savefig would do it twice: it takes longer than the drawing
        layout.execute(figure)
        figure.set_layout_engine("none")
    with replacing(path) as complete:
        figure.savefig(complete, dpi=_DOTS_PER_INCH)
    return path
