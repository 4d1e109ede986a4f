"""Draws of a stage with their gradients, from which correlations are estimated when it ends."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grhmc._jit import kernel
from grhmc.dynamics.aligned import aligned_zeros
from grhmc.dynamics.phase import Step
from grhmc.dynamics.standardization import Standardization, gradient_of_force, to_parameters


class DrawSample(NamedTuple):
    """Every n-th draw of a stage, in the units of the parameters.

    Attributes
    ----------
    positions, gradients : ndarray, shape (capacity, dim)
        Of the log density; capacity 0: none are kept.
    n_kept, n_seen, spacing : ndarray of int, shape (1,)
        Rows that are filled, draws that were seen, and the number of draws from one row to the next.
    """

    positions: np.ndarray
    gradients: np.ndarray
    n_kept: np.ndarray
    n_seen: np.ndarray
    spacing: np.ndarray


def init_draw_sample(dim: int, capacity: int) -> DrawSample:
    """No draws yet, and room for `capacity`."""
    counts = [np.zeros(1, dtype=np.int64) for _ in range(3)]
    return DrawSample(aligned_zeros(capacity, dim), aligned_zeros(capacity, dim), *counts)


def begin_sample(sample: DrawSample, n_draws: int) -> None:
    """Start over, for a stage of `n_draws`; updates `sample`."""
    capacity = len(sample.positions)
    sample.n_kept[0] = sample.n_seen[0] = 0
    sample.spacing[0] = -(-n_draws // capacity) if capacity else 1


@kernel
def observe_state(sample: DrawSample, step: Step, standardization: Standardization) -> None:
    """Take in a draw, the start of `step`; updates `sample`."""
    row = sample.n_kept[0]
    sample.n_seen[0] += 1
    if row >= sample.positions.shape[0] or sample.n_seen[0] % sample.spacing[0] != 0:
        return
    to_parameters(standardization, step.position, sample.positions[row])
    gradient_of_force(standardization, step.stage_forces[0], sample.gradients[row])
    sample.n_kept[0] = row + 1


def kept_draws(sample: DrawSample) -> tuple[np.ndarray, np.ndarray]:
    """Copies of the rows that are filled: positions and gradients, each of shape (n, dim)."""
    n = int(sample.n_kept[0])
    return sample.positions[:n].copy(), sample.gradients[:n].copy()
