"""Tuning of the discrete process's step: dual averaging of its logarithm to a target acceptance."""

from __future__ import annotations

import math

import numpy as np

from grhmc.adaptation.tuners.dual_averaging import DualAveraging, init_dual_averaging
from grhmc.dynamics.coefficients import TABLEAUS

GAMMA = 0.4
"""Eight times that of Hoffman & Gelman (2014), section 3.2, whose other settings are used.

With theirs iterates still jump by a factor of 1.5 after a hundred trajectories. Where the acceptance falls off a cliff
at the limit of stability, their average then lies far below it: an acceptance of 0.97 for a target of 0.75.
"""
KAPPA = 0.75
K0 = 10.0

LARGEST_STEP_PER_U_TURN = 0.5
"""Longest step of the discrete process over the time to a U-turn: one that is longer comes back to where it was."""

SHORT_STEP = 0.125
"""Share of the longest step below which an edge is no reason for shorter ones: a place where the density is not finite,
or a jump of it.

It is not an overflow then, nor an error of the dynamics. Shorter steps meet a jump as often, and a thin shell of places
that are not finite more often: tuning would never come to an end."""

FIRST_SHARE = 1 / 3
"""Of the longest step, for each gradient of a step: where tuning begins. A sixth of the time to a U-turn for leapfrog:
0.15 to 0.25 is right for most posteriors."""


def init_step_tuner(step: float) -> DualAveraging:
    """Start at `step`, in process time, and be drawn to it."""
    log_step = np.full(1, np.log(step))
    return init_dual_averaging(log_step, log_step, gamma=GAMMA, kappa=KAPPA, k0=K0)


_LARGEST_LOG_STEP = 100.0  # before `longest_step` cuts it: nothing stops a step that is always accepted


def longest_step(log_time_to_u_turn: float) -> float:
    """The longest step of trajectories, in process time."""
    return LARGEST_STEP_PER_U_TURN * math.exp(log_time_to_u_turn)


def first_step(integrator: str, log_time_to_u_turn: float) -> float:
    """Where an integrator's tuning begins, in process time."""
    return FIRST_SHARE * TABLEAUS[integrator].gradients_per_step * longest_step(log_time_to_u_turn)


def tuned_step(tuner: DualAveraging, first_step: float, log_time_to_u_turn: float) -> float:
    """The step that tuning has found; before it has seen a trajectory, `first_step`."""
    step = first_step
    if tuner.iteration[0] > 1:
        step = math.exp(min(tuner.log_value_average[0], _LARGEST_LOG_STEP))
    return min(step, longest_step(log_time_to_u_turn))


def mean_acceptance(tuner: DualAveraging, target: float) -> float:
    """Of the trajectories that a tuner has seen; the target before it has seen one.

    At most 1; a rough trajectory counts as −1.
    """
    return float(target - tuner.sum_error[0] / max(1, tuner.iteration[0] - 1))


def started_step_tuner(step: float) -> DualAveraging:
    """A tuner that has found `step` already."""
    tuner = init_step_tuner(step)
    tuner.iteration[0] = 2
    return tuner
