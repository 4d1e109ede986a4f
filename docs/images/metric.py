"""Draw docs/images/metric.png, a regression before and after: ``python docs/images/metric.py``."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import grhmc

YEAR = np.arange(1952.0, 2014.0)
TEMPERATURE = 9.3 + 0.018 * (YEAR - 1980.0) + np.random.default_rng(1).normal(size=len(YEAR))
N_STEPS, ACCURATE = 12, 0.6


def regression(q):
    """Log density of intercept and slope, errors of sd 1, and its gradient."""
    residual = TEMPERATURE - q[0] - q[1] * YEAR
    return -0.5 * float(residual @ residual), np.array([residual.sum(), residual @ YEAR])


def trajectory(start, transform, step):
    """Leapfrog in coordinates x with q = m + transform x, from `start` in x."""
    x, p = start.copy(), np.array([0.6, 0.9])
    path = [x]
    for _ in range(N_STEPS):
        p = p + 0.5 * step * transform.T @ regression(CENTRE + transform @ x)[1]
        x = x + step * p
        p = p + 0.5 * step * transform.T @ regression(CENTRE + transform @ x)[1]
        path.append(x)
    return np.array(path)


MODEL = grhmc.from_python(regression, 2, ["intercept", "slope"])
RESULT = grhmc.sample(MODEL, draws=250, seed=1, progress_bar=False)
DRAWS = RESULT["unconstrained_posterior"]["position"].to_numpy().reshape(-1, 2)
TUNED = grhmc.tune(MODEL, seed=1, progress_bar=False)
CENTRE = DRAWS.mean(axis=0)


def main() -> None:
    """Write the figure beside this file."""
    scale = np.diag(DRAWS.std(axis=0))  # what a diagonal metric would use
    values, vectors = np.linalg.eigh(TUNED.covariance())
    both = vectors * np.sqrt(values)
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.3), layout="constrained")
    for axis, transform, title in zip(axes, (scale, both), ("scale alone", "scale and directions"), strict=True):
        x = np.linalg.solve(transform, (DRAWS - CENTRE).T).T
        curvature = transform.T @ np.array([[len(YEAR), YEAR.sum()], [YEAR.sum(), YEAR @ YEAR]]) @ transform
        step = ACCURATE / np.sqrt(np.linalg.eigvalsh(curvature)[-1])
        path = trajectory(x[0], transform, step)
        axis.plot(*x.T, ".", color="0.6", markersize=3, label="draws")
        axis.plot(*path.T, "o-", color="#b2182b", markersize=3, linewidth=1.2, label=f"{N_STEPS} steps")
        axis.set_aspect("equal")
        axis.set(title=title, xlim=(-3.5, 3.5), ylim=(-3.5, 3.5))
    axes[0].set(xlabel="intercept / its scale", ylabel="slope / its scale")
    axes[1].set(xlabel="first coordinate of q̄", ylabel="second coordinate of q̄")
    axes[0].legend(loc="upper right")
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=120)


if __name__ == "__main__":
    main()
