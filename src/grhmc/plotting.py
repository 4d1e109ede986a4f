"""Look at a run: traces with events, the scale over tuning, crossing times, and tuners compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from grhmc.diagnosis.divergence_places import explain_divergences, parameters_of
from grhmc.results.any_result import as_datatree, is_of_grhmc
from grhmc.results.descriptions import DISCRETE, process_of
from grhmc.results.divergences import diverging_draws, diverging_starts
from grhmc.results.summaries import ParameterDraws, iterate_parameters
from grhmc.settings import TARGET_CROSSING_TIME

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from grhmc.comparison.comparison import Comparison

_LARGEST_GRID = 12
_LARGEST_LIST = 40
_BLUE, _ORANGE, _RED, _GREY = "#33658a", "#d9822b", "#c0392b", "#8c8c8c"


def plot_trace_with_events(
    result: xarray.DataTree,
    parameters: Sequence[str] | None = None,
    *,
    chain: int | None = None,
    n_draws: int = 150,
) -> Figure:
    """Draws against process time, and below them how often the momentum was refreshed.

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
    pyplot = _pyplot()
    shown = _choose(list(iterate_parameters(result)), parameters, 4)
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
        axis.axhline(parameter.values.mean(), color=_GREY, linewidth=0.8, linestyle=":")
        axis.plot(time, values[: len(time)], color=_BLUE, linewidth=0.8, marker=".", markersize=4)
        axis.set_title(_shorten(parameter.label, 60), loc="left", fontsize=9)
    panels[-1].vlines(time, 0, of_chain["n_events"].values, color=_ORANGE, linewidth=1.5)
    events = "trajectories" if process_of(result.attrs) == DISCRETE else "momentum refreshments"
    panels[-1].set_title(events, loc="left", fontsize=9)
    panels[-1].set_ylim(bottom=0)
    panels[-1].yaxis.get_major_locator().set_params(integer=True, nbins=3)
    panels[-1].set_xlabel("process time")
    for axis in panels:
        _clean(axis)
        for at in diverging:
            axis.axvline(at, color=_RED, linewidth=0.8, alpha=0.7, zorder=0)
    note = f"; {len(diverging)} diverging (red)" if len(diverging) else ""
    figure.suptitle(f"Chain {chain}, draws 1 to {len(time)}, and {events} before each{note}")
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
    pyplot = _pyplot()
    tuning = result["tuning"].to_dataset()
    if tuning.sizes.get("history", 0) == 0:
        raise ValueError("there is no history of the scale: the run had no warm-up (tune=0)")
    names = _choose_names(tuning, coordinates, _LARGEST_GRID)
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
        axis.axhline(1.0, color=_ORANGE, linewidth=1.2, zorder=1)
        axis.step(
            time.T,
            (history / final.mean()).T,
            where="post",
            color=_BLUE,
            linewidth=0.9,
            alpha=0.7,
            zorder=2,
        )
        axis.set_title(f"{_shorten(name, 18)}: S = {final.mean():.3g}", fontsize=9)
        _clean(axis)
    axes.flat[0].set_xscale("log")
    axes.flat[0].set_yscale("log")
    _plain_log_ticks(axes.flat[0].xaxis)
    _plain_log_ticks(axes.flat[0].yaxis)
    for axis in list(axes.flat)[len(names) :]:
        axis.set_visible(False)
    figure.supxlabel("process time of tuning", fontsize=10)
    figure.supylabel("S relative to the end", fontsize=10)
    tuner = result.attrs.get("scale")
    figure.suptitle(
        f"Scale over tuning{f' ({tuner})' if tuner else ''}: one line per chain, relative to what "
        f"was sampled with{_how_many(names, tuning)}",
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
    pyplot = _pyplot()
    tuning = result["tuning"].to_dataset()
    names = _choose_names(tuning, coordinates, _LARGEST_LIST)
    axis = ax
    if axis is None:
        height = 0.28 * len(names) + 1.6
        axis = pyplot.subplots(figsize=(7, height), layout="constrained")[1]
    times = tuning["crossing_time"].sel(unconstrained=names).values
    rows = np.arange(len(names))
    axis.axvline(target, color=_ORANGE, linewidth=1.5, zorder=1)
    axis.plot(times.T, rows, ".", color=_BLUE, alpha=0.5, markersize=6, zorder=2)
    axis.plot(times.mean(axis=0), rows, "o", color=_BLUE, markersize=7, zorder=3)
    axis.set_yticks(rows, [_shorten(name) for name in names])
    axis.set_ylim(len(names) - 0.4, -0.6)
    finite = times[np.isfinite(times)]
    if len(finite) and finite.max() > 5 * finite.min():
        axis.set_xscale("log")
        _plain_log_ticks(axis.xaxis)
    axis.set_xlabel(f"process time between crossings{_how_many(names, tuning)}")
    target_name = "π" if math.isclose(target, math.pi) else f"{target:.3g}"
    axis.set_title(
        f"Mean time between crossings of the centre\nsmall dots: chains; large: their mean; line: target {target_name}",
        fontsize=11,
    )
    _clean(axis)
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
    pyplot = _pyplot()
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
            axis.plot(list(values.values()), [row] * len(values), "|", color=_GREY, markersize=12)
            axis.plot(values[worst], row, "o", color=_BLUE, markersize=8)
            axis.annotate(
                f"{values[worst]:.3g}  {_shorten(worst)}",
                (values[worst], row),
                xytext=(0, 9),
                textcoords="offset points",
                fontsize=8,
                color=_BLUE,
            )
        axis.set_title(title, fontsize=10)
        axis.set_xlim(left=0)
        axis.set_ylim(len(tuners) - 0.5, -0.7)
        _clean(axis)
    axes[0].set_yticks(range(len(tuners)), tuners)
    figure.supxlabel("effective draws per 1000 gradients of sampling", fontsize=10)
    figure.suptitle("Scale tuners compared: each parameter (grey) and the worst one", fontsize=11)
    return figure


def plot_divergences(result: Any, parameters: Sequence[str] | None = None) -> Figure:
    """Where diverging trajectories start: the parameter that tells it best against others, draws in grey below.

    Parameters
    ----------
    result : DataTree, InferenceData or Dataset
        From `sample`, or of another sampler that says which draws diverged.
    parameters : sequence of str, optional
        Two or more, the first for the horizontal axis: unconstrained coordinates, or, of other samplers, labels as in
        `summary`, with ``log`` before positive ones. By default the one that `diagnose` names, and the first others.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ImportError
        Without matplotlib.
    ValueError
        If the result does not say which draws diverged, or lacks a parameter or has only one.
    """
    pyplot = _pyplot()
    tree = as_datatree(result)
    diverging = diverging_draws(tree)
    if diverging is None:
        raise ValueError("the result does not say which draws diverged: its sample_stats has no `diverging`")
    starts = diverging_starts(diverging, is_ours=is_of_grhmc(tree))
    draws = dict(parameters_of(tree))
    if parameters is None:
        told = [place.name for place in explain_divergences(draws.items(), starts)]
        shown = list(dict.fromkeys([*told, *draws]))[:_MOST_BESIDE]
    else:
        shown = _check_names("parameters", parameters, list(draws))
    if len(shown) < 2:
        raise ValueError(f"plot_divergences needs two parameters or more, got {', '.join(shown)}")
    figure, axes = pyplot.subplots(
        1, len(shown) - 1, figsize=(3.2 * (len(shown) - 1) + 0.6, 3.4), layout="constrained", squeeze=False
    )
    columns = [draws[name] for name in shown]
    step = max(1, columns[0].size // _MOST_POINTS)
    for axis, name, column in zip(axes[0], shown[1:], columns[1:], strict=True):
        axis.plot(columns[0].ravel()[::step], column.ravel()[::step], ".", color=_GREY, alpha=0.3, markersize=3)
        axis.plot(columns[0][starts], column[starts], ".", color=_RED, markersize=5)
        axis.set(xlabel=_shorten(shown[0]), ylabel=_shorten(name))
        _clean(axis)
    figure.suptitle(f"{int(starts.sum())} diverging trajectories start at the red points; draws are grey")
    return figure


_MOST_BESIDE, _MOST_POINTS = 4, 4000


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as pyplot
    except ImportError as error:
        raise ImportError(
            "plots need matplotlib, which is not installed; install it with: pip install 'grhmc[plot]'"
        ) from error
    return pyplot


def _choose(parameters: Sequence[ParameterDraws], wanted: Sequence[str] | None, at_most: int) -> list[ParameterDraws]:
    if wanted is None:
        return list(parameters[:at_most])
    by_label = {parameter.label: parameter for parameter in parameters}
    return [by_label[name] for name in _check_names("parameters", wanted, list(by_label))]


def _choose_names(tuning: xarray.Dataset, wanted: Sequence[str] | None, at_most: int) -> list[str]:
    names = tuning["unconstrained"].values.tolist()
    return names[:at_most] if wanted is None else _check_names("coordinates", wanted, names)


def _check_names(argument: str, wanted: Sequence[str], known: Sequence[str]) -> list[str]:
    wanted = [wanted] if isinstance(wanted, str) else list(wanted)
    unknown = [name for name in wanted if name not in known]
    if unknown or not wanted:
        some = ", ".join(map(repr, known[:10])) + (", ..." if len(known) > 10 else "")
        raise ValueError(f"{argument} must name some of {some}; got {', '.join(map(repr, unknown)) or 'none'}")
    return wanted


def _how_many(names: Sequence[str], tuning: xarray.Dataset) -> str:
    total = tuning.sizes["unconstrained"]
    return f" ({len(names)} of {total} coordinates)" if len(names) < total else ""


def _shorten(name: str, length: int = 24) -> str:
    """A name that fits, cut in the middle to keep its index, and in which matplotlib sees no mathematics."""
    if len(name) > length:
        n_last = length // 2
        name = f"{name[: length - n_last - 1]}…{name[-n_last:]}"
    return name.replace("$", r"\$")


def _plain_log_ticks(axis: Any) -> None:
    """Label a logarithmic axis with few, ordinary numbers: they also draw several times faster."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high / low < 200 else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def _clean(axis: Axes) -> None:
    axis.spines[["top", "right"]].set_visible(False)
