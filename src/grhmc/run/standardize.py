"""A chain's standardization, changed between stages: by all chains' decision, or by what the chain itself has seen."""

from __future__ import annotations

import numpy as np

from grhmc.adaptation.first_standardization import INITIAL_EVENT_RATE
from grhmc.adaptation.low_rank import LARGEST_MISFIT, LowRank, find_directions, misfit
from grhmc.adaptation.pooled_scale import own_suggestion
from grhmc.adaptation.stage import ScaleRule
from grhmc.adaptation.tuners.draw_sample import kept_draws
from grhmc.dynamics.standardization import change_factor, is_diagonal, restandardize
from grhmc.process.state import Process
from grhmc.settings import RunSettings


def standardize(process: Process, centre: np.ndarray, scale: np.ndarray, factor: LowRank) -> None:
    """Change m, S, U and Λ while the chain stays where it is."""
    step, standardization = process.step, process.standardization
    if factor.rank == 0 and is_diagonal(standardization):
        restandardize(standardization, centre, scale, step.position, step.stage_forces[0])
    else:
        change_factor(standardization, centre, scale, *factor, step.position, step.stage_forces[0])


def forget_time_to_u_turn(process: Process, u_turn_factor: float) -> None:
    """Start again from a standard normal's: in the new coordinates the old one means nothing."""
    process.rate_tuner.log_time[:] = process.rate_tuner.log_process_time[:] = -np.log(INITIAL_EVENT_RATE)
    process.clock.event_rate = INITIAL_EVENT_RATE / u_turn_factor


def standardize_by_own_draws(process: Process, rule: ScaleRule, settings: RunSettings) -> None:
    """At the end of a window, before chains pool: the directions that the chain's own draws suggest, if any."""
    positions, gradients = kept_draws(process.draw_sample)
    centre, scale = own_suggestion(rule, process.previous_moments, process.moments, process.standardization)
    room = len(process.standardization.stretch)
    counts_cost = settings.metric.kind == "auto"
    factor = find_directions(positions, gradients, scale, rule.tuner, room, counts_cost=counts_cost)
    if factor.rank == 0 and is_diagonal(process.standardization):
        return
    is_new = misfit(positions, gradients, process.standardization, rule.tuner) > LARGEST_MISFIT
    standardize(process, centre, scale, factor)
    if is_new:
        forget_time_to_u_turn(process, settings.u_turn_factor)
