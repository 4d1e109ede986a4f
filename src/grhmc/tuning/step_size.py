"""Tuning of the discrete process's step: dual averaging of its logarithm to a target acceptance."""

from __future__ import annotations

import numpy as np

from grhmc.tuning.dual_averaging import DualAveraging, init_dual_averaging

GAMMA = 0.05
KAPPA = 0.75
K0 = 10.0
ANCHOR_FACTOR = 2.0
"""The iterate is drawn to this multiple of the first step: steps that are too long show sooner than short ones.

The other settings are those of Hoffman & Gelman (2014), section 3.2.
"""


def init_step_tuner(step: float) -> DualAveraging:
    """Start at `step`, in process time."""
    log_step = np.full(1, np.log(step))
    return init_dual_averaging(log_step, log_step + np.log(ANCHOR_FACTOR), gamma=GAMMA, kappa=KAPPA, k0=K0)
