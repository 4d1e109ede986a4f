"""What both processes do along a path: begin it, try a step, and look for its U-turn."""

from __future__ import annotations

import numpy as np

from grhmc._jit import inner_kernel, kernel
from grhmc.adaptation.tuners.event_rate import note_overshoot, observe_u_turn
from grhmc.density_pointer import EXCEPTION, FINE
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
)
from grhmc.dynamics.standardization import from_parameters, to_parameters
from grhmc.dynamics.step_control import NOT_FINITE_FACTOR, step_factor
from grhmc.events.random_numbers import exponential
from grhmc.events.rates import CONSTANT_RATE, rate_integral
from grhmc.events.refreshment import draw_momentum
from grhmc.events.u_turn import find_u_turn, outward_speed
from grhmc.outcomes import Outcome
from grhmc.process.state import DISCRETE, Process
from grhmc.process.trajectory_plan import plan_trajectory

ACCEPTED = 0
REJECTED = 1
NOT_FINITE = 2
RAISED = 3
"""Verdicts on a step."""

RUNNING = int(Outcome.RUNNING)
RAISED_OUTCOME = int(Outcome.DENSITY_RAISED)

_SMALLEST_ORBIT = 1e-4


@kernel
def place(process: Process, point: np.ndarray, step_size: float) -> int:
    """Put a chain at `point` (in the units of the parameters) with a fresh momentum; returns the density's code."""
    path, counters, settings, step = process.path[0], process.counters[0], process.settings[0], process.step
    from_parameters(process.standardization, point, step.position)
    code, log_density = evaluate_force(process.density, process.standardization, step.position, step.stage_forces[0])
    counters.n_gradients += 1
    if code != FINE:
        return code
    path.log_density = log_density
    path.highest_log_density = log_density
    copy_to(point, process.highest)
    path.step_size = step_size
    path.accepted_step = step_size
    draw_momentum(settings.law, step.momentum, process.rng)
    start_path(process)
    return code


@kernel
def start_path(process: Process) -> None:
    """Begin a path at the present state: draw when its event falls due, and note where it starts.

    Of the discrete process, also plan the trajectory that it begins with.
    """
    path = process.path[0]
    if process.settings[0].process == DISCRETE:
        plan_trajectory(process)
    path.remaining = exponential(process.rng) / path.event_rate
    note_start(process)


@kernel
def note_start(process: Process) -> None:
    """Note the time, the energy and the state with which a path or a trajectory starts."""
    path, settings, step = process.path[0], process.settings[0], process.step
    path.rate_integral = 0.0
    path.start_time = path.time
    path.kinetic_energy = kinetic_energy(step.momentum)
    path.start_energy = path.kinetic_energy - path.log_density
    path.start_log_density = path.log_density
    path.is_diverging = 0
    path.searching_u_turn = settings.tune_event_rate
    remember(step, process.path_start)


@kernel
def attempt(process: Process, duration: float, wants_error: bool) -> tuple[int, StepEnd, float]:
    """`attempt_step` on a process, its gradients counted."""
    code, n_gradients, end, error = attempt_step(
        process.tableau, process.density, process.standardization, process.step, duration, wants_error
    )
    path, counters = process.path[0], process.counters[0]
    counters.n_gradients += n_gradients
    if code == FINE and end.log_density > path.highest_log_density:
        note_highest(process, end.log_density)
    return code, end, error


@kernel
def note_highest(process: Process, log_density: float) -> None:
    """Remember the end of the step as the place of the highest log density, rejected or not."""
    process.path[0].highest_log_density = log_density
    to_parameters(process.standardization, process.step.end_position, process.highest)


@inner_kernel
def try_step(process: Process, duration: float) -> tuple[int, StepEnd]:
    """Attempt a step, judge its error and set the size of the next; updates the step's end, path and counters."""
    path, counters, settings = process.path[0], process.counters[0], process.settings[0]
    code, end, error = attempt(process, duration, wants_error=True)
    if code == EXCEPTION:
        return RAISED, end
    if code != FINE or not np.isfinite(error):
        counters.n_non_finite += 1
        path.step_size = NOT_FINITE_FACTOR * duration
        return NOT_FINITE, end
    error_ratio = error / settings.tolerance
    if settings.rate != CONSTANT_RATE:
        error_ratio /= small_orbit(path.kinetic_energy, process.step.stage_forces[0])
    factor = step_factor(error_ratio, path.error_ratio, process.tableau.error_order)
    if error_ratio > 1.0:
        if duration > settings.step_floor:
            counters.n_rejected += 1
            path.step_size = factor * duration
            return REJECTED, end
        counters.n_floored += 1
    if duration > 0.3 * path.step_size:
        path.step_size = max(factor * duration, settings.step_floor)
        path.error_ratio = error_ratio
        path.accepted_step = duration
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
def look_for_u_turn(process: Process, duration: float) -> tuple[float, float]:
    """Note the time of the U-turn if it lies in this step, or give up a search that has lasted too long.

    Returns
    -------
    float, float
        From the path's start to its U-turn: the integral of the base rate, and process time. 0 where there is none.
    """
    path, settings, step = process.path[0], process.settings[0], process.step
    elapsed = path.time - path.start_time
    if outward_speed(step.end_position, process.path_start[0], step.end_momentum) <= 0.0:
        fraction = find_u_turn(step, duration, process.path_start[0], process.scratch[0], process.scratch[1])
        integral = path.rate_integral + rate_integral(
            settings.rate, process.user_rate, step, duration, fraction, process.scratch[0]
        )
        observe_u_turn(
            process.rate_tuner,
            settings.rate_smoothing,
            settings.rate_prior_count,
            integral,
            elapsed + fraction * duration,
        )
        path.searching_u_turn = 0
        return integral, elapsed + fraction * duration
    if elapsed + duration > settings.u_turn_search_time:
        process.rate_tuner.n_given_up[0] += 1
        path.searching_u_turn = 0
    return 0.0, 0.0


@inner_kernel
def follow_to_u_turn(process: Process) -> int:
    """Go on past a due refreshment until the path has turned around, then return to where it fell due.

    Everything but the event-rate tuner and the gradient count is as before on return.
    """
    path, counters, settings, step, remembered = (
        process.path[0],
        process.counters[0],
        process.settings[0],
        process.step,
        process.remembered,
    )
    remember(step, remembered)
    time, step_size, integral = path.time, path.step_size, path.rate_integral
    error_ratio, accepted_step = path.error_ratio, path.accepted_step
    n_rejected, n_non_finite, n_floored = counters.n_rejected, counters.n_non_finite, counters.n_floored
    n_before = counters.n_gradients
    outcome = RUNNING
    while path.searching_u_turn == 1:
        duration = min(path.step_size, settings.largest_step)
        verdict, _ = try_step(process, duration)
        if verdict == RAISED:
            outcome = RAISED_OUTCOME
            break
        is_dear = counters.n_gradients - n_before > settings.max_gradients_per_draw
        is_dear = is_dear or counters.n_gradients - counters.n_draw_gradients >= settings.end_gradients
        if is_dear or (verdict == NOT_FINITE and path.step_size < settings.step_floor):
            process.rate_tuner.n_given_up[0] += 1
            path.searching_u_turn = 0
        elif verdict == ACCEPTED:
            to_u_turn, time_to_u_turn = look_for_u_turn(process, duration)
            if settings.counts_overshoot == 1 and time_to_u_turn > 0.0:
                beyond = time_to_u_turn - (time - path.start_time)
                note_overshoot(process.rate_tuner, max(0.0, to_u_turn - integral), max(0.0, beyond))
            path.rate_integral += rate_integral(
                settings.rate, process.user_rate, step, duration, 1.0, process.scratch[0]
            )
            path.time += duration
            move_to_end(step)
    return_to(step, remembered)
    path.time, path.step_size, path.rate_integral = time, step_size, integral
    path.error_ratio, path.accepted_step = error_ratio, accepted_step
    counters.n_rejected, counters.n_non_finite, counters.n_floored = n_rejected, n_non_finite, n_floored
    process.rate_tuner.n_gradients[0] += counters.n_gradients - n_before
    return outcome
