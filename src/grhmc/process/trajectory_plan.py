"""How a trajectory of the discrete process is taken: its steps, and how much of its momentum it keeps.

A plan depends on neither position nor momentum, so that a trajectory can be reversed. It is made a trajectory ahead,
unless what it depends on is being tuned: its numbers follow from each other and take long to be ready, about as long as
a short trajectory, and the processor works them out while it follows the one before.
"""

from __future__ import annotations

import numpy as np

from grhmc._jit import inner_kernel, kernel
from grhmc.dynamics.decay import decay
from grhmc.events.random_numbers import exponential, uniform
from grhmc.process.state import Process

FRESH = 0
PERSISTENT = 1

UNIFORM_LENGTH = 0
EXPONENTIAL_LENGTH = 1

LENGTH_PER_MEMORY = 0.4
"""Length of a trajectory with a persistent momentum over its momentum decorrelation time."""

LONGEST_PER_U_TURN = 0.6
"""And the longest over the time to a U-turn: one that is about as long reverses positions, and squares never change."""

MOST_STEPS = 1024
"""Of one trajectory."""

JITTER = 0.1
"""A trajectory's steps are up to this share shorter or longer than the tuned one, so that no orbit closes on itself."""


@inner_kernel
def plan_trajectory(process: Process) -> None:
    """Draw the next trajectory's step and number of steps, and work out the share of its momentum that it keeps."""
    path, settings, rng = process.path[0], process.settings[0], process.rng
    duration = path.trajectory_step * (1.0 + JITTER * (2.0 * uniform(rng) - 1.0))
    path.planned_step = duration
    if settings.momentum == PERSISTENT:
        length = persistent_length(path.refreshment_time, settings.u_turns_per_refreshment)
        path.planned_steps = whole_steps(length, duration)
        path.persistence = decay(path.planned_steps * duration / path.refreshment_time)
    else:
        path.planned_steps = draw_n_steps(settings.length_law, path.refreshment_time, duration, rng)
        path.persistence = 0.0


@kernel
def draw_n_steps(length_law: int, mean_length: float, duration: float, rng: np.ndarray) -> int:
    """Steps of one trajectory: its random length over the step's duration, rounded, from 1 to `MOST_STEPS`."""
    if length_law == UNIFORM_LENGTH:
        length = 2.0 * mean_length * uniform(rng)
    else:
        length = mean_length * exponential(rng)
    return whole_steps(length, duration)


@kernel
def persistent_length(memory: float, u_turns: float) -> float:
    """Length of a trajectory of the momentum decorrelation time `memory`, which is `u_turns` times that to a U-turn."""
    return min(LENGTH_PER_MEMORY * memory, LONGEST_PER_U_TURN * memory / u_turns)


@kernel
def whole_steps(length: float, duration: float) -> int:
    """A trajectory's length over its steps' duration, rounded, from 1 to `MOST_STEPS`."""
    return int(min(max(np.floor(length / duration + 0.5), 1.0), float(MOST_STEPS)))
