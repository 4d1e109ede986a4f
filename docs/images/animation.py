"""Draw docs/images/trajectories.gif, the default process as it moves: ``python docs/images/animation.py``.

The process is that of `trajectories.py`, step by step: a trajectory grows, its end is accepted or not, draws are left.
"""

from __future__ import annotations

import io
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from trajectories import DRAW_EVERY, trajectories

N_TRAJECTORIES, SEED = 75, 27
FRAME_MILLISECONDS, LAST_MILLISECONDS = 110, 2500
BLUE, RED = "#2166ac", "#b2182b"


def frame(axis, paths, accepted, n_done, n_points):
    """Draw what has been done, and the first points of the trajectory under way."""
    ends = np.array([path[-1] if ok else path[0] for path, ok in zip(paths[:n_done], accepted, strict=False)])
    for age, path in enumerate(reversed(paths[:n_done])):
        is_accepted = accepted[n_done - 1 - age]
        axis.plot(*path.T, "-", color=BLUE if is_accepted else RED, linewidth=1.0, alpha=max(0.12, 0.8 - 0.08 * age))
    if n_done:
        axis.plot(*ends[DRAW_EVERY - 1 :: DRAW_EVERY].T, "o", color="black", markersize=3.5, linestyle="none")
    under_way = paths[n_done][:n_points] if n_done < len(paths) else ends[-1:]
    axis.plot(*under_way.T, "-o", color=BLUE, linewidth=2.0, markersize=4)
    axis.plot(*under_way[-1:].T, "o", color="#e08214", markersize=8)


def main() -> None:
    """Write the animation beside this file."""
    paths, accepted = trajectories(N_TRAJECTORIES, SEED)
    x, y = np.meshgrid(np.linspace(-3, 3, 120), np.linspace(-3.3, 5.5, 120))
    level = x**2 + (y - x**2) ** 2
    frames = []
    steps = [(done, n) for done in range(N_TRAJECTORIES) for n in range(2, len(paths[0]) + 1)]
    for done, n_points in [*steps, (N_TRAJECTORIES, 1)]:
        figure, axis = plt.subplots(figsize=(5.2, 4.0), layout="constrained")
        axis.contour(x, y, level, levels=[1, 4, 9], colors="0.8", linewidths=1)
        frame(axis, paths, accepted, done, n_points)
        axis.set(xlim=(-3, 3), ylim=(-3.3, 5.5), xticks=[], yticks=[])
        title = f"trajectories: {done}, draws (black): {done // DRAW_EVERY}; red: rejected"
        axis.set_title(title, fontsize=10, loc="left")
        buffer = io.BytesIO()
        figure.savefig(buffer, dpi=80)
        plt.close(figure)
        frames.append(Image.open(buffer).convert("P", palette=Image.Palette.ADAPTIVE, colors=32))
    times = [FRAME_MILLISECONDS] * (len(frames) - 1) + [LAST_MILLISECONDS]
    path = Path(__file__).with_name("trajectories.gif")
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=times, loop=0, optimize=True)


if __name__ == "__main__":
    main()
