"""One step of an explicit Nyström method: the work horse of every integrator family.

The two-stage splitting is a Nyström method too (kick, drift, kick, drift, kick written out), so one tableau-driven
step serves all three families.
"""

from __future__ import annotations

import numpy as np

from grhmc._jit import kernel
from grhmc.density_pointer import FINE
from grhmc.dynamics.density_call import Density, evaluate_force
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
    n_stages, dim = forces.shape
    square = duration * duration
    code, log_density = FINE, 0.0
    for i in range(1, n_stages):
        stage = step.end_position if i == n_stages - 1 else step.scratch
        drift = nodes[i] * duration
        first = square * matrix[i, 0]
        for k in range(dim):
            stage[k] = position[k] + drift * momentum[k] + first * forces[0, k]
        add_forces(forces, matrix[i], i, square, stage)
        code, log_density = evaluate_force(density, standardization, stage, forces[i])
        if code != FINE:
            return code, i, log_density, np.inf
    weights, end_momentum = tableau.velocity_weights, step.end_momentum
    first = duration * weights[0]
    for k in range(dim):
        end_momentum[k] = momentum[k] + first * forces[0, k]
    add_forces(forces, weights, n_stages, duration, end_momentum)
    return code, n_stages - 1, log_density, _local_error(tableau, step, duration)


@kernel
def add_forces(forces: np.ndarray, weights: np.ndarray, end: int, factor: float, output: np.ndarray) -> None:
    """Add factor · Σ w_i f_i over the stages 1 to `end` − 1 to `output`.

    Up to three stages in a pass: few passes for small `dim`, and each simple enough to be vectorized for large.
    """
    i = 1
    while i + 2 < end:
        a, b, c = factor * weights[i], factor * weights[i + 1], factor * weights[i + 2]
        for k in range(output.shape[0]):
            output[k] += a * forces[i, k] + b * forces[i + 1, k] + c * forces[i + 2, k]
        i += 3
    if i + 1 < end:
        a, b = factor * weights[i], factor * weights[i + 1]
        for k in range(output.shape[0]):
            output[k] += a * forces[i, k] + b * forces[i + 1, k]
    elif i < end:
        a = factor * weights[i]
        for k in range(output.shape[0]):
            output[k] += a * forces[i, k]


@kernel
def _local_error(tableau: TableauArrays, step: Step, duration: float) -> float:
    """Largest difference between the method and its embedded companion, over coordinates, position and momentum.

    A maximum, not a root mean square: in many dimensions an average hides the error of a few stiff directions.
    Overwrites the step's scratch.
    """
    largest = _largest_defect(step, tableau.velocity_error_weights, duration)
    if tableau.position_error_weights[0] != 0.0:  # the splitting's embedded formula has the same position
        in_position = _largest_defect(step, tableau.position_error_weights, duration * duration)
        largest = max(largest, in_position)
    return largest


@kernel
def _largest_defect(step: Step, weights: np.ndarray, factor: float) -> float:
    """The largest |factor · Σ w_i f_i| over coordinates; overwrites the step's scratch."""
    forces, defect = step.stage_forces, step.scratch
    first = factor * weights[0]
    for k in range(defect.shape[0]):
        defect[k] = first * forces[0, k]
    add_forces(forces, weights, forces.shape[0], factor, defect)
    return largest_magnitude(defect)


_MAGNITUDE_BITS = np.int64(0x7FFF_FFFF_FFFF_FFFF)


@kernel
def largest_magnitude(vector: np.ndarray) -> float:
    """The largest |e_k|, or NaN if there is one; overwrites `vector`.

    Magnitudes of doubles are ordered as their bits are, NaN above all. A maximum of integers is vectorized; one of
    doubles is not, because it would have to treat NaN.
    """
    bits = vector.view(np.int64)
    largest = np.int64(0)
    for k in range(bits.shape[0]):
        largest = max(largest, bits[k] & _MAGNITUDE_BITS)
    bits[0] = largest
    return vector[0]
