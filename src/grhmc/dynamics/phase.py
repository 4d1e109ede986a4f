"""A point in phase space and a step between two of them: the arrays every part of the dynamics shares."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grhmc._jit import kernel
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


@kernel
def move_to_end(step: Step) -> None:
    """Make the end of the step the new start; updates `step`."""
    copy_to(step.end_position, step.position)
    copy_to(step.end_momentum, step.momentum)
    copy_to(step.stage_forces[-1], step.stage_forces[0])


@kernel
def remember(step: Step, state: np.ndarray) -> None:
    """Copy the present state to the rows of `state`: position, momentum and force."""
    copy_to(step.position, state[0])
    copy_to(step.momentum, state[1])
    copy_to(step.stage_forces[0], state[2])


@kernel
def return_to(step: Step, state: np.ndarray) -> None:
    """Make what `remember` has copied the present state again; updates `step`."""
    copy_to(state[0], step.position)
    copy_to(state[1], step.momentum)
    copy_to(state[2], step.stage_forces[0])


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
