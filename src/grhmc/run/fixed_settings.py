"""What of a run's settings the kernels see from beginning to end; stages write the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grhmc.adaptation.tuners.momentum_time import LENGTH_RANGES
from grhmc.events.rates import ARC_LENGTH_RATE, CONSTANT_RATE
from grhmc.events.refreshment import GAUSSIAN_LAW, SPEED_WEIGHTED_LAW
from grhmc.process.discrete import EXPONENTIAL_LENGTH, FRESH, PERSISTENT, UNIFORM_LENGTH

if TYPE_CHECKING:
    import numpy as np

    from grhmc.settings import RunSettings


def write_fixed_settings(settings: RunSettings, kernel: np.recarray) -> None:
    """Write what no stage changes into the kernel's settings."""
    limits, continuous, discrete = settings.limits, settings.continuous, settings.discrete
    kernel.tolerance = settings.tolerance
    kernel.largest_step = limits.largest_step
    kernel.step_floor = limits.step_floor
    kernel.divergence_threshold = limits.divergence_threshold
    kernel.max_gradients_per_draw = settings.max_gradients_per_draw
    is_constant = continuous.event_rate_kind == "constant"
    kernel.rate = CONSTANT_RATE if is_constant else ARC_LENGTH_RATE
    kernel.law = GAUSSIAN_LAW if is_constant else SPEED_WEIGHTED_LAW
    kernel.persistence = continuous.persistence
    kernel.momentum_factor = 1.0
    kernel.momentum = PERSISTENT if discrete.momentum == "persistent" else FRESH
    kernel.length_law = UNIFORM_LENGTH if discrete.length_law == "uniform" else EXPONENTIAL_LENGTH
    kernel.u_turns_per_refreshment = discrete.u_turns_per_refreshment or LENGTH_RANGES[discrete.momentum].first
