"""Continuous-time randomized HMC: one accepted step, and the event at the end of it when one is due.

References
----------
Kleppe (2022), "Connecting the Dots: Numerical Randomized Hamiltonian Monte Carlo with State-Dependent Event Rates".
Tran & Kleppe (2024), "Tuning diagonal scale matrices for HMC".
"""

from __future__ import annotations

from grhmc._jit import inner_kernel, kernel
from grhmc.adaptation.tuners.draw_sample import observe_state
from grhmc.adaptation.tuners.event_rate import tuned_event_rate
from grhmc.adaptation.tuners.scale_from_moments import FIXED, MCT
from grhmc.density_pointer import EXCEPTION, FINE
from grhmc.dynamics.dense_output import is_as_good_as_steps, momentum_at, position_at
from grhmc.dynamics.density_call import evaluate_force
from grhmc.dynamics.phase import StepEnd, copy_to, kinetic_energy, return_to, reverse
from grhmc.dynamics.step_control import NOT_FINITE_FACTOR, fit_to_event
from grhmc.events.rates import CONSTANT_RATE, find_due_fraction, rate_integral, time_until_due
from grhmc.events.refreshment import USER_LAW, draw_hot_momentum, refresh_momentum
from grhmc.events.user_rate import refresh_by_metropolis
from grhmc.outcomes import Outcome
from grhmc.process.path import (
    ACCEPTED,
    NOT_FINITE,
    RAISED,
    RAISED_OUTCOME,
    RUNNING,
    attempt,
    follow_to_u_turn,
    look_for_u_turn,
    start_path,
    try_step,
)
from grhmc.process.recording import commit_step, observe_energy, passes_test, record_history, record_step
from grhmc.process.state import APPLY_AT_CROSSING, Process, Records
from grhmc.process.tuning_steps import (
    change_scale_at_crossing,
    change_scale_at_event,
    crossing_fraction,
    observe_for_tuning,
    start_crossing_times,
)

STUCK = int(Outcome.STUCK)

_MAX_BOUNCES_IN_ROW = 20
_NEARLY_DUE = 1e-12


@inner_kernel
def advance_one_step(process: Process, records: Records) -> int:
    """Take one step of the process, or fail to and shorten the next; updates `process` and `records`.

    Returns
    -------
    int
        `Outcome.RUNNING`, or why the chain cannot go on.
    """
    path, counters, cursors, settings = process.path[0], process.counters[0], process.cursors[0], process.settings[0]
    step = process.step
    step_size = min(path.step_size, settings.largest_step)
    due = time_until_due(settings.rate, process.user_rate, path.remaining, step.position, step.momentum)
    duration = fit_to_event(step_size, due)
    verdict, end = try_step(process, duration)
    if verdict == RAISED:
        return RAISED_OUTCOME
    if verdict == NOT_FINITE and path.step_size < settings.step_floor:
        return bounce(process)
    if verdict != ACCEPTED:
        return RUNNING

    over_step = rate_integral(settings.rate, process.user_rate, step, duration, 1.0, process.scratch[0])
    fraction, crossing = 1.0, -1
    if settings.rate != CONSTANT_RATE and over_step > path.remaining:
        fraction = find_due_fraction(
            settings.rate, process.user_rate, step, duration, path.remaining, over_step, process.scratch[0]
        )
    if settings.scale == MCT and settings.apply == APPLY_AT_CROSSING and cursors.crossing_started == 1:
        crossing, fraction = crossing_fraction(process, duration, fraction)
    is_due = fraction < 1.0 and crossing < 0
    if fraction < 1.0:
        verdict, end = cut_step(process, duration, fraction)
        if verdict == RAISED:
            return RAISED_OUTCOME
        if verdict != ACCEPTED:
            return RUNNING
        duration *= fraction
        over_step = rate_integral(settings.rate, process.user_rate, step, duration, 1.0, process.scratch[0])

    path.n_bounces_in_row = 0
    counters.n_steps += 1
    was_cut = fraction < 1.0 and is_as_good_as_steps(process.tableau)
    observe_step(process, records, duration, end, was_cut)
    n_draws = cursors.draw_index
    code, integrated = record_step(process, records, duration, end)
    if code != 0 or commit_step(process, duration, end, integrated) != 0:
        return RAISED_OUTCOME
    if settings.scale != FIXED and cursors.draw_index > n_draws:
        observe_state(process.draw_sample, step, process.standardization)
    path.remaining = 0.0 if is_due else path.remaining - over_step
    path.rate_integral += over_step
    if settings.scale == MCT:
        start_crossing_times(process)
        if crossing >= 0:
            change_scale_at_crossing(process, crossing)
    if path.remaining <= _NEARLY_DUE * (1.0 + path.rate_integral):
        return refresh(process)
    return RUNNING


@inner_kernel
def cut_step(process: Process, duration: float, fraction: float) -> tuple[int, StepEnd]:
    """End the step at a fraction of itself; updates the step's end.

    On dense output, at the cost of one gradient; by a shorter step where that is as good as the method, and dense
    output is not: many cuts in a row would add up to an error that no step sees.
    """
    path, counters, step = process.path[0], process.counters[0], process.step
    if not is_as_good_as_steps(process.tableau):
        code, end, _ = attempt(process, fraction * duration, wants_error=False)
    else:
        position_at(step, duration, fraction, process.scratch[0])
        momentum_at(step, duration, fraction, process.scratch[1])
        copy_to(process.scratch[0], step.end_position)
        copy_to(process.scratch[1], step.end_momentum)
        code, log_density = evaluate_force(
            process.density, process.standardization, step.end_position, step.stage_forces[-1]
        )
        end = StepEnd(log_density, kinetic_energy(step.end_momentum))
        counters.n_gradients += 1
    if code == EXCEPTION:
        return RAISED, end
    if code != FINE:
        counters.n_non_finite += 1
        path.step_size = NOT_FINITE_FACTOR * duration
        return NOT_FINITE, end
    return ACCEPTED, end


@inner_kernel
def bounce(process: Process) -> int:
    """Reverse the momentum at the edge of the support: preserves volume and energy, and is its own inverse."""
    path, counters, settings = process.path[0], process.counters[0], process.settings[0]
    counters.n_bounces += 1
    path.n_bounces_in_row += 1
    if path.n_bounces_in_row > _MAX_BOUNCES_IN_ROW:
        return STUCK
    reverse(process.step.momentum)
    path.step_size = max(path.accepted_step, settings.step_floor)  # back along the path it came from
    path.searching_u_turn = 0
    return RUNNING


@inner_kernel
def observe_step(process: Process, records: Records, duration: float, end: StepEnd, was_cut: bool) -> None:
    """Show an accepted step, perhaps cut on dense output, to the energy monitor and to the tuners before its commit."""
    path, settings = process.path[0], process.settings[0]
    observe_energy(process, end)
    record_history(process, records)
    if settings.scale != FIXED:
        observe_for_tuning(process, duration, was_cut)
    if path.searching_u_turn == 1:
        look_for_u_turn(process, duration)


@inner_kernel
def refresh(process: Process) -> int:
    """A due event: tune, then refresh the momentum and start a new path."""
    path, counters, settings, step = process.path[0], process.counters[0], process.settings[0], process.step
    if settings.test_paths == 1 and not passes_test(process, path.kinetic_energy - path.log_density):
        return_to_start(process)
    if settings.tune_event_rate == 1:
        if path.searching_u_turn == 1 and follow_to_u_turn(process) != RUNNING:
            return RAISED_OUTCOME
        path.event_rate = tuned_event_rate(process.rate_tuner, settings.u_turn_factor)
    if settings.scale != FIXED:
        change_scale_at_event(process)
    if settings.law == USER_LAW and settings.momentum_factor == 1.0:
        refresh_by_metropolis(
            process.user_rate, settings.persistence, step.position, step.momentum, process.scratch[0], process.rng
        )
    elif settings.momentum_factor == 1.0:
        refresh_momentum(settings.law, settings.persistence, step.momentum, process.scratch[0], process.rng)
    else:
        factor = settings.momentum_factor if path.log_density > settings.lowest_hot_log_density else 1.0
        draw_hot_momentum(settings.law, factor, step.momentum, process.rng)
    counters.n_events += 1
    start_path(process)
    return RUNNING


@kernel
def return_to_start(process: Process) -> None:
    """Put a path that failed its test back to where it began; its momentum is about to be refreshed."""
    path, counters = process.path[0], process.counters[0]
    return_to(process.step, process.path_start)
    path.log_density = path.start_log_density
    counters.n_rejected_paths += 1
