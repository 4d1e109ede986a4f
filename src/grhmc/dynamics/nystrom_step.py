"""One step of an explicit Nyström method: the work horse of every integrator family.

Leapfrog and the two-stage splitting are Nyström methods too (kicks and drifts written out), so one tableau-driven step
serves all families.
"""

from __future__ import annotations

import numpy as np

from grhmc._jit import array_kernel, kernel
from grhmc.density_pointer import FINE
from grhmc.dynamics.density_call import Density, evaluate_at_point
from grhmc.dynamics.double_bits import bits_of, double_of
from grhmc.dynamics.nystrom_tableau import TableauArrays
from grhmc.dynamics.phase import Step, StepEnd
from grhmc.dynamics.standardization import Standardization, is_diagonal, to_parameters


@kernel
def attempt_step(
    tableau: TableauArrays,
    density: Density,
    standardization: Standardization,
    step: Step,
    duration: float,
    wants_error: bool,
) -> tuple[int, int, StepEnd, float]:
    """Integrate q̄'' = F S g(m + S F q̄) over `duration` from the start of `step`; writes its end and its later stages.

    Stage i is q̄_i = q̄ + c_i h p̄ + h² Σ_j a_ij f_j; the last stage is the new position, and the new momentum is
    p̄ + h Σ_i b'_i f_i. The start is left untouched, so a rejected step can be tried again.

    Returns
    -------
    code : int
        `FINE`, or the code of the stage that failed; the end is then meaningless.
    n_gradients : int
        How many times the density was called.
    end : StepEnd
        Log density and kinetic energy at the end of the step.
    error : float
        The largest local error over coordinates, of standardized position and momentum, or NaN if there is one. A
        maximum, not a root mean square: in many dimensions an average hides the error of a few stiff directions.
        0 if it is not wanted and the method has few stages.
    """
    matrix, nodes = tableau.matrix, tableau.nodes
    position, momentum, forces = step.position, step.momentum, step.stage_forces
    centre, scale = standardization.centre, standardization.scale
    n_stages = forces.shape[0]
    square = duration * duration
    if n_stages == _ONE_FORCE and not wants_error:
        code, end = _leapfrog(tableau, density, standardization, step, duration)
        return code, 1, end, 0.0
    code, log_density = FINE, 0.0
    for i in range(1, n_stages):
        weights = _stage_weights(matrix[i], i, square)
        rows = _stage_rows(forces, i)
        drift = nodes[i] * duration
        if i <= _FEW:
            _move_few(position, momentum, drift, rows, weights, centre, scale, step.end_position, density.point)
        else:
            _move_many(position, momentum, drift, rows, weights, centre, scale, step.end_position, density.point)
        if not is_diagonal(standardization):
            to_parameters(standardization, step.end_position, density.point)
        code, log_density = evaluate_at_point(density, standardization, forces[i])
        if code != FINE:
            return code, i, StepEnd(log_density, np.inf), np.inf
    rows = _stage_rows(forces, n_stages)
    weights = _stage_weights(tableau.velocity_weights, n_stages, duration)
    if n_stages <= _FEW and not wants_error:
        twice_kinetic = _kick_few(momentum, rows, weights, step.end_momentum)
        return code, n_stages - 1, StepEnd(log_density, 0.5 * twice_kinetic), 0.0
    in_momentum = _stage_weights(tableau.velocity_error_weights, n_stages, duration)
    in_position = _stage_weights(tableau.position_error_weights, n_stages, square)
    if n_stages <= _FEW:
        twice_kinetic, error = _finish_few(momentum, rows, weights, in_momentum, in_position, step.end_momentum)
    else:
        twice_kinetic, error = _finish_many(momentum, rows, weights, in_momentum, in_position, step.end_momentum)
    return code, n_stages - 1, StepEnd(log_density, 0.5 * twice_kinetic), error


@kernel
def _leapfrog(
    tableau: TableauArrays, density: Density, standardization: Standardization, step: Step, duration: float
) -> tuple[int, StepEnd]:
    """`attempt_step` by a method with one new force, without an error: the default process is mostly here."""
    start_force, end_force = step.stage_forces[0], step.stage_forces[1]
    first, last = duration * tableau.velocity_weights[0], duration * tableau.velocity_weights[1]
    _move_by_one(
        step.position,
        step.momentum,
        start_force,
        duration,
        duration * duration * tableau.matrix[1, 0],
        standardization.centre,
        standardization.scale,
        step.end_position,
        density.point,
    )
    if not is_diagonal(standardization):
        to_parameters(standardization, step.end_position, density.point)
    code, log_density = evaluate_at_point(density, standardization, end_force)
    if code != FINE:
        return code, StepEnd(log_density, np.inf)
    twice_kinetic = _kick_by_two(step.momentum, start_force, end_force, first, last, step.end_momentum)
    return code, StepEnd(log_density, 0.5 * twice_kinetic)


@array_kernel
def _move_by_one(
    position: np.ndarray,
    momentum: np.ndarray,
    force: np.ndarray,
    drift: float,
    weight: float,
    centre: np.ndarray,
    scale: np.ndarray,
    stage: np.ndarray,
    point: np.ndarray,
) -> None:
    """`_move_few` with one force."""
    for k in range(stage.shape[0]):
        moved = position[k] + drift * momentum[k] + weight * force[k]
        stage[k] = moved
        point[k] = centre[k] + scale[k] * moved


@array_kernel
def _kick_by_two(
    momentum: np.ndarray, first_force: np.ndarray, last_force: np.ndarray, first: float, last: float, end: np.ndarray
) -> float:
    """`_kick_few` with two forces."""
    square = 0.0
    for k in range(end.shape[0]):
        new = momentum[k] + first * first_force[k] + last * last_force[k]
        end[k] = new
        square += new * new
    return square


_ONE_FORCE = 2
# Stages of a method with a single new force: leapfrog.

_FEW = 3
# Stages in a short pass; a long one has `MOST_STAGES` of nystrom_tableau.py, which rejects tableaus with more. Stages
# that are missing count as the first, with weight zero: one pass over the coordinates then serves every tableau.

_Rows = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
_RowWeights = tuple[float, float, float, float, float, float]


@kernel
def _stage_weights(weights: np.ndarray, end: int, factor: float) -> _RowWeights:
    return (
        factor * weights[0],
        factor * weights[1] if end > 1 else 0.0,
        factor * weights[2] if end > 2 else 0.0,
        factor * weights[3] if end > 3 else 0.0,
        factor * weights[4] if end > 4 else 0.0,
        factor * weights[5] if end > 5 else 0.0,
    )


@kernel
def _stage_rows(forces: np.ndarray, end: int) -> _Rows:
    """The stages' forces; in place of those from `end` on the first, which is always finite."""
    return (
        forces[0],
        forces[1 if end > 1 else 0],
        forces[2 if end > 2 else 0],
        forces[3 if end > 3 else 0],
        forces[4 if end > 4 else 0],
        forces[5 if end > 5 else 0],
    )


@array_kernel
def _move_few(
    position: np.ndarray,
    momentum: np.ndarray,
    drift: float,
    rows: _Rows,
    weights: _RowWeights,
    centre: np.ndarray,
    scale: np.ndarray,
    stage: np.ndarray,
    point: np.ndarray,
) -> None:
    """Write position + drift · momentum + Σ w_i f_i to `stage`, and in the units of the parameters to `point`."""
    f, g, h = rows[0], rows[1], rows[2]
    a, b, c = weights[0], weights[1], weights[2]
    for k in range(stage.shape[0]):
        moved = position[k] + drift * momentum[k] + a * f[k] + b * g[k] + c * h[k]
        stage[k] = moved
        point[k] = centre[k] + scale[k] * moved


@array_kernel
def _move_many(
    position: np.ndarray,
    momentum: np.ndarray,
    drift: float,
    rows: _Rows,
    weights: _RowWeights,
    centre: np.ndarray,
    scale: np.ndarray,
    stage: np.ndarray,
    point: np.ndarray,
) -> None:
    """The same with all six rows."""
    for k in range(stage.shape[0]):
        moved = position[k] + drift * momentum[k] + _weighted_sum(rows, weights, k)
        stage[k] = moved
        point[k] = centre[k] + scale[k] * moved


@kernel
def _weighted_sum(rows: _Rows, weights: _RowWeights, k: int) -> float:
    near = weights[0] * rows[0][k] + weights[1] * rows[1][k] + weights[2] * rows[2][k]
    return near + weights[3] * rows[3][k] + weights[4] * rows[4][k] + weights[5] * rows[5][k]


_MAGNITUDE_BITS = np.int64(0x7FFF_FFFF_FFFF_FFFF)
# Magnitudes of doubles are ordered as their bits are, NaN above all. A maximum of integers is vectorized; one of
# doubles is not, because it would have to treat NaN.


@array_kernel
def _kick_few(momentum: np.ndarray, rows: _Rows, weights: _RowWeights, end_momentum: np.ndarray) -> float:
    """Write momentum + Σ w_i f_i to `end_momentum`; returns its squared length."""
    f, g, h = rows[0], rows[1], rows[2]
    square = 0.0
    for k in range(end_momentum.shape[0]):
        new = momentum[k] + weights[0] * f[k] + weights[1] * g[k] + weights[2] * h[k]
        end_momentum[k] = new
        square += new * new
    return square


@array_kernel
def _finish_few(
    momentum: np.ndarray,
    rows: _Rows,
    weights: _RowWeights,
    in_momentum: _RowWeights,
    in_position: _RowWeights,
    end_momentum: np.ndarray,
) -> tuple[float, float]:
    """`_kick_few`, which also returns the largest error."""
    f, g, h = rows[0], rows[1], rows[2]
    square, largest = 0.0, np.int64(0)
    for k in range(end_momentum.shape[0]):
        new = momentum[k] + weights[0] * f[k] + weights[1] * g[k] + weights[2] * h[k]
        end_momentum[k] = new
        square += new * new
        of_momentum = in_momentum[0] * f[k] + in_momentum[1] * g[k] + in_momentum[2] * h[k]
        of_position = in_position[0] * f[k] + in_position[1] * g[k] + in_position[2] * h[k]
        largest = max(largest, bits_of(of_momentum) & _MAGNITUDE_BITS)
        largest = max(largest, bits_of(of_position) & _MAGNITUDE_BITS)
    return square, double_of(largest)


@array_kernel
def _finish_many(
    momentum: np.ndarray,
    rows: _Rows,
    weights: _RowWeights,
    in_momentum: _RowWeights,
    in_position: _RowWeights,
    end_momentum: np.ndarray,
) -> tuple[float, float]:
    """The same with all six rows."""
    square, largest = 0.0, np.int64(0)
    for k in range(end_momentum.shape[0]):
        new = momentum[k] + _weighted_sum(rows, weights, k)
        end_momentum[k] = new
        square += new * new
        largest = max(largest, bits_of(_weighted_sum(rows, in_momentum, k)) & _MAGNITUDE_BITS)
        largest = max(largest, bits_of(_weighted_sum(rows, in_position, k)) & _MAGNITUDE_BITS)
    return square, double_of(largest)
