"""What one chain brings to cross-chain adaptation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grhmc.adaptation.integrator_choice import TriedIntegrators
from grhmc.adaptation.tuners.dual_averaging import DualAveraging
from grhmc.adaptation.tuners.moments import RunningMoments
from grhmc.adaptation.tuners.momentum_time import MomentumTimeTuner
from grhmc.dynamics.standardization import Standardization


@dataclass(frozen=True)
class Findings:
    """Where a chain is, and what its tuners have found by the end of a stage: plain arrays and numbers.

    Attributes
    ----------
    position, force : ndarray, shape (dim,)
        Standardized, as is the force.
    log_density, step_size, accepted_step, error_ratio : float
        Of the present state, and of the steps of the continuous process.
    standardization : Standardization
    moments, previous_moments : RunningMoments
        Of the stage that has just ended, and of the one before.
    positions, gradients : ndarray, shape (n_kept, dim)
        Draws of the stage that has just ended, and the gradients there.
    log_time, log_process_time : float
        Of the time to a U-turn, in the units of the event rate and in process time.
    step_tuner : DualAveraging
        Of the trajectories' step.
    momentum_time_tuner : MomentumTimeTuner
    mean_acceptance : float
        Of the stage's trajectories, as that tuner counts it.
    tried : TriedIntegrators
        What rounds before have found of them.
    is_lost : bool
        Whether it was left out the last time.
    is_far_below : bool
        Whether it has seen a place of far higher log density (`grhmc.run.highest_place`).
    """

    position: np.ndarray
    force: np.ndarray
    log_density: float
    step_size: float
    accepted_step: float
    error_ratio: float
    standardization: Standardization
    moments: RunningMoments
    previous_moments: RunningMoments
    positions: np.ndarray
    gradients: np.ndarray
    log_time: float
    log_process_time: float
    step_tuner: DualAveraging
    momentum_time_tuner: MomentumTimeTuner
    mean_acceptance: float
    tried: TriedIntegrators
    is_lost: bool
    is_far_below: bool
