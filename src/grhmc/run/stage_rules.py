"""A stage's rules for scale, event rate and temperature, written into a chain's kernel settings and tuners."""

from __future__ import annotations

import math

import numpy as np

from grhmc.adaptation.stage import FORGET, EventRateRule, ScaleRule, Stage, hot_temperature
from grhmc.adaptation.tuners.event_rate import init_event_rate_tuner
from grhmc.adaptation.tuners.mct import init_crossing_time_tuner
from grhmc.adaptation.tuners.moments import begin_window, forget
from grhmc.adaptation.tuners.scale_from_moments import FIXED, MCT
from grhmc.events.rates import ARC_LENGTH_RATE
from grhmc.events.refreshment import draw_hot_momentum
from grhmc.process.state import APPLY_AT_CROSSING, APPLY_AT_REFRESHMENT, Process


def begin_temperature(process: Process, stage: Stage) -> None:
    """Where the temperature changes, the momentum is refreshed at once: stages are short."""
    momentum, kernel = process.step.momentum, process.settings
    factor = math.sqrt(hot_temperature(len(momentum))) if stage.is_hot else 1.0
    if factor != kernel.momentum_factor[0]:
        kernel.momentum_factor = factor
        draw_hot_momentum(int(kernel.law[0]), factor, momentum, process.rng)


def begin_scale_rule(process: Process, rule: ScaleRule) -> None:
    """Write how the scale is tuned, and start or shift what the tuner has seen."""
    kernel = process.settings
    kernel.scale = rule.tuner
    kernel.centred_gradient = int(rule.centred_gradient)
    kernel.first_change_time = process.clock.time[0] + rule.first_change
    kernel.largest_change = rule.largest_change
    kernel.apply = APPLY_AT_CROSSING if rule.apply_at_crossing else APPLY_AT_REFRESHMENT
    kernel.target_crossing_time = rule.target_crossing_time
    kernel.median_spacing = rule.median_spacing
    process.clock.crossing_started = 0
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
    process.crossing = init_crossing_time_tuner(scale, gamma=rule.gamma, anchor=rule.anchor_factor * np.log(scale))


def begin_event_rate_rule(process: Process, rule: EventRateRule) -> None:
    """Write how the event rate is tuned, and start its tuner where the rule gives a rate."""
    kernel = process.settings
    kernel.tune_event_rate = int(rule.tune)
    kernel.rate_smoothing = rule.smoothing
    kernel.rate_prior_count = rule.prior_count
    kernel.u_turn_factor = rule.u_turn_factor
    kernel.u_turn_search_time = rule.search_time
    if rule.start is not None:
        process.clock.event_rate = rule.start
        if rule.tune:
            renew_rate_tuner(process, rule.start)
    if rule.tune:
        process.rate_tuner.n_observed[:] = 0


def renew_rate_tuner(process: Process, event_rate: float) -> None:
    """Start the event-rate tuner at λ; a path of unit speed per coordinate is √dim long per process time."""
    tuner = init_event_rate_tuner(event_rate)
    if process.settings.rate[0] == ARC_LENGTH_RATE:
        tuner.log_process_time[0] -= 0.5 * math.log(len(process.step.momentum))
    process.rate_tuner = tuner
