"""A point in phase space and a step between two of them: the arrays every part of the dynamics shares."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grhmc._jit import array_kernel, kernel
from grhmc.dynamics.aligned import aligned_zeros


class Step(NamedTuple):
    """Both ends of one integration step, in standardized coordinates.

    Between steps the start is the present state and the end is scratch. The duration of the step travels beside it.

    Attributes
    ----------
    position, momentum : ndarray, shape (dim,)
        q̄ and p̄ at the start.
    end_position, end_momentum : ndarray, shape (dim,)
        q̄ and p̄ at the end.
    stage_forces : ndarray, shape (n_stages, dim)
        S g at every stage: the first row belongs to the start, the last to the end (first same as last).
    """

    position: np.ndarray
    momentum: np.ndarray
    end_position: np.ndarray
    end_momentum: np.ndarray
    stage_forces: np.ndarray


class StepEnd(NamedTuple):
    """What is known of a step's end beside its arrays."""

    log_density: float
    kinetic_energy: float


def init_step(dim: int, n_stages: int) -> Step:
    """Allocate the arrays of a step."""
    return Step(
        position=aligned_zeros(dim),
        momentum=aligned_zeros(dim),
        end_position=aligned_zeros(dim),
        end_momentum=aligned_zeros(dim),
        stage_forces=aligned_zeros(n_stages, dim),
    )


@kernel
def copy_to(source: np.ndarray, target: np.ndarray) -> None:
    """Copy a vector; writes `target`."""
    for k in range(source.shape[0]):
        target[k] = source[k]


@array_kernel
def _copy_state(
    position: np.ndarray,
    momentum: np.ndarray,
    force: np.ndarray,
    to_position: np.ndarray,
    to_momentum: np.ndarray,
    to_force: np.ndarray,
) -> None:
    for k in range(position.shape[0]):
        to_position[k], to_momentum[k], to_force[k] = position[k], momentum[k], force[k]


@kernel
def move_to_end(step: Step) -> None:
    """Make the end of the step the new start; updates `step`."""
    forces = step.stage_forces
    _copy_state(step.end_position, step.end_momentum, forces[-1], step.position, step.momentum, forces[0])


@kernel
def remember(step: Step, state: np.ndarray) -> None:
    """Copy the present state to the rows of `state`: position, momentum and force."""
    _copy_state(step.position, step.momentum, step.stage_forces[0], state[0], state[1], state[2])


@kernel
def return_to(step: Step, state: np.ndarray) -> None:
    """Make what `remember` has copied the present state again; updates `step`."""
    _copy_state(state[0], state[1], state[2], step.position, step.momentum, step.stage_forces[0])


@kernel
def reverse(momentum: np.ndarray) -> None:
    """Change the sign of a momentum; updates it."""
    for k in range(momentum.shape[0]):
        momentum[k] = -momentum[k]


@kernel
def inner_product(left: np.ndarray, right: np.ndarray) -> float:
    """Σ_k left_k right_k."""
    total = 0.0
    for k in range(left.shape[0]):
        total += left[k] * right[k]
    return total


@kernel
def kinetic_energy(momentum: np.ndarray) -> float:
    """½ p̄·p̄."""
    return 0.5 * inner_product(momentum, momentum)
