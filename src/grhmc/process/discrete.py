"""Metropolized randomized HMC: a trajectory of equal steps and random length, then accepted or refused.

Exact at any step size, because the map is reversible and preserves volume and the Metropolis test corrects its energy
error. The scale tuners see the draws: points within a trajectory of long steps are not quite from the target.

References
----------
Duane, Kennedy, Pendleton & Roweth (1987), "Hybrid Monte Carlo".
Bou-Rabee & Sanz-Serna (2017), "Randomized Hamiltonian Monte Carlo".
Tran & Kleppe (2024), section 7: the same tuners in Metropolized discrete HMC.
"""

from __future__ import annotations

import numpy as np

from grhmc._jit import inner_kernel, kernel
from grhmc.density_pointer import EXCEPTION, FINE
from grhmc.dynamics.phase import StepEnd, copy_to
from grhmc.events.refreshment import draw_momentum
from grhmc.outcomes import Outcome
from grhmc.process.continuous import attempt, follow_to_u_turn, look_for_u_turn, start_path
from grhmc.process.recording import average_draw, mark_counters, move_on, record_history, record_state
from grhmc.process.state import Process, Records
from grhmc.process.tuning_steps import change_scale_at_event
from grhmc.tuning.dual_averaging import observe
from grhmc.tuning.moments import observe_draw
from grhmc.tuning.scale_from_moments import FIXED
from grhmc.tuning.trajectory_length import observe_position

UNIFORM_LENGTH = 0
EXPONENTIAL_LENGTH = 1

MOST_STEPS = 1024
"""Of one trajectory."""

JITTER = 0.1
"""A trajectory's steps are up to this share shorter or longer than the tuned one, so that no orbit closes on itself."""

_FOLLOWED = 10
# One trajectory in so many is followed to its U-turn while that is tuned.

RUNNING = int(Outcome.RUNNING)
RAISED_OUTCOME = int(Outcome.DENSITY_RAISED)


@inner_kernel
def advance_one_trajectory(process: Process, records: Records) -> int:
    """Refresh the momentum, follow one trajectory, accept or refuse its end, and record a draw; updates both.

    Returns
    -------
    int
        `Outcome.RUNNING`, or why the chain cannot go on.
    """
    clock, settings, step = process.clock[0], process.settings[0], process.step
    draw_momentum(settings.law, step.momentum, process.rng)
    start_path(process)
    if (clock.n_events + 1) % _FOLLOWED != 0:
        clock.searching_u_turn = 0
    copy_to(step.position, process.trajectory_start[0])
    copy_to(step.stage_forces[0], process.trajectory_start[1])
    start = StepEnd(clock.log_density, clock.kinetic_energy)
    duration = clock.trajectory_step * (1.0 + JITTER * (2.0 * process.rng.random() - 1.0))
    n_steps = draw_n_steps(settings.length_law, settings.mean_length, duration, process.rng)

    error = follow_trajectory(process, records, duration, n_steps)
    if error == -np.inf:
        return RAISED_OUTCOME
    acceptance = 0.0 if np.isnan(error) else min(1.0, np.exp(-error))
    clock.n_events += 1
    is_diverging = np.isnan(error) or error > settings.divergence_threshold
    if is_diverging:
        clock.n_diverging += 1
        clock.searching_u_turn = 0
    elif clock.searching_u_turn == 1 and follow_to_u_turn(process) != RUNNING:
        return RAISED_OUTCOME
    is_accepted = process.rng.random() < acceptance
    if not is_accepted:
        clock.n_rejected += 1
        copy_to(process.trajectory_start[0], step.position)
        copy_to(process.trajectory_start[1], step.stage_forces[0])
        clock.log_density, clock.kinetic_energy = start.log_density, start.kinetic_energy
    if settings.tune_step == 1:
        observe(process.step_tuner, 0, settings.target_acceptance - acceptance)
        clock.trajectory_step = min(np.exp(process.step_tuner.log_value[0]), settings.largest_trajectory_step)
    if settings.tune_event_rate == 1:
        settings.mean_length = settings.length_factor * np.exp(process.rate_tuner.log_process_time[0])
    clock.energy_error = error if np.isfinite(error) else np.inf
    if record_trajectory(process, records, acceptance) != 0:
        return RAISED_OUTCOME
    if settings.scale != FIXED:
        observe_draw(process.moments, step, process.standardization, settings.mean_length)
        change_scale_at_event(process)
    return RUNNING


@kernel
def draw_n_steps(length_law: int, mean_length: float, duration: float, rng: np.random.Generator) -> int:
    """Steps of one trajectory: its random length over the step's duration, rounded, from 1 to `MOST_STEPS`."""
    if length_law == UNIFORM_LENGTH:
        length = 2.0 * mean_length * rng.random()
    else:
        length = mean_length * rng.standard_exponential()
    n_steps = np.floor(length / duration + 0.5)
    return int(min(max(n_steps, 1.0), float(MOST_STEPS)))


@inner_kernel
def follow_trajectory(process: Process, records: Records, duration: float, n_steps: int) -> float:
    """Take equal steps; the last one's end becomes the present state.

    Returns
    -------
    float
        Energy at the end over that at the start; NaN where the density is not finite, -inf after an exception. A
        trajectory is left early when its energy error passes the divergence threshold.
    """
    clock, settings = process.clock[0], process.settings[0]
    error = 0.0
    for _ in range(n_steps):
        code, end, _ = attempt(process, duration)
        if code == EXCEPTION:
            return -np.inf
        if code != FINE:
            clock.n_refused += 1
            return np.nan
        error = end.kinetic_energy - end.log_density - clock.path_energy
        if not error <= settings.divergence_threshold:
            return error
        clock.n_steps += 1
        record_history(process, records)
        if clock.searching_u_turn == 1:
            look_for_u_turn(process, duration)
        move_on(process, duration, end, 0.0)
        clock.path_rate_integral += duration
    return error


@inner_kernel
def record_trajectory(process: Process, records: Records, acceptance: float) -> int:
    """Write the draw that a trajectory ends with, and add it to the averages. Returns the users' functions' code."""
    clock, settings = process.clock[0], process.settings[0]
    row = settings.first_row + clock.draw_index
    if settings.record == 1:
        record_state(process, records, row, acceptance)
    if settings.tune_length == 1 and 3 * clock.draw_index >= settings.n_draws:  # while scales still move, all is slow
        observe_position(process.length_tuner, process.step.position)
    clock.draw_index += 1
    mark_counters(process)
    if settings.draws_per_interval > 0:
        return average_draw(process, records)
    return 0
