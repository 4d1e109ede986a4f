"""Figures 1 and 2 of the paper: what a bad and a good S do to the paths of a normal with very unequal scales."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from grhmc import Continuous, sample
from grhmc.comparison.reading import unconstrained_draws
from grhmc.models.analytic import gaussian
from grhmc.paper.canvas import MEDIAN, new_figure, save
from grhmc.paper.document import Picture

COVARIANCE = ((10.0, 5.0), (5.0, 1000.0))
EVENT_RATE = 0.3
LENGTH = 500.0
"""Process time."""

_SPACING = 0.1
_SCALES = {
    "figure_1": ((1.0, 1.0), "Figure 1: S = I"),
    "figure_2": ((math.sqrt(10.0), math.sqrt(1000.0)), "Figure 2: S = diag(√10, √1000)"),
}


def path_of(scale: tuple[float, float], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Times, shape (n,), and positions, shape (n, 2), along one path."""
    model = gaussian([0.0, 0.0], COVARIANCE).log_density()
    result = sample(
        model,
        scale=list(scale),
        draws=round(LENGTH / _SPACING),
        tune=0,
        chains=1,
        seed=seed,
        init=[0.0, 0.0],
        process=Continuous("rkn64", 1e-6, event_rate=EVENT_RATE, sample_interval=_SPACING),
        progress_bar=False,
        diagnose=False,
    )
    positions = unconstrained_draws(result)[0]
    return _SPACING * np.arange(1, len(positions) + 1), positions


def draw_paths(directory: Path, seed: int) -> list[Picture]:
    """Both figures, as files in `directory`."""
    return [_draw(directory / f"{name}.png", scale, title, seed) for name, (scale, title) in _SCALES.items()]


def _draw(path: Path, scale: tuple[float, float], title: str, seed: int) -> Picture:
    time, positions = path_of(scale, seed)
    figure, axes = new_figure(2, 1, (9.0, 4.6), share_x=True)
    for j, (axis,) in enumerate(axes):
        axis.plot(time, positions[:, j], color="#222222", linewidth=0.7)
        axis.axhline(0.0, color=MEDIAN, linewidth=1.2)
        axis.set_ylabel(f"$q_{j + 1}$")
        axis.set_xlim(0.0, LENGTH)
    axes[-1][0].set_xlabel("process time")
    figure.suptitle(title, fontsize=11)
    crossings = [int(np.count_nonzero(np.diff(np.sign(positions[:, j])))) for j in range(2)]
    caption = (
        f"{title}. N(0, [[10, 5], [5, 1000]]), λ = {EVENT_RATE}: the coordinates cross their medians (red) "
        f"{crossings[0]} and {crossings[1]} times in {LENGTH:g} time units."
    )
    return Picture(save(figure, path), caption)
