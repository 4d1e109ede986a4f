"""What tuners of the scale and of the event rate begin a stage with."""

from __future__ import annotations

import math

import numpy as np

from grhmc.adaptation.stage import FORGET, EventRateRule, ScaleRule
from grhmc.adaptation.tuners.dual_averaging import init_dual_averaging
from grhmc.adaptation.tuners.event_rate import init_event_rate_tuner
from grhmc.adaptation.tuners.mct import init_crossing_time_tuner
from grhmc.adaptation.tuners.moments import begin_window, forget
from grhmc.adaptation.tuners.scale_from_moments import FIXED, MCT
from grhmc.events.rates import ARC_LENGTH_RATE, USER_RATE
from grhmc.process.state import Process


def begin_scale_tuner(process: Process, rule: ScaleRule) -> None:
    """Start the tuner, or shift what it has seen."""
    process.cursors.crossing_started = 0
    if rule.tuner == MCT:
        renew_crossing_time_tuner(process, rule)
    elif rule.tuner != FIXED:
        if rule.window == FORGET:
            forget(process.moments)
            forget(process.previous_moments)
        else:
            begin_window(process.previous_moments, process.moments)


def renew_crossing_time_tuner(process: Process, rule: ScaleRule) -> None:
    """Start MCT's tuner at the present scale."""
    scale = process.standardization.scale
    log_scale = np.log(scale)
    process.crossing = init_crossing_time_tuner(scale, target_time=rule.target_crossing_time)._replace(
        averaging=init_dual_averaging(
            log_scale, np.asarray(rule.anchor_factor) * log_scale, gamma=rule.gamma, kappa=rule.kappa, k0=rule.k0
        )
    )


def begin_event_rate_tuner(process: Process, rule: EventRateRule) -> None:
    """Begin with the rule's rate where it gives one, and count U-turns afresh."""
    if rule.start is not None:
        process.path.event_rate = rule.start
        if rule.tune:
            renew_rate_tuner(process, rule.start)
    if rule.tune:
        process.rate_tuner.n_observed[:] = 0


def renew_rate_tuner(process: Process, event_rate: float) -> None:
    """Start the event-rate tuner at λ; a path of unit speed per coordinate is √dim long per process time."""
    tuner = init_event_rate_tuner(event_rate)
    if process.settings.rate[0] == ARC_LENGTH_RATE:
        tuner.log_process_time[0] -= 0.5 * math.log(len(process.step.momentum))
    elif process.settings.rate[0] == USER_RATE:
        tuner.log_process_time[0] -= math.log(process.user_rate.typical)
    process.rate_tuner = tuner
