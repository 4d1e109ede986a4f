"""One step of an explicit Nyström method: the work horse of every integrator family.

The two-stage splitting is a Nyström method too (kick, drift, kick, drift, kick written out), so one tableau-driven
step serves all three families.
"""

from __future__ import annotations

import numpy as np

from grhmc._jit import kernel
from grhmc.density_pointer import FINE
from grhmc.dynamics.density_call import Density, evaluate_force
from grhmc.dynamics.double_bits import bits_of, double_of
from grhmc.dynamics.nystrom_tableau import TableauArrays
from grhmc.dynamics.phase import Step
from grhmc.dynamics.standardization import Standardization


@kernel
def attempt_step(
    tableau: TableauArrays,
    density: Density,
    standardization: Standardization,
    step: Step,
    duration: float,
) -> tuple[int, int, float, float]:
    """Integrate q̄'' = S g(m + S q̄) over `duration` from the start of `step`; writes its end and its later stages.

    Stage i is q̄_i = q̄ + c_i h p̄ + h² Σ_j a_ij f_j; the last stage is the new position, and the new momentum is
    p̄ + h Σ_i b'_i f_i. The start is left untouched, so a rejected step can be tried again.

    Returns
    -------
    code : int
        `FINE`, or the code of the stage that failed; the end is then meaningless.
    n_gradients : int
        How many times the density was called.
    log_density : float
        At the end of the step.
    error : float
        The largest local error over coordinates, of standardized position and momentum.
    """
    matrix, nodes = tableau.matrix, tableau.nodes
    position, momentum, forces = step.position, step.momentum, step.stage_forces
    n_stages = forces.shape[0]
    square = duration * duration
    code, log_density = FINE, 0.0
    for i in range(1, n_stages):
        stage = step.end_position if i == n_stages - 1 else step.scratch
        move(position, momentum, nodes[i] * duration, forces, matrix[i], i, square, stage)
        code, log_density = evaluate_force(density, standardization, stage, forces[i])
        if code != FINE:
            return code, i, log_density, np.inf
    move(momentum, momentum, 0.0, forces, tableau.velocity_weights, n_stages, duration, step.end_momentum)
    return code, n_stages - 1, log_density, _local_error(tableau, forces, duration)


@kernel
def move(
    base: np.ndarray,
    momentum: np.ndarray,
    drift: float,
    forces: np.ndarray,
    weights: np.ndarray,
    end: int,
    factor: float,
    output: np.ndarray,
) -> None:
    """Write base + drift · momentum + factor · Σ w_i f_i, over the stages before `end`, to `output`.

    In one pass over the coordinates, with three stages or six: those that are missing count as the first, with weight
    zero. One pass is few for small `dim`, and one sum with a single output is what the compiler vectorizes for large.
    """
    a = factor * weights[0]
    b, f = _weight_and_row(forces, weights, 1, end, factor)
    c, g = _weight_and_row(forces, weights, 2, end, factor)
    first = forces[0]
    if end <= _FEW:
        for k in range(output.shape[0]):
            output[k] = base[k] + drift * momentum[k] + a * first[k] + b * f[k] + c * g[k]
        return
    d, h = _weight_and_row(forces, weights, 3, end, factor)
    e, p = _weight_and_row(forces, weights, 4, end, factor)
    o, q = _weight_and_row(forces, weights, 5, end, factor)
    for k in range(output.shape[0]):
        near = base[k] + drift * momentum[k] + a * first[k] + b * f[k]
        output[k] = near + c * g[k] + d * h[k] + e * p[k] + o * q[k]


_FEW = 3
# Stages in a short pass; a long one has `MOST_STAGES` of nystrom_tableau.py, which refuses tableaus with more.


@kernel
def _weight_and_row(
    forces: np.ndarray, weights: np.ndarray, stage: int, end: int, factor: float
) -> tuple[float, np.ndarray]:
    """A stage's weight and force; beyond the last one, zero and the first force, which is always finite."""
    if stage < end:
        return factor * weights[stage], forces[stage]
    return 0.0, forces[0]


@kernel
def _local_error(tableau: TableauArrays, forces: np.ndarray, duration: float) -> float:
    """Largest difference between the method and its embedded companion, over coordinates, position and momentum.

    A maximum, not a root mean square: in many dimensions an average hides the error of a few stiff directions.
    """
    largest = largest_sum(forces, tableau.velocity_error_weights, duration)
    if not _all_zero(tableau.position_error_weights):  # the splitting's embedded formula has the same position
        in_position = largest_sum(forces, tableau.position_error_weights, duration * duration)
        largest = max(largest, in_position)
    return largest


@kernel
def _all_zero(weights: np.ndarray) -> bool:
    total = 0.0
    for i in range(weights.shape[0]):
        total += abs(weights[i])
    return total == 0.0


_MAGNITUDE_BITS = np.int64(0x7FFF_FFFF_FFFF_FFFF)


@kernel
def largest_sum(forces: np.ndarray, weights: np.ndarray, factor: float) -> float:
    """The largest |factor · Σ w_i f_i| over coordinates, or NaN if there is one.

    Magnitudes of doubles are ordered as their bits are, NaN above all. A maximum of integers is vectorized; one of
    doubles is not, because it would have to treat NaN.
    """
    end = forces.shape[0]
    a = factor * weights[0]
    b, f = _weight_and_row(forces, weights, 1, end, factor)
    c, g = _weight_and_row(forces, weights, 2, end, factor)
    first = forces[0]
    largest = np.int64(0)
    if end <= _FEW:
        for k in range(first.shape[0]):
            largest = max(largest, bits_of(a * first[k] + b * f[k] + c * g[k]) & _MAGNITUDE_BITS)
        return double_of(largest)
    d, h = _weight_and_row(forces, weights, 3, end, factor)
    e, p = _weight_and_row(forces, weights, 4, end, factor)
    o, q = _weight_and_row(forces, weights, 5, end, factor)
    for k in range(first.shape[0]):
        defect = a * first[k] + b * f[k] + c * g[k] + d * h[k] + e * p[k] + o * q[k]
        largest = max(largest, bits_of(defect) & _MAGNITUDE_BITS)
    return double_of(largest)
