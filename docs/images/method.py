"""Draw docs/images/method.png, the same process under two diagonal scales: ``python docs/images/method.py``."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import grhmc
from grhmc.models.analytic import gaussian

COVARIANCE = np.array([[1.0, 6.0], [6.0, 100.0]])
RESOLUTION = 0.02
DRAW_EVERY = 75
TIME = 45.0


def path(scale):
    """A finely resolved path with a fixed scale: positions, and where the momentum was refreshed."""
    result = grhmc.sample(
        gaussian(np.zeros(2), COVARIANCE).log_density(),
        scale=scale,
        draws=int(TIME / RESOLUTION),
        tune=0,
        chains=1,
        seed=8,
        init=[-1.0, -10.0],
        process=grhmc.Continuous(event_rate=0.25, sample_interval=RESOLUTION, integrator="rkn64"),
        progress_bar=False,
    )
    position = np.asarray(result["unconstrained_posterior"]["position"])[0]
    events = np.flatnonzero(np.asarray(result["sample_stats"]["n_events"])[0])
    return position, events


def main() -> None:
    """Write the figure beside this file."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharex=True, sharey=True, layout="constrained")
    precision = np.linalg.inv(COVARIANCE)
    panels = [([1.0, 1.0], "S = I"), (1.0 / np.sqrt(np.diag(precision)), "S from squared gradients (ISG)")]
    x, y = np.meshgrid(np.linspace(-4, 4, 200), np.linspace(-40, 40, 200))
    level = precision[0, 0] * x**2 + 2 * precision[0, 1] * x * y + precision[1, 1] * y**2
    for axis, (scale, title) in zip(axes, panels, strict=True):
        position, events = path(scale)
        axis.contour(x, y, level, levels=[1, 4, 9], colors="0.8", linewidths=1)
        axis.plot(*position.T, color="#2166ac", linewidth=0.8, label="path")
        axis.plot(*position[events].T, "o", color="#b2182b", markersize=5, label="event: new momentum")
        axis.plot(*position[DRAW_EVERY::DRAW_EVERY].T, "o", mfc="none", mec="k", markersize=7, label="draw")
        axis.set(title=f"{title}: {TIME:g} time units", xlabel="x", xlim=(-4, 4), ylim=(-40, 40))
    axes[0].set_ylabel("y")
    axes[0].legend(loc="lower right", fontsize=8)
    figure.savefig(Path(__file__).with_name("method.png"), dpi=110)


if __name__ == "__main__":
    main()
