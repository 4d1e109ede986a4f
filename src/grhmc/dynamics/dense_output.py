"""The path between the ends of a step: quintic Hermite interpolation of position, velocity and force.

Every integrator here knows position, momentum and force at both ends. The interpolant has a local error of order six,
with a constant so small (h⁶/46080 of the sixth derivative) that it never limits a step.
"""

from __future__ import annotations

import numpy as np

from grhmc._jit import array_kernel, kernel
from grhmc.dynamics.nystrom_tableau import TableauArrays
from grhmc.dynamics.phase import Step
from grhmc.dynamics.standardization import Standardization, is_diagonal, to_parameters

Weights = tuple[float, float, float, float, float, float]
"""Of position, momentum and force at the start of a step, then of the three at its end."""


_SECOND_ORDER_ERROR = 3.0
# `error_order` of a method of order two.


@kernel
def is_as_good_as_steps(tableau: TableauArrays) -> bool:
    """Whether the interpolant is as good inside a step as at its end: not for a method of order two.

    There position and momentum at the end do not quite belong together, and the interpolant's momentum is too long.
    """
    return tableau.error_order > _SECOND_ORDER_ERROR


@kernel
def position_weights(fraction: float, duration: float) -> Weights:
    """Weights of q̄, p̄, f at the start, then at the end, for the position at `fraction` in [0, 1] of the step."""
    x = fraction
    cube = x * x * x
    end = cube * (10.0 + x * (-15.0 + 6.0 * x))
    return (
        1.0 - end,
        duration * (x + cube * (-6.0 + x * (8.0 - 3.0 * x))),
        duration * duration * 0.5 * x * x * (1.0 - x) ** 3,
        end,
        duration * cube * (-4.0 + x * (7.0 - 3.0 * x)),
        duration * duration * 0.5 * cube * (1.0 - x) ** 2,
    )


@kernel
def momentum_weights(fraction: float, duration: float) -> Weights:
    """Weights of q̄, p̄, f at the start, then at the end, for the momentum: the derivative of the position's."""
    x = fraction
    square = x * x
    end = 30.0 * square * (1.0 - x) ** 2 / duration
    return (
        -end,
        1.0 + square * (-18.0 + x * (32.0 - 15.0 * x)),
        duration * x * (1.0 + x * (-4.5 + x * (6.0 - 2.5 * x))),
        end,
        square * (-12.0 + x * (28.0 - 15.0 * x)),
        duration * square * (1.5 + x * (-4.0 + 2.5 * x)),
    )


@array_kernel
def combine_points(
    position: np.ndarray,
    momentum: np.ndarray,
    force: np.ndarray,
    end_position: np.ndarray,
    end_momentum: np.ndarray,
    end_force: np.ndarray,
    weights: Weights,
    centre: np.ndarray,
    scale: np.ndarray,
    output: np.ndarray,
) -> None:
    """Weighted sum of both ends of a step, times `scale`, plus `centre`; writes `output`."""
    a, b, c, d, e, f = weights
    for k in range(output.shape[0]):
        start = a * position[k] + b * momentum[k] + c * force[k]
        end = d * end_position[k] + e * end_momentum[k] + f * end_force[k]
        output[k] = centre[k] + scale[k] * (start + end)


@kernel
def point_at(
    step: Step, standardization: Standardization, duration: float, fraction: float, output: np.ndarray
) -> None:
    """Position at `fraction` of the step in the units of the parameters; writes `output`, shape (dim,)."""
    if not is_diagonal(standardization):
        position_at(step, duration, fraction, output)
        to_parameters(standardization, output, output)
        return
    combine_points(
        step.position,
        step.momentum,
        step.stage_forces[0],
        step.end_position,
        step.end_momentum,
        step.stage_forces[-1],
        position_weights(fraction, duration),
        standardization.centre,
        standardization.scale,
        output,
    )


@kernel
def combine(step: Step, weights: Weights, output: np.ndarray) -> None:
    """Weighted sum of both ends of the step; writes `output`, shape (dim,)."""
    a, b, c, d, e, f = weights
    position, momentum, force = step.position, step.momentum, step.stage_forces[0]
    end_position, end_momentum, end_force = (
        step.end_position,
        step.end_momentum,
        step.stage_forces[-1],
    )
    for k in range(output.shape[0]):
        output[k] = (
            a * position[k]
            + b * momentum[k]
            + c * force[k]
            + d * end_position[k]
            + e * end_momentum[k]
            + f * end_force[k]
        )


@kernel
def combine_coordinate(step: Step, weights: Weights, coordinate: int) -> float:
    """The same for a single coordinate."""
    position, momentum, force, end_position, end_momentum, end_force = weights
    last = step.stage_forces.shape[0] - 1
    return (
        position * step.position[coordinate]
        + momentum * step.momentum[coordinate]
        + force * step.stage_forces[0, coordinate]
        + end_position * step.end_position[coordinate]
        + end_momentum * step.end_momentum[coordinate]
        + end_force * step.stage_forces[last, coordinate]
    )


@kernel
def position_at(step: Step, duration: float, fraction: float, output: np.ndarray) -> None:
    """Standardized position at `fraction` of the step; writes `output`, shape (dim,)."""
    combine(step, position_weights(fraction, duration), output)


@kernel
def momentum_at(step: Step, duration: float, fraction: float, output: np.ndarray) -> None:
    """Standardized momentum at `fraction` of the step; writes `output`, shape (dim,)."""
    combine(step, momentum_weights(fraction, duration), output)
