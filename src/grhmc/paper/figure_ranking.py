"""The worst coordinate's ESS per evaluation of each method on each target, beside the published ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from grhmc.paper.canvas import colour, new_figure, plain_log_axis, save
from grhmc.paper.cells import CellResult
from grhmc.paper.document import Picture
from grhmc.paper.ranking import rankings


def draw_ranking(directory: Path, results: Sequence[CellResult]) -> Picture:
    """A column per target, a point with its error per method, a hollow one for what was published."""
    found = rankings(results)
    methods = list(dict.fromkeys(method for ranking in found for method in ranking.ours))
    figure, axes = new_figure(1, 1, (2.0 + 0.75 * len(found), 4.0))
    axis = axes[0][0]
    for m, method in enumerate(methods):
        offset = 0.22 * (m - (len(methods) - 1) / 2)
        for k, ranking in enumerate(found):
            if method in ranking.ours:
                value, error = ranking.ours[method]
                axis.errorbar(k + offset, value, yerr=2 * error, fmt="o", markersize=5, color=colour(method))
            if method in ranking.published:
                hollow = {"fmt": "o", "markersize": 7, "markerfacecolor": "none", "color": colour(method), "alpha": 0.6}
                axis.errorbar(k + offset, ranking.published[method], **hollow)
        axis.plot([], [], "o", color=colour(method), label=method.upper())
    axis.set_xticks(range(len(found)), [ranking.target for ranking in found])
    axis.set_ylabel("worst ESS per 100 000 evaluations", fontsize=9)
    plain_log_axis(axis)
    axis.legend(fontsize=8, frameon=False, ncols=len(methods))
    caption = (
        "The worst coordinate's ESS per 100 000 evaluations: ours with two standard errors, hollow what was published."
    )
    return Picture(save(figure, directory / "ranking.png"), caption)
