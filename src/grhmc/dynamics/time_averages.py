"""Integrals over the path of q, q² and of users' functions, by Gauss quadrature on dense output.

Time averages use the whole trajectory, not only the draws. They cost no gradient.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from grhmc._jit import array_kernel, kernel
from grhmc.dynamics.aligned import aligned_zeros
from grhmc.dynamics.dense_output import Weights, position_at, position_weights
from grhmc.dynamics.density_call import call_pointer
from grhmc.dynamics.phase import Step, copy_to
from grhmc.dynamics.standardization import Standardization, apply_factor, is_diagonal

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
    """Integrals over the present interval, of the scaled positions y = F q̄, so that q = m + S y.

    Attributes
    ----------
    position, position_squared : ndarray, shape (dim,)
        ∫ y dt and ∫ y² dt: about the centre, so that nothing cancels when a posterior is far from zero.
    functions : ndarray, shape (n_functions,)
        Of users' functions of q.
    duration : ndarray, shape (1,)
        Process time.
    point : ndarray, shape (dim,)
        Scratch.
    ends : ndarray, shape (6, dim)
        Scratch: both ends of a step, times F.
    """

    position: np.ndarray
    position_squared: np.ndarray
    functions: np.ndarray
    duration: np.ndarray
    point: np.ndarray
    ends: np.ndarray


def init_path_functions(address: int, user_data: int, n_functions: int) -> PathFunctions:
    """Allocate the scratch that goes with users' functions."""
    return PathFunctions(address, user_data, np.zeros(n_functions), np.zeros(1))


def init_path_integrals(dim: int, n_functions: int) -> PathIntegrals:
    """Integrals of nothing yet."""
    return PathIntegrals(
        aligned_zeros(dim),
        aligned_zeros(dim),
        np.zeros(n_functions),
        np.zeros(1),
        aligned_zeros(dim),
        aligned_zeros(6, dim),
    )


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
    position, momentum, force = step.position, step.momentum, step.stage_forces[0]
    end_position, end_momentum, end_force = step.end_position, step.end_momentum, step.stage_forces[-1]
    if not is_diagonal(standardization):
        ends = integrals.ends
        copy_to(position, ends[0])
        copy_to(momentum, ends[1])
        copy_to(force, ends[2])
        copy_to(end_position, ends[3])
        copy_to(end_momentum, ends[4])
        copy_to(end_force, ends[5])
        for row in range(6):
            apply_factor(standardization, ends[row])
        position, momentum, force = ends[0], ends[1], ends[2]
        end_position, end_momentum, end_force = ends[3], ends[4], ends[5]
    _add_part(
        position,
        momentum,
        force,
        end_position,
        end_momentum,
        end_force,
        first,
        middle,
        last,
        span * duration,
        integrals.position,
        integrals.position_squared,
    )
    integrals.duration[0] += span * duration
    return integrate_functions(integrals, functions, step, standardization, duration, from_fraction, to_fraction)


@array_kernel
def _add_part(
    position: np.ndarray,
    momentum: np.ndarray,
    force: np.ndarray,
    end_position: np.ndarray,
    end_momentum: np.ndarray,
    end_force: np.ndarray,
    first: Weights,
    middle: Weights,
    last: Weights,
    time: float,
    integral: np.ndarray,
    integral_squared: np.ndarray,
) -> None:
    """Add ∫ q̄ dt and ∫ q̄² dt from the three nodes, in one pass over the coordinates; updates both integrals."""
    outer, inner = time * GAUSS_WEIGHTS[0], time * GAUSS_WEIGHTS[1]
    for k in range(integral.shape[0]):
        q, p, f = position[k], momentum[k], force[k]
        end_q, end_p, end_f = end_position[k], end_momentum[k], end_force[k]
        x = first[0] * q + first[1] * p + first[2] * f + first[3] * end_q + first[4] * end_p + first[5] * end_f
        y = middle[0] * q + middle[1] * p + middle[2] * f + middle[3] * end_q + middle[4] * end_p + middle[5] * end_f
        z = last[0] * q + last[1] * p + last[2] * f + last[3] * end_q + last[4] * end_p + last[5] * end_f
        integral[k] += outer * (x + z) + inner * y
        integral_squared[k] += outer * (x * x + z * z) + inner * y * y


@kernel
def _crossings(q: float, middle: float, end_q: float) -> float:
    """Changes of side of the centre from the start of a step to its middle and from the middle to the end."""
    return (1.0 if q * middle < 0.0 else 0.0) + (1.0 if middle * end_q < 0.0 else 0.0)


@array_kernel
def integrate_and_move(
    position: np.ndarray,
    momentum: np.ndarray,
    force: np.ndarray,
    end_position: np.ndarray,
    end_momentum: np.ndarray,
    end_force: np.ndarray,
    duration: float,
    integral: np.ndarray,
    integral_squared: np.ndarray,
    n_crossings: np.ndarray,
) -> None:
    """Make the end of a step the new start, add its integrals and count its crossings, in one pass.

    For whole steps ∫ q̄ is that of the quintic, and ∫ q̄² comes from both ends, with derivatives, and the middle:
    Simpson's rule made exact for polynomials of degree five. Its error, h⁷/604800 of a sixth derivative, is three times
    that of the three nodes that `integrate_path` takes for parts of a step, for half of the arithmetic. All of this is
    one pass because memory, not arithmetic, is what a step costs in many dimensions.
    """
    half, tenth = 0.5 * duration, 0.1 * duration * duration
    rest = duration * duration * duration / 120.0
    outer, slope, inner = 7.0 / 30.0 * duration, duration * duration / 30.0, 16.0 / 30.0 * duration
    from_momentum, from_force = 5.0 / 32.0 * duration, duration * duration / 64.0
    for k in range(position.shape[0]):
        q, p, f = position[k], momentum[k], force[k]
        end_q, end_p, end_f = end_position[k], end_momentum[k], end_force[k]
        middle = 0.5 * (q + end_q) + from_momentum * (p - end_p) + from_force * (f + end_f)
        integral[k] += half * (q + end_q) + tenth * (p - end_p) + rest * (f + end_f)
        at_ends = q * (outer * q + slope * p) + end_q * (outer * end_q - slope * end_p)
        integral_squared[k] += at_ends + inner * middle * middle
        n_crossings[k] += _crossings(q, middle, end_q)
        position[k], momentum[k], force[k] = end_q, end_p, end_f


@array_kernel
def move_and_count(
    position: np.ndarray,
    momentum: np.ndarray,
    force: np.ndarray,
    end_position: np.ndarray,
    end_momentum: np.ndarray,
    end_force: np.ndarray,
    duration: float,
    n_crossings: np.ndarray,
) -> None:
    """`integrate_and_move` without the integrals."""
    from_momentum, from_force = 5.0 / 32.0 * duration, duration * duration / 64.0
    for k in range(position.shape[0]):
        q, p, f = position[k], momentum[k], force[k]
        end_q, end_p, end_f = end_position[k], end_momentum[k], end_force[k]
        middle = 0.5 * (q + end_q) + from_momentum * (p - end_p) + from_force * (f + end_f)
        n_crossings[k] += _crossings(q, middle, end_q)
        position[k], momentum[k], force[k] = end_q, end_p, end_f


@kernel
def integrate_functions(
    integrals: PathIntegrals,
    functions: PathFunctions,
    step: Step,
    standardization: Standardization,
    duration: float,
    from_fraction: float,
    to_fraction: float,
) -> int:
    """Add users' functions, at three nodes between two fractions of a step; updates `integrals`. Returns their code."""
    if functions.address == 0:
        return 0
    span = to_fraction - from_fraction
    point = integrals.point
    for node in range(3):
        position_at(step, duration, from_fraction + GAUSS_NODES[node] * span, point)
        apply_factor(standardization, point)
        code = _add_functions_at_point(integrals, functions, standardization, GAUSS_WEIGHTS[node] * span * duration)
        if code != 0:
            return code
    return 0


@kernel
def _add_functions_at_point(
    integrals: PathIntegrals, functions: PathFunctions, standardization: Standardization, weight: float
) -> int:
    """Add `weight` times the functions at the scaled position in `integrals.point`, which is overwritten."""
    point, centre, scale = integrals.point, standardization.centre, standardization.scale
    for k in range(point.shape[0]):
        point[k] = centre[k] + scale[k] * point[k]
    output, sums = functions.output, integrals.functions
    code = call_pointer(functions.address, functions.user_data, point, output, functions.unused)
    if code == 0:
        for k in range(output.shape[0]):
            sums[k] += weight * output[k]
    return code


@kernel
def add_point(
    integrals: PathIntegrals, functions: PathFunctions, scaled: np.ndarray, standardization: Standardization
) -> int:
    """Add the point y = `scaled` with weight one, for averages over draws; updates `integrals`.

    Returns the functions' code.
    """
    _add_to_sums(scaled, integrals.position, integrals.position_squared)
    integrals.duration[0] += 1.0
    if functions.address == 0:
        return 0
    copy_to(scaled, integrals.point)
    return _add_functions_at_point(integrals, functions, standardization, 1.0)


@array_kernel
def _add_to_sums(values: np.ndarray, sums: np.ndarray, sums_of_squares: np.ndarray) -> None:
    for k in range(values.shape[0]):
        sums[k] += values[k]
        sums_of_squares[k] += values[k] * values[k]


@kernel
def write_averages(
    integrals: PathIntegrals,
    standardization: Standardization,
    position: np.ndarray,
    position_squared: np.ndarray,
    functions: np.ndarray,
) -> None:
    """Write the time averages of q, q² and the functions over the interval, in the units of the parameters."""
    time, centres, scales = integrals.duration[0], standardization.centre, standardization.scale
    means, squares, sums = integrals.position, integrals.position_squared, integrals.functions
    for k in range(position.shape[0]):
        centre, scale = centres[k], scales[k]
        mean = means[k] / time
        square = squares[k] / time
        position[k] = centre + scale * mean
        position_squared[k] = centre * centre + 2.0 * centre * scale * mean + scale * scale * square
    for k in range(functions.shape[0]):
        functions[k] = sums[k] / time


@kernel
def reset_integrals(integrals: PathIntegrals) -> None:
    """Start a new interval; updates `integrals`."""
    integrals.position[:] = 0.0
    integrals.position_squared[:] = 0.0
    integrals.functions[:] = 0.0
    integrals.duration[0] = 0.0
