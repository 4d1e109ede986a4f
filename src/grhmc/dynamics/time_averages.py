"""Integrals over the path of q, q² and of users' functions, by Gauss quadrature on dense output.

Time averages use the whole trajectory, not only the draws. They cost no gradient.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from grhmc._jit import kernel
from grhmc.dynamics.dense_output import Weights, position_at, position_weights
from grhmc.dynamics.density_call import call_pointer
from grhmc.dynamics.phase import Step
from grhmc.dynamics.standardization import Standardization, destandardize

GAUSS_NODES = (0.5 - math.sqrt(0.15), 0.5, 0.5 + math.sqrt(0.15))
GAUSS_WEIGHTS = (5.0 / 18.0, 8.0 / 18.0, 5.0 / 18.0)
"""Three-point Gauss-Legendre rule on [0, 1]: exact for polynomials of degree five."""


class PathFunctions(NamedTuple):
    """Users' functions of q whose time averages are wanted, behind a C pointer of the same form as a density.

    Attributes
    ----------
    address, user_data : int
        ``int64 f(uint64 dim, const double* q, double* output, double* unused, void* user)``; address 0: none.
    output : ndarray, shape (n_functions,)
        Scratch.
    unused : ndarray, shape (1,)
        Scratch in the place of the log density.
    """

    address: int
    user_data: int
    output: np.ndarray
    unused: np.ndarray


class PathIntegrals(NamedTuple):
    """Integrals over the present interval, of standardized positions.

    Attributes
    ----------
    position, position_squared : ndarray, shape (dim,)
        ∫ q̄ dt and ∫ q̄² dt: about the centre, so that nothing cancels when a posterior is far from zero.
    functions : ndarray, shape (n_functions,)
        Of users' functions of q.
    duration : ndarray, shape (1,)
        Process time.
    point : ndarray, shape (dim,)
        Scratch.
    """

    position: np.ndarray
    position_squared: np.ndarray
    functions: np.ndarray
    duration: np.ndarray
    point: np.ndarray


def init_path_functions(address: int, user_data: int, n_functions: int) -> PathFunctions:
    """Allocate the scratch that goes with users' functions."""
    return PathFunctions(address, user_data, np.zeros(n_functions), np.zeros(1))


def init_path_integrals(dim: int, n_functions: int) -> PathIntegrals:
    """Integrals of nothing yet."""
    return PathIntegrals(np.zeros(dim), np.zeros(dim), np.zeros(n_functions), np.zeros(1), np.zeros(dim))


@kernel
def integrate_path(
    integrals: PathIntegrals,
    functions: PathFunctions,
    step: Step,
    standardization: Standardization,
    duration: float,
    from_fraction: float,
    to_fraction: float,
) -> int:
    """Add the part of a step between two fractions of it; updates `integrals`. Returns the functions' code."""
    span = to_fraction - from_fraction
    first = position_weights(from_fraction + GAUSS_NODES[0] * span, duration)
    middle = position_weights(from_fraction + GAUSS_NODES[1] * span, duration)
    last = position_weights(from_fraction + GAUSS_NODES[2] * span, duration)
    _add_position(integrals.position, step, first, middle, last, span * duration)
    _add_position_squared(integrals.position_squared, step, first, middle, last, span * duration)
    integrals.duration[0] += span * duration
    if functions.address == 0:
        return 0
    return _add_functions(integrals, functions, step, standardization, duration, from_fraction, span)


@kernel
def _add_position(
    integral: np.ndarray, step: Step, first: Weights, middle: Weights, last: Weights, time: float
) -> None:
    """Add ∫ q̄ dt, as one weighted sum of both ends of the step; updates `integral`."""
    outer, inner = time * GAUSS_WEIGHTS[0], time * GAUSS_WEIGHTS[1]
    a = outer * (first[0] + last[0]) + inner * middle[0]
    b = outer * (first[1] + last[1]) + inner * middle[1]
    c = outer * (first[2] + last[2]) + inner * middle[2]
    d = outer * (first[3] + last[3]) + inner * middle[3]
    e = outer * (first[4] + last[4]) + inner * middle[4]
    f = outer * (first[5] + last[5]) + inner * middle[5]
    position, momentum, force = step.position, step.momentum, step.stage_forces[0]
    end_position, end_momentum, end_force = (
        step.end_position,
        step.end_momentum,
        step.stage_forces[-1],
    )
    for k in range(integral.shape[0]):
        integral[k] += (
            a * position[k]
            + b * momentum[k]
            + c * force[k]
            + d * end_position[k]
            + e * end_momentum[k]
            + f * end_force[k]
        )


@kernel
def _add_position_squared(
    integral: np.ndarray, step: Step, first: Weights, middle: Weights, last: Weights, time: float
) -> None:
    """Add ∫ q̄² dt from the three nodes, all in one pass over the coordinates; updates `integral`."""
    outer, inner = time * GAUSS_WEIGHTS[0], time * GAUSS_WEIGHTS[1]
    position, momentum, force = step.position, step.momentum, step.stage_forces[0]
    end_position, end_momentum, end_force = (
        step.end_position,
        step.end_momentum,
        step.stage_forces[-1],
    )
    for k in range(integral.shape[0]):
        q, p, f = position[k], momentum[k], force[k]
        end_q, end_p, end_f = end_position[k], end_momentum[k], end_force[k]
        x = first[0] * q + first[1] * p + first[2] * f + first[3] * end_q + first[4] * end_p + first[5] * end_f
        y = middle[0] * q + middle[1] * p + middle[2] * f + middle[3] * end_q + middle[4] * end_p + middle[5] * end_f
        z = last[0] * q + last[1] * p + last[2] * f + last[3] * end_q + last[4] * end_p + last[5] * end_f
        integral[k] += outer * (x * x + z * z) + inner * y * y


@kernel
def _add_functions(
    integrals: PathIntegrals,
    functions: PathFunctions,
    step: Step,
    standardization: Standardization,
    duration: float,
    from_fraction: float,
    span: float,
) -> int:
    """Add users' functions at the three nodes; updates `integrals`."""
    point = integrals.point
    for node in range(3):
        position_at(step, duration, from_fraction + GAUSS_NODES[node] * span, point)
        destandardize(standardization, point)
        code = call_pointer(functions.address, functions.user_data, point, functions.output, functions.unused)
        if code != 0:
            return code
        weight = GAUSS_WEIGHTS[node] * span * duration
        for k in range(functions.output.shape[0]):
            integrals.functions[k] += weight * functions.output[k]
    return 0


@kernel
def write_averages(
    integrals: PathIntegrals,
    standardization: Standardization,
    position: np.ndarray,
    position_squared: np.ndarray,
    functions: np.ndarray,
) -> None:
    """Write the time averages of q, q² and the functions over the interval, in the units of the parameters."""
    time = integrals.duration[0]
    for k in range(position.shape[0]):
        centre, scale = standardization.centre[k], standardization.scale[k]
        mean = integrals.position[k] / time
        square = integrals.position_squared[k] / time
        position[k] = centre + scale * mean
        position_squared[k] = centre * centre + 2.0 * centre * scale * mean + scale * scale * square
    for k in range(functions.shape[0]):
        functions[k] = integrals.functions[k] / time


@kernel
def reset_integrals(integrals: PathIntegrals) -> None:
    """Start a new interval; updates `integrals`."""
    integrals.position[:] = 0.0
    integrals.position_squared[:] = 0.0
    integrals.functions[:] = 0.0
    integrals.duration[0] = 0.0
