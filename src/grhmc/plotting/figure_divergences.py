"""Where diverging trajectories start, as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from grhmc.diagnosis.divergence_places import explain_divergences, parameters_of
from grhmc.plotting.figure_parts import GREY, RED, check_names, pyplot_or_raise, remove_frame, shorten
from grhmc.results.any_result import as_datatree, is_of_grhmc
from grhmc.results.divergences import diverging_draws, diverging_starts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_BESIDE, _MOST_POINTS = 4, 4000


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
    pyplot = pyplot_or_raise()
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
        shown = check_names("parameters", parameters, list(draws))
    if len(shown) < 2:
        raise ValueError(f"plot_divergences needs two parameters or more, got {', '.join(shown)}")
    figure, axes = pyplot.subplots(
        1, len(shown) - 1, figsize=(3.2 * (len(shown) - 1) + 0.6, 3.4), layout="constrained", squeeze=False
    )
    columns = [draws[name] for name in shown]
    step = max(1, columns[0].size // _MOST_POINTS)
    for axis, name, column in zip(axes[0], shown[1:], columns[1:], strict=True):
        axis.plot(columns[0].ravel()[::step], column.ravel()[::step], ".", color=GREY, alpha=0.3, markersize=3)
        axis.plot(columns[0][starts], column[starts], ".", color=RED, markersize=5)
        axis.set(xlabel=shorten(shown[0]), ylabel=shorten(name))
        remove_frame(axis)
    figure.suptitle(f"{int(starts.sum())} diverging trajectories start at the red points; draws are grey")
    return figure
