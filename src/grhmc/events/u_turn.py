"""The U-turn: the first time at which a path stops moving away from where its momentum was last refreshed."""

from __future__ import annotations

import numpy as np

from grhmc._jit import kernel
from grhmc.dynamics.dense_output import momentum_at, position_at
from grhmc.dynamics.phase import Step
from grhmc.events.root_search import false_position

_MAX_ITERATIONS = 40
_FRACTION_TOLERANCE = 1e-6
# Times of U-turns are averaged over hundreds of widely spread ones: a millionth of a step is more than enough.


@kernel
def outward_speed(position: np.ndarray, anchor: np.ndarray, momentum: np.ndarray) -> float:
    """(q̄ − q̄_0)·p̄: positive while the distance to `anchor` grows."""
    total = 0.0
    for k in range(position.shape[0]):
        total += (position[k] - anchor[k]) * momentum[k]
    return total


@kernel
def find_u_turn(step: Step, duration: float, anchor: np.ndarray, position: np.ndarray, momentum: np.ndarray) -> float:
    """The fraction of a step at which `outward_speed` changes sign, given that it is not positive at the end.

    Overwrites the scratch `position` and `momentum`, both (dim,).
    """
    low, high = 0.0, 1.0
    low_value = outward_speed(step.position, anchor, step.momentum)
    high_value = outward_speed(step.end_position, anchor, step.end_momentum)
    if low_value <= 0.0:
        # The path starts at the anchor, where the speed is zero, and rises from it: look just after the start.
        low = 1e-3
        position_at(step, duration, low, position)
        momentum_at(step, duration, low, momentum)
        low_value = outward_speed(position, anchor, momentum)
        if low_value <= 0.0:
            return low
    moved = 0
    for _ in range(_MAX_ITERATIONS):
        if high - low < _FRACTION_TOLERANCE:
            break
        point = false_position(low, low_value, high, high_value)
        position_at(step, duration, point, position)
        momentum_at(step, duration, point, momentum)
        value = outward_speed(position, anchor, momentum)
        if value <= 0.0:
            high, high_value = point, value
            if moved == 1:
                low_value *= 0.5
            moved = 1
        else:
            low, low_value = point, value
            if moved == -1:
                high_value *= 0.5
            moved = -1
    return 0.5 * (low + high)
