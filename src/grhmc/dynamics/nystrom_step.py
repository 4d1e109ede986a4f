"""One step of an explicit Nyström method: the work horse of every integrator family.

The two-stage splitting is a Nyström method too (kick, drift, kick, drift, kick written out), so one tableau-driven
step serves all three families.
"""

from __future__ import annotations

import numpy as np

from grhmc._jit import kernel, reduction_kernel
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
        The largest local error over coordinates, of position and momentum, each relative to max(1, |p̄_k|).
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
        for j in range(1, i):
            weight = square * matrix[i, j]
            for k in range(dim):
                stage[k] += weight * forces[j, k]
        code, log_density = evaluate_force(density, standardization, stage, forces[i])
        if code != FINE:
            return code, i, log_density, np.inf
    add_forces(momentum, forces, tableau.velocity_weights, duration, step.end_momentum)
    return code, n_stages - 1, log_density, _local_error(tableau, step, duration)


@kernel
def add_forces(base: np.ndarray, forces: np.ndarray, weights: np.ndarray, factor: float, output: np.ndarray) -> None:
    """Write base + factor · Σ_i w_i f_i; one pass per stage, which the compiler vectorizes."""
    first = factor * weights[0]
    for k in range(output.shape[0]):
        output[k] = base[k] + first * forces[0, k]
    for i in range(1, forces.shape[0]):
        weight = factor * weights[i]
        for k in range(output.shape[0]):
            output[k] += weight * forces[i, k]


@kernel
def _local_error(tableau: TableauArrays, step: Step, duration: float) -> float:
    """Largest difference between the method and its embedded companion, over coordinates, position and momentum.

    A maximum, not a root mean square: in many dimensions an average hides the error of a few stiff directions.
    Overwrites the step's scratch.
    """
    momentum, defect = step.momentum, step.scratch
    largest = 0.0
    for is_momentum in range(2):
        weights = tableau.velocity_error_weights if is_momentum else tableau.position_error_weights
        factor = duration if is_momentum else duration * duration
        _weighted_forces(step.stage_forces, weights, factor, defect)
        largest = max(largest, largest_relative(defect, momentum))
    return largest


@kernel
def _weighted_forces(forces: np.ndarray, weights: np.ndarray, factor: float, output: np.ndarray) -> None:
    """Write factor · Σ_i w_i f_i."""
    first = factor * weights[0]
    for k in range(output.shape[0]):
        output[k] = first * forces[0, k]
    for i in range(1, forces.shape[0]):
        weight = factor * weights[i]
        for k in range(output.shape[0]):
            output[k] += weight * forces[i, k]


@reduction_kernel
def largest_relative(defect: np.ndarray, momentum: np.ndarray) -> float:
    """The largest |e_k| / max(1, |p̄_k|)."""
    largest = 0.0
    for k in range(defect.shape[0]):
        size = abs(momentum[k])
        size = size if size > 1.0 else 1.0
        relative = abs(defect[k]) / size
        largest = relative if relative > largest else largest
    return largest
