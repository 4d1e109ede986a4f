"""Continuous-time randomized HMC: one accepted step, and the event at the end of it when one is due.

References
----------
Kleppe (2022), "Connecting the Dots: Numerical Randomized Hamiltonian Monte Carlo with State-Dependent Event Rates".
Tran & Kleppe (2024), "Tuning diagonal scale matrices for HMC".
"""

from __future__ import annotations

import numpy as np

from grhmc._jit import inner_kernel, kernel
from grhmc.adaptation.tuners.draw_sample import observe_state
from grhmc.adaptation.tuners.event_rate import observe_u_turn, tuned_event_rate
from grhmc.adaptation.tuners.scale_from_moments import FIXED, MCT
from grhmc.density_pointer import EXCEPTION, FINE
from grhmc.dynamics.dense_output import is_as_good_as_steps, momentum_at, position_at
from grhmc.dynamics.density_call import evaluate_force
from grhmc.dynamics.nystrom_step import attempt_step
from grhmc.dynamics.phase import (
    StepEnd,
    copy_to,
    inner_product,
    kinetic_energy,
    move_to_end,
    remember,
    return_to,
    reverse,
)
from grhmc.dynamics.standardization import from_parameters, to_parameters
from grhmc.dynamics.step_control import NOT_FINITE_FACTOR, fit_to_event, step_factor
from grhmc.events.rates import CONSTANT_RATE, find_due_fraction, rate_integral, time_until_due
from grhmc.events.refreshment import draw_hot_momentum, draw_momentum, refresh_momentum
from grhmc.events.u_turn import find_u_turn, outward_speed
from grhmc.outcomes import Outcome
from grhmc.process.recording import commit_step, observe_energy, passes_test, record_history, record_step
from grhmc.process.state import APPLY_AT_CROSSING, Process, Records
from grhmc.process.tuning_steps import (
    change_scale_at_crossing,
    change_scale_at_event,
    crossing_fraction,
    observe_for_tuning,
    start_crossing_times,
)

ACCEPTED = 0
REJECTED = 1
NOT_FINITE = 2
RAISED = 3

RUNNING = int(Outcome.RUNNING)
STUCK = int(Outcome.STUCK)
RAISED_OUTCOME = int(Outcome.DENSITY_RAISED)

_MAX_BOUNCES_IN_ROW = 20
_NEARLY_DUE = 1e-12
_SMALLEST_ORBIT = 1e-4


@inner_kernel
def advance_one_step(process: Process, records: Records) -> int:
    """Take one step of the process, or fail to and shorten the next; updates `process` and `records`.

    Returns
    -------
    int
        `Outcome.RUNNING`, or why the chain cannot go on.
    """
    clock, settings = process.clock[0], process.settings[0]
    step = process.step
    step_size = min(clock.step_size, settings.largest_step)
    due = time_until_due(settings.rate, clock.remaining, step.momentum)
    duration = fit_to_event(step_size, due)
    verdict, end = try_step(process, duration)
    if verdict == RAISED:
        return RAISED_OUTCOME
    if verdict == NOT_FINITE and clock.step_size < settings.step_floor:
        return bounce(process)
    if verdict != ACCEPTED:
        return RUNNING

    over_step = rate_integral(settings.rate, step, duration, 1.0, process.scratch[0])
    fraction, crossing = 1.0, -1
    if settings.rate != CONSTANT_RATE and over_step > clock.remaining:
        fraction = find_due_fraction(settings.rate, step, duration, clock.remaining, over_step, process.scratch[0])
    if settings.scale == MCT and settings.apply == APPLY_AT_CROSSING and clock.crossing_started == 1:
        crossing, fraction = crossing_fraction(process, duration, fraction)
    is_due = fraction < 1.0 and crossing < 0
    if fraction < 1.0:
        verdict, end = cut_step(process, duration, fraction)
        if verdict == RAISED:
            return RAISED_OUTCOME
        if verdict != ACCEPTED:
            return RUNNING
        duration *= fraction
        over_step = rate_integral(settings.rate, step, duration, 1.0, process.scratch[0])

    clock.n_bounces_in_row = 0
    clock.n_steps += 1
    was_cut = fraction < 1.0 and is_as_good_as_steps(process.tableau)
    observe_step(process, records, duration, end, was_cut)
    n_draws = clock.draw_index
    code, integrated = record_step(process, records, duration, end)
    if code != 0 or commit_step(process, duration, end, integrated) != 0:
        return RAISED_OUTCOME
    if settings.scale != FIXED and clock.draw_index > n_draws:
        observe_state(process.draw_sample, step, process.standardization)
    clock.remaining = 0.0 if is_due else clock.remaining - over_step
    clock.path_rate_integral += over_step
    if settings.scale == MCT:
        start_crossing_times(process)
        if crossing >= 0:
            change_scale_at_crossing(process, crossing)
    if clock.remaining <= _NEARLY_DUE * (1.0 + clock.path_rate_integral):
        return refresh(process)
    return RUNNING


@inner_kernel
def attempt(process: Process, duration: float) -> tuple[int, StepEnd, float]:
    """`attempt_step` on a process, its gradients counted: compiled once, for all who take steps."""
    code, n_gradients, end, error = attempt_step(
        process.tableau, process.density, process.standardization, process.step, duration
    )
    clock = process.clock[0]
    clock.n_gradients += n_gradients
    if code == FINE and end.log_density > clock.highest_log_density:
        note_highest(process, end.log_density)
    return code, end, error


@kernel
def note_highest(process: Process, log_density: float) -> None:
    """Remember the end of the step as the place of the highest log density, rejected or not."""
    process.clock[0].highest_log_density = log_density
    to_parameters(process.standardization, process.step.end_position, process.highest)


@inner_kernel
def try_step(process: Process, duration: float) -> tuple[int, StepEnd]:
    """Attempt a step, judge its error and set the size of the next; updates the step's end and the clock."""
    clock, settings = process.clock[0], process.settings[0]
    code, end, error = attempt(process, duration)
    if code == EXCEPTION:
        return RAISED, end
    if code != FINE or not np.isfinite(error):
        clock.n_non_finite += 1
        clock.step_size = NOT_FINITE_FACTOR * duration
        return NOT_FINITE, end
    error_ratio = error / settings.tolerance
    if settings.rate != CONSTANT_RATE:
        error_ratio /= small_orbit(clock.kinetic_energy, process.step.stage_forces[0])
    factor = step_factor(error_ratio, clock.error_ratio, process.tableau.error_order)
    if error_ratio > 1.0:
        if duration > settings.step_floor:
            clock.n_rejected += 1
            clock.step_size = factor * duration
            return REJECTED, end
        clock.n_floored += 1
    if duration > 0.3 * clock.step_size:
        clock.step_size = max(factor * duration, settings.step_floor)
        clock.error_ratio = error_ratio
        clock.accepted_step = duration
    # A step cut very short by an event says little about the error of longer ones: the proposal then stands.
    return ACCEPTED, end


@kernel
def small_orbit(kinetic_energy: float, force: np.ndarray) -> float:
    """The size of the present orbit, root mean square of momentum and force, but at most 1: a factor of the tolerance.

    On a small orbit few events fall due at a rate per arc length, so that a chain stays there long; an error that is
    small beside 1 but not beside the orbit would then decide when it leaves, and in one dimension it hardly does.
    """
    square = (2.0 * kinetic_energy + inner_product(force, force)) / force.shape[0]
    return min(1.0, max(np.sqrt(square), _SMALLEST_ORBIT))


@inner_kernel
def cut_step(process: Process, duration: float, fraction: float) -> tuple[int, StepEnd]:
    """End the step at a fraction of itself; updates the step's end.

    On dense output, at the cost of one gradient; by a shorter step where that is as good as the method, and dense
    output is not: many cuts in a row would add up to an error that no step sees.
    """
    clock, step = process.clock[0], process.step
    if not is_as_good_as_steps(process.tableau):
        code, end, _ = attempt(process, fraction * duration)
    else:
        position_at(step, duration, fraction, process.scratch[0])
        momentum_at(step, duration, fraction, process.scratch[1])
        copy_to(process.scratch[0], step.end_position)
        copy_to(process.scratch[1], step.end_momentum)
        code, log_density = evaluate_force(
            process.density, process.standardization, step.end_position, step.stage_forces[-1]
        )
        end = StepEnd(log_density, kinetic_energy(step.end_momentum))
        clock.n_gradients += 1
    if code == EXCEPTION:
        return RAISED, end
    if code != FINE:
        clock.n_non_finite += 1
        clock.step_size = NOT_FINITE_FACTOR * duration
        return NOT_FINITE, end
    return ACCEPTED, end


@inner_kernel
def bounce(process: Process) -> int:
    """Reverse the momentum at the edge of the support: preserves volume and energy, and is its own inverse."""
    clock, settings = process.clock[0], process.settings[0]
    clock.n_bounces += 1
    clock.n_bounces_in_row += 1
    if clock.n_bounces_in_row > _MAX_BOUNCES_IN_ROW:
        return STUCK
    reverse(process.step.momentum)
    clock.step_size = max(clock.accepted_step, settings.step_floor)  # back along the path it came from
    clock.searching_u_turn = 0
    return RUNNING


@inner_kernel
def observe_step(process: Process, records: Records, duration: float, end: StepEnd, was_cut: bool) -> None:
    """Show an accepted step, perhaps cut on dense output, to the energy monitor and to the tuners before its commit."""
    clock, settings = process.clock[0], process.settings[0]
    observe_energy(process, end)
    record_history(process, records)
    if settings.scale != FIXED:
        observe_for_tuning(process, duration, was_cut)
    if clock.searching_u_turn == 1:
        look_for_u_turn(process, duration)


@inner_kernel
def look_for_u_turn(process: Process, duration: float) -> None:
    """Note the time of the U-turn if it lies in this step, or give up a search that has lasted too long."""
    clock, settings, step = process.clock[0], process.settings[0], process.step
    elapsed = clock.time - clock.path_start_time
    if outward_speed(step.end_position, process.anchor[0], step.end_momentum) <= 0.0:
        fraction = find_u_turn(step, duration, process.anchor[0], process.scratch[0], process.scratch[1])
        integral = clock.path_rate_integral + rate_integral(settings.rate, step, duration, fraction, process.scratch[0])
        observe_u_turn(
            process.rate_tuner,
            settings.rate_smoothing,
            settings.rate_prior_count,
            integral,
            elapsed + fraction * duration,
        )
        clock.searching_u_turn = 0
    elif elapsed + duration > settings.u_turn_search_time:
        process.rate_tuner.n_given_up[0] += 1
        clock.searching_u_turn = 0


@inner_kernel
def follow_to_u_turn(process: Process) -> int:
    """Go on past a due refreshment until the path has turned around, then return to where it fell due.

    Everything but the event-rate tuner and the gradient count is as before on return.
    """
    clock, settings, step, remembered = (
        process.clock[0],
        process.settings[0],
        process.step,
        process.remembered,
    )
    remember(step, remembered)
    time, step_size, integral = clock.time, clock.step_size, clock.path_rate_integral
    error_ratio, accepted_step = clock.error_ratio, clock.accepted_step
    n_rejected, n_non_finite, n_floored = clock.n_rejected, clock.n_non_finite, clock.n_floored
    n_before = clock.n_gradients
    outcome = RUNNING
    while clock.searching_u_turn == 1:
        duration = min(clock.step_size, settings.largest_step)
        verdict, _ = try_step(process, duration)
        if verdict == RAISED:
            outcome = RAISED_OUTCOME
            break
        is_dear = clock.n_gradients - n_before > settings.max_gradients_per_draw
        is_dear = is_dear or clock.n_gradients >= settings.end_gradients
        if is_dear or (verdict == NOT_FINITE and clock.step_size < settings.step_floor):
            process.rate_tuner.n_given_up[0] += 1
            clock.searching_u_turn = 0
        elif verdict == ACCEPTED:
            look_for_u_turn(process, duration)
            clock.path_rate_integral += rate_integral(settings.rate, step, duration, 1.0, process.scratch[0])
            clock.time += duration
            move_to_end(step)
    return_to(step, remembered)
    clock.time, clock.step_size, clock.path_rate_integral = time, step_size, integral
    clock.error_ratio, clock.accepted_step = error_ratio, accepted_step
    clock.n_rejected, clock.n_non_finite, clock.n_floored = n_rejected, n_non_finite, n_floored
    process.rate_tuner.n_gradients[0] += clock.n_gradients - n_before
    return outcome


@inner_kernel
def refresh(process: Process) -> int:
    """A due event: tune, then refresh the momentum and start a new path."""
    clock, settings, step = process.clock[0], process.settings[0], process.step
    if settings.test_paths == 1 and not passes_test(process, clock.kinetic_energy - clock.log_density):
        return_to_start(process)
    if settings.tune_event_rate == 1:
        if clock.searching_u_turn == 1 and follow_to_u_turn(process) != RUNNING:
            return RAISED_OUTCOME
        clock.event_rate = tuned_event_rate(process.rate_tuner, settings.u_turn_factor)
    if settings.scale != FIXED:
        change_scale_at_event(process)
    if settings.momentum_factor == 1.0:
        refresh_momentum(settings.law, settings.persistence, step.momentum, process.scratch[0], process.rng)
    else:
        draw_hot_momentum(settings.law, settings.momentum_factor, step.momentum, process.rng)
    clock.n_events += 1
    start_path(process)
    return RUNNING


@kernel
def return_to_start(process: Process) -> None:
    """Put a path that failed its test back to where it began; its momentum is about to be refreshed."""
    clock = process.clock[0]
    return_to(process.step, process.anchor)
    clock.log_density = clock.path_log_density
    clock.n_rejected_paths += 1


@kernel
def start_path(process: Process) -> None:
    """Begin a path at the present state: draw when its event falls due and note energy and state."""
    clock, settings, step = process.clock[0], process.settings[0], process.step
    clock.remaining = process.rng.standard_exponential() / clock.event_rate
    clock.path_rate_integral = 0.0
    clock.path_start_time = clock.time
    clock.kinetic_energy = kinetic_energy(step.momentum)
    clock.path_energy = clock.kinetic_energy - clock.log_density
    clock.path_log_density = clock.log_density
    clock.path_diverging = 0
    clock.searching_u_turn = settings.tune_event_rate
    remember(step, process.anchor)


@kernel
def place(process: Process, point: np.ndarray, step_size: float) -> int:
    """Put a chain at `point` (in the units of the parameters) with a fresh momentum; returns the density's code."""
    clock, settings, step = process.clock[0], process.settings[0], process.step
    from_parameters(process.standardization, point, step.position)
    code, log_density = evaluate_force(process.density, process.standardization, step.position, step.stage_forces[0])
    clock.n_gradients += 1
    if code != FINE:
        return code
    clock.log_density = log_density
    clock.highest_log_density = log_density
    copy_to(point, process.highest)
    clock.step_size = step_size
    clock.accepted_step = step_size
    draw_momentum(settings.law, step.momentum, process.rng)
    start_path(process)
    return code
