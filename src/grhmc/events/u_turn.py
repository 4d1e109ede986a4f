"""The U-turn: the first time at which a path stops moving away from where its momentum was last refreshed."""

from __future__ import annotations

import numpy as np

from grhmc._jit import kernel
from grhmc.dynamics.dense_output import momentum_at, position_at
from grhmc.dynamics.phase import Step
from grhmc.events.root_search import Bracket, false_position, narrowed

_MAX_ITERATIONS = 40
_FRACTION_TOLERANCE = 1e-6
# Times of U-turns are averaged over hundreds of widely spread ones: a millionth of a step is more than enough.


@kernel
def outward_speed(position: np.ndarray, path_start: np.ndarray, momentum: np.ndarray) -> float:
    """(q̄ − q̄_0)·p̄: positive while the distance to the path's start grows."""
    total = 0.0
    for k in range(position.shape[0]):
        total += (position[k] - path_start[k]) * momentum[k]
    return total


@kernel
def find_u_turn(
    step: Step, duration: float, path_start: np.ndarray, position: np.ndarray, momentum: np.ndarray
) -> float:
    """The fraction of a step at which `outward_speed` changes sign, given that it is not positive at the end.

    Overwrites the scratch `position` and `momentum`, both (dim,).
    """
    low = 0.0
    low_value = outward_speed(step.position, path_start, step.momentum)
    high_value = outward_speed(step.end_position, path_start, step.end_momentum)
    if low_value <= 0.0:
        # The path starts where the speed is zero, and rises from it: look just after the start.
        low = 1e-3
        position_at(step, duration, low, position)
        momentum_at(step, duration, low, momentum)
        low_value = outward_speed(position, path_start, momentum)
        if low_value <= 0.0:
            return low
    bracket = Bracket(low, low_value, 1.0, high_value, 0)
    for _ in range(_MAX_ITERATIONS):
        if bracket.high - bracket.low < _FRACTION_TOLERANCE:
            break
        point = false_position(bracket)
        position_at(step, duration, point, position)
        momentum_at(step, duration, point, momentum)
        bracket = narrowed(bracket, point, outward_speed(position, path_start, momentum))
    return 0.5 * (bracket.low + bracket.high)
