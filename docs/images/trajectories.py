"""Draw docs/images/trajectories.png, the default process on the smiley: ``python docs/images/trajectories.py``.

The package keeps draws and not what lies between them, so that the process is written out here, in a dozen lines.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

STEP, N_STEPS, KEPT, DRAW_EVERY = 0.22, 3, 0.75, 3


def evaluate(q):
    """Log density of x ~ N(0, 1), y | x ~ N(x², 1), and its gradient."""
    residual = q[1] - q[0] ** 2
    return -0.5 * (q[0] ** 2 + residual**2), np.array([-q[0] + 2.0 * q[0] * residual, -residual])


def trajectories(n, seed):
    """Paths of persistent-momentum HMC by leapfrog, and whether each one's end was accepted."""
    rng = np.random.default_rng(seed)
    q, p = np.array([-1.3, 1.6]), rng.standard_normal(2)
    paths, accepted = [], []
    for _ in range(n):
        p = KEPT * p + np.sqrt(1.0 - KEPT**2) * rng.standard_normal(2)  # refreshed in part
        path, momentum = [q], p.copy()
        before, gradient = evaluate(q)
        for _ in range(N_STEPS):
            momentum = momentum + 0.5 * STEP * gradient
            path.append(path[-1] + STEP * momentum)
            after, gradient = evaluate(path[-1])
            momentum = momentum + 0.5 * STEP * gradient
        gain = after - 0.5 * momentum @ momentum - before + 0.5 * p @ p
        is_accepted = np.log(rng.random()) < gain
        q, p = (path[-1], momentum) if is_accepted else (q, -p)  # reversed where it is rejected
        paths.append(np.array(path))
        accepted.append(is_accepted)
    return paths, accepted


def main() -> None:
    """Write the figure beside this file."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharex=True, sharey=True, layout="constrained")
    x, y = np.meshgrid(np.linspace(-3, 3, 200), np.linspace(-3, 6, 200))
    level = x**2 + (y - x**2) ** 2
    for axis, n, title in zip(axes, (18, 120), ("18 trajectories", "120 trajectories"), strict=True):
        axis.contour(x, y, level, levels=[1, 4, 9], colors="0.8", linewidths=1)
        paths, accepted = trajectories(n, seed=27)
        for path, is_accepted in zip(paths, accepted, strict=True):
            axis.plot(*path.T, "-", color="#2166ac" if is_accepted else "#b2182b", linewidth=1.0)
        ends = np.array([path[-1] if ok else path[0] for path, ok in zip(paths, accepted, strict=True)])
        axis.plot(*ends.T, ".", color="k", markersize=4, label="end of a trajectory")
        axis.plot(*ends[DRAW_EVERY - 1 :: DRAW_EVERY].T, "o", mfc="none", mec="k", markersize=7, label="draw")
        axis.plot([], [], color="#2166ac", label="accepted")
        axis.plot([], [], color="#b2182b", label="rejected: back to its start, momentum reversed")
        axis.set(title=title, xlabel="x", xlim=(-3, 3), ylim=(-3, 6))
    axes[0].set_ylabel("y")
    axes[0].legend(loc="upper center", fontsize=7.5)
    figure.savefig(Path(__file__).with_name("trajectories.png"), dpi=110)


if __name__ == "__main__":
    main()
