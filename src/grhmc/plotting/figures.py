"""Look at a run: traces with events, the scale over tuning, crossing times, and tuners compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from grhmc.plotting.figure_parts import (
    BLUE,
    GREY,
    ORANGE,
    RED,
    choose,
    choose_names,
    how_many,
    plain_log_ticks,
    pyplot_or_raise,
    remove_frame,
    shorten,
)
from grhmc.results.descriptions import DISCRETE, process_of
from grhmc.results.summaries import iterate_parameters
from grhmc.settings import TARGET_CROSSING_TIME

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from grhmc.comparison.comparison import Comparison

_LARGEST_GRID = 12
_LARGEST_LIST = 40


def plot_trace_with_events(
    result: xarray.DataTree,
    parameters: Sequence[str] | None = None,
    *,
    chain: int | None = None,
    n_draws: int = 150,
) -> Figure:
    """Draws against process time, and below them what happened before each.

    That is the acceptance rate of its trajectories (discrete process), or the number of momentum refreshments.

    Parameters
    ----------
    result : DataTree
        From `sample`.
    parameters : sequence of str, optional
        Labels as in `grhmc.results.summaries.summary`; by default the first four.
    chain : int, optional
        Which; the first by default.
    n_draws : int
        How many of the first draws.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ImportError
        Without matplotlib.
    ValueError
        If a parameter or the chain is not in the result.
    """
    pyplot = pyplot_or_raise()
    shown = choose(list(iterate_parameters(result)), parameters, 4)
    statistics = result["sample_stats"].to_dataset()
    chains = statistics["chain"].values.tolist()
    chain = chains[0] if chain is None else chain
    if chain not in chains:
        raise ValueError(f"chain must be one of {chains}, got {chain!r}")
    row = chains.index(chain)
    of_chain = statistics.isel(chain=row, draw=slice(n_draws))
    time = of_chain["process_time"].values
    diverging = time[of_chain["diverging"].values.astype(bool)]

    figure, axes = pyplot.subplots(
        len(shown) + 1,
        1,
        sharex=True,
        figsize=(9, 1.45 * len(shown) + 1.6),
        height_ratios=[1.0] * len(shown) + [0.6],
        layout="constrained",
        squeeze=False,
    )
    panels = axes[:, 0]
    for axis, parameter in zip(panels[:-1], shown, strict=True):
        values = parameter.values[row]
        axis.axhline(parameter.values.mean(), color=GREY, linewidth=0.8, linestyle=":")
        axis.plot(time, values[: len(time)], color=BLUE, linewidth=0.8, marker=".", markersize=4)
        axis.set_title(shorten(parameter.label, 60), loc="left", fontsize=9)
    is_discrete = process_of(result.attrs) == DISCRETE
    if is_discrete and "acceptance_rate" in of_chain:
        below = "acceptance rate"  # the number of trajectories before a draw hardly varies
        panels[-1].plot(time, of_chain["acceptance_rate"].values, ".", color=ORANGE, markersize=4)
        panels[-1].set_ylim(-0.05, 1.05)
    else:
        below = "trajectories" if is_discrete else "momentum refreshments"
        panels[-1].step(time, of_chain["n_events"].values, where="pre", color=ORANGE, linewidth=1.0)
        panels[-1].set_ylim(bottom=0)
        panels[-1].yaxis.get_major_locator().set_params(integer=True, nbins=3)
    panels[-1].set_title(f"{below} before each draw", loc="left", fontsize=9)
    panels[-1].set_xlabel("process time")
    for axis in panels:
        remove_frame(axis)
        for at in diverging:
            axis.axvline(at, color=RED, linewidth=0.8, alpha=0.7, zorder=0)
    note = f"; {len(diverging)} diverging (red)" if len(diverging) else ""
    figure.suptitle(f"Chain {chain}, draws 1 to {len(time)}{note}")
    return figure


def plot_scale_history(result: xarray.DataTree, coordinates: Sequence[str] | None = None) -> Figure:
    """The diagonal scale S over the process time of tuning: one panel per coordinate, one line per chain.

    Parameters
    ----------
    result : DataTree
        From `sample` or anything with a ``tuning`` group.
    coordinates : sequence of str, optional
        Names of unconstrained coordinates; by default the first twelve.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ImportError
        Without matplotlib.
    ValueError
        If a coordinate is not in the result, or nothing was tuned (``tune=0``).
    """
    pyplot = pyplot_or_raise()
    tuning = result["tuning"].to_dataset()
    if tuning.sizes.get("history", 0) == 0:
        raise ValueError("there is no history of the scale: the run had no warm-up (tune=0)")
    names = choose_names(tuning, coordinates, _LARGEST_GRID)
    n_columns = min(4, len(names))
    n_rows = math.ceil(len(names) / n_columns)
    figure, axes = pyplot.subplots(
        n_rows,
        n_columns,
        sharex=True,
        sharey=True,
        figsize=(2.6 * n_columns + 0.8, 1.9 * n_rows + 0.9),
        layout="constrained",
        squeeze=False,
    )
    # Logarithmic, because the first windows are short and decide most.
    time = tuning["history_time"].values
    time = np.where(time > 0, time, np.nan)
    for axis, name in zip(axes.flat, names, strict=False):
        history = tuning["history_scale"].sel(unconstrained=name).values
        final = tuning["scale"].sel(unconstrained=name).values
        axis.axhline(1.0, color=ORANGE, linewidth=1.2, zorder=1)
        axis.step(
            time.T,
            (history / final.mean()).T,
            where="post",
            color=BLUE,
            linewidth=0.9,
            alpha=0.7,
            zorder=2,
        )
        axis.set_title(f"{shorten(name, 18)}: S = {final.mean():.3g}", fontsize=9)
        remove_frame(axis)
    axes.flat[0].set_xscale("log")
    axes.flat[0].set_yscale("log")
    plain_log_ticks(axes.flat[0].xaxis)
    plain_log_ticks(axes.flat[0].yaxis)
    for axis in list(axes.flat)[len(names) :]:
        axis.set_visible(False)
    figure.supxlabel("process time of tuning", fontsize=10)
    figure.supylabel("S relative to the end", fontsize=10)
    tuner = result.attrs.get("scale")
    figure.suptitle(
        f"Scale over tuning{f' ({tuner})' if tuner else ''}: one line per chain, relative to what "
        f"was sampled with{how_many(names, tuning)}",
        fontsize=11,
    )
    return figure


def plot_crossing_times(
    result: xarray.DataTree,
    coordinates: Sequence[str] | None = None,
    *,
    target: float = TARGET_CROSSING_TIME,
    ax: Axes | None = None,
) -> Axes:
    """Mean process time between crossings of the centre, per coordinate, against the target.

    A coordinate to the right of the target moves slowly and limits the sampler; one to the left
    moves fast and costs small steps.

    Parameters
    ----------
    result : DataTree
        From `sample`.
    coordinates : sequence of str, optional
        Names of unconstrained coordinates; by default the first forty.
    target : float
        π, half a period of a standard normal coordinate, unless told otherwise.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        Without matplotlib.
    ValueError
        If a coordinate is not in the result.
    """
    pyplot = pyplot_or_raise()
    tuning = result["tuning"].to_dataset()
    names = choose_names(tuning, coordinates, _LARGEST_LIST)
    axis = ax
    if axis is None:
        height = 0.28 * len(names) + 1.6
        axis = pyplot.subplots(figsize=(7, height), layout="constrained")[1]
    times = tuning["crossing_time"].sel(unconstrained=names).values
    rows = np.arange(len(names))
    axis.axvline(target, color=ORANGE, linewidth=1.5, zorder=1)
    axis.plot(times.T, rows, ".", color=BLUE, alpha=0.5, markersize=6, zorder=2)
    axis.plot(times.mean(axis=0), rows, "o", color=BLUE, markersize=7, zorder=3)
    axis.set_yticks(rows, [shorten(name) for name in names])
    axis.set_ylim(len(names) - 0.4, -0.6)
    finite = times[np.isfinite(times)]
    if len(finite) and finite.max() > 5 * finite.min():
        axis.set_xscale("log")
        plain_log_ticks(axis.xaxis)
    axis.set_xlabel(f"process time between crossings{how_many(names, tuning)}")
    target_name = "π" if math.isclose(target, math.pi) else f"{target:.3g}"
    axis.set_title(
        f"Mean time between crossings of the centre\nsmall dots: chains; large: their mean; line: target {target_name}",
        fontsize=11,
    )
    remove_frame(axis)
    return axis


def plot_ess_comparison(comparison: Comparison) -> Figure:
    """Effective draws per 1000 gradients of every parameter, by tuner; the worst one is named.

    Parameters
    ----------
    comparison : Comparison
        From `grhmc.compare`.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ImportError
        Without matplotlib.
    """
    pyplot = pyplot_or_raise()
    tuners = comparison.tuners
    kinds = {"bulk": "bulk", "tail": "tail (5 %, 95 %)", "q2": "variance (q²)"}
    figure, axes = pyplot.subplots(
        1,
        len(kinds),
        sharey=True,
        figsize=(10, 0.6 * len(tuners) + 1.7),
        layout="constrained",
    )
    for axis, (kind, title) in zip(axes, kinds.items(), strict=True):
        for row, tuner in enumerate(tuners):
            values = {r.parameter: r.ess_per_1000_gradients[kind] for r in comparison.rows if r.tuner == tuner}
            values = {name: value for name, value in values.items() if math.isfinite(value)}
            if not values:
                continue
            worst = min(values, key=lambda name: values[name])
            axis.plot(list(values.values()), [row] * len(values), "|", color=GREY, markersize=12)
            axis.plot(values[worst], row, "o", color=BLUE, markersize=8)
            axis.annotate(
                f"{values[worst]:.3g}  {shorten(worst)}",
                (values[worst], row),
                xytext=(0, 9),
                textcoords="offset points",
                fontsize=8,
                color=BLUE,
            )
        axis.set_title(title, fontsize=10)
        axis.set_xlim(left=0)
        axis.set_ylim(len(tuners) - 0.5, -0.7)
        remove_frame(axis)
    axes[0].set_yticks(range(len(tuners)), tuners)
    figure.supxlabel("effective draws per 1000 gradients of sampling", fontsize=10)
    figure.suptitle("Scale tuners compared: each parameter (grey) and the worst one", fontsize=11)
    return figure
