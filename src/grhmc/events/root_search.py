"""Roots along a step: where one coordinate, or one of its derivatives, crosses zero on dense output."""

from __future__ import annotations

from typing import NamedTuple

from grhmc._jit import kernel
from grhmc.dynamics.dense_output import combine_coordinate, momentum_weights, position_weights
from grhmc.dynamics.phase import Step

NO_ROOT = 2.0
"""Returned in place of a fraction in [0, 1] where there is no root."""

POSITION = 0
MOMENTUM = 1

_MAX_ITERATIONS = 60
_FRACTION_TOLERANCE = 1e-12


class Bracket(NamedTuple):
    """Two fractions between which a function changes sign, its values there, and the end that moved last: -1 or 1."""

    low: float
    low_value: float
    high: float
    high_value: float
    moved: int


@kernel
def false_position(bracket: Bracket) -> float:
    """Where the chord through both ends of a bracket is zero; always strictly inside the bracket."""
    low, low_value, high, high_value, _ = bracket
    point = (low * high_value - high * low_value) / (high_value - low_value)
    if not low < point < high:
        point = 0.5 * (low + high)
    return point


@kernel
def narrowed(bracket: Bracket, point: float, value: float) -> Bracket:
    """The bracket with one end moved to `point`, where the function has `value`.

    The value of an end that has stayed twice is halved (the Illinois rule), so that both ends close in.
    """
    low, low_value, high, high_value, moved = bracket
    if (value > 0.0) == (high_value > 0.0):
        return Bracket(low, 0.5 * low_value if moved == 1 else low_value, point, value, 1)
    return Bracket(point, value, high, 0.5 * high_value if moved == -1 else high_value, -1)


@kernel
def _value(kind: int, step: Step, duration: float, fraction: float, coordinate: int) -> float:
    if kind == POSITION:
        return combine_coordinate(step, position_weights(fraction, duration), coordinate)
    return combine_coordinate(step, momentum_weights(fraction, duration), coordinate)


@kernel
def coordinate_root(kind: int, step: Step, duration: float, coordinate: int, low: float, high: float) -> float:
    """The fraction in [low, high] at which a coordinate's position or momentum changes sign.

    The two ends must have opposite signs. False position on dense output.
    """
    low_value = _value(kind, step, duration, low, coordinate)
    high_value = _value(kind, step, duration, high, coordinate)
    bracket = Bracket(low, low_value, high, high_value, 0)
    for _ in range(_MAX_ITERATIONS):
        if bracket.high - bracket.low < _FRACTION_TOLERANCE:
            break
        point = false_position(bracket)
        value = _value(kind, step, duration, point, coordinate)
        if value == 0.0:
            return point
        bracket = narrowed(bracket, point, value)
    return 0.5 * (bracket.low + bracket.high)


@kernel
def first_crossing(step: Step, duration: float, coordinate: int, start: float, side: float) -> float:
    """The first fraction after `start` at which a coordinate leaves its `side` (+1 or -1) of zero, or `NO_ROOT`.

    Looks at the end of the step and, where the coordinate turns around within it, at the turning point: a long step
    may cross and come back.
    """
    position = _value(POSITION, step, duration, start, coordinate)
    if position * side < 0.0:
        return NO_ROOT
    if step.end_position[coordinate] * side < 0.0:
        return coordinate_root(POSITION, step, duration, coordinate, start, 1.0)
    approaching = _value(MOMENTUM, step, duration, start, coordinate) * side < 0.0
    receding = step.end_momentum[coordinate] * side > 0.0
    if approaching and receding:
        turning = coordinate_root(MOMENTUM, step, duration, coordinate, start, 1.0)
        if _value(POSITION, step, duration, turning, coordinate) * side < 0.0:
            return coordinate_root(POSITION, step, duration, coordinate, start, turning)
    return NO_ROOT
