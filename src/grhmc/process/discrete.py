"""Metropolized randomized HMC: trajectories of equal steps, each accepted or rejected.

Momenta persist, refreshed in part before each of many short trajectories and reversed where one is rejected; or they
are drawn afresh for each trajectory of random length. Exact at any step size, because the map is reversible and
preserves volume and the Metropolis test corrects its energy error. A trajectory whose steps are far too long for where
it goes is retried with shorter ones. How many times they are halved depends on start and momentum alone, and an end is
accepted only if the way back would halve them as often, so that the map is still its own inverse. The scale tuners see
the draws: points within a trajectory of long steps are not quite from the target.

References
----------
Duane, Kennedy, Pendleton & Roweth (1987), "Hybrid Monte Carlo".
Horowitz (1991), "A generalized guided Monte Carlo algorithm".
Bou-Rabee & Sanz-Serna (2017), "Randomized Hamiltonian Monte Carlo".
Tran & Kleppe (2024), section 7: the same tuners in Metropolized discrete HMC.
Modi, Barnett & Carpenter (2024), "Delayed rejection Hamiltonian Monte Carlo for sampling multiscale distributions".
Bou-Rabee, Carpenter & Marsden (2024), "GIST: Gibbs self-tuning for locally adaptive Hamiltonian Monte Carlo".
"""

from __future__ import annotations

import numpy as np

from grhmc._jit import inner_kernel, kernel
from grhmc.adaptation.tuners.draw_sample import observe_state
from grhmc.adaptation.tuners.dual_averaging import observe
from grhmc.adaptation.tuners.moments import observe_draw
from grhmc.adaptation.tuners.momentum_time import observe_position
from grhmc.adaptation.tuners.scale_from_moments import FIXED
from grhmc.adaptation.tuners.step_size import LARGEST_STEP_PER_U_TURN, SHORT_STEP
from grhmc.density_pointer import EXCEPTION, FINE
from grhmc.dynamics.decay import decay
from grhmc.dynamics.phase import StepEnd, remember, return_to, reverse
from grhmc.dynamics.splitting_kick import constant_energy_kick, has_kick, set_kick
from grhmc.dynamics.standardization import is_diagonal, to_scaled
from grhmc.events.random_numbers import uniform
from grhmc.events.refreshment import refresh_momentum
from grhmc.process.path import RAISED_OUTCOME, RUNNING, attempt, follow_to_u_turn, look_for_u_turn, note_start
from grhmc.process.recording import average_draw, mark_counters, move_on, record_history, record_state
from grhmc.process.state import Process, Records
from grhmc.process.trajectory_plan import plan_trajectory
from grhmc.process.tuning_steps import change_scale_at_event

HALF_PERIOD_SHARE = np.pi * LARGEST_STEP_PER_U_TURN
"""The longest step in radians of a coordinate whose half period is the time to a U-turn."""

HOPELESS_ENERGY_ERROR = 10.0
"""Rise of the energy along a trajectory that makes it hopeless."""

ROUGH_ENERGY_ERROR, ROUGH_ACCEPTANCE = 3.0, -1.0
"""What a trajectory counts as when its step is tuned, if its energy rises by so much at its end or it was retried. The
mean acceptance says little of narrow places, where steps are far too long, if there are many others."""

DIVERGENCE_THRESHOLD = 1000.0
"""Energy error at which, even by the shortest steps, it is given up and counted; Stan's."""

HALVING, LARGEST_STEP_DIVISION = 2, 16
"""A trajectory that is hopeless is retried with steps of half the size, and so on, down to a sixteenth; not where it is
noise of the log density that makes it so (`grhmc.run.cost`)."""

SAME, DIFFERENT, RAISED = 0, 1, 2
"""Verdicts of `compare_way_back`."""

JUMP_SHARE, FEWEST_STEPS = 0.9, 4
"""Of all changes of the energy along a trajectory of so many steps at least: what a step across a jump makes alone."""

_FOLLOWED = 20
# One trajectory in so many is followed to its U-turn while that is tuned.


@inner_kernel
def advance_one_trajectory(process: Process, records: Records) -> int:
    """Refresh the momentum, follow a trajectory, accept or reject its end; perhaps record a draw. Updates both.

    Returns
    -------
    int
        `Outcome.RUNNING`, or why the chain cannot go on.
    """
    path, counters, cursors, settings, step = (
        process.path[0],
        process.counters[0],
        process.cursors[0],
        process.settings[0],
        process.step,
    )
    duration, n_steps = path.planned_step, path.planned_steps
    refresh_momentum(settings.law, path.persistence, step.momentum, process.scratch[0], process.rng)
    is_tuned = settings.tune_step == 1 or settings.tune_event_rate == 1
    if not is_tuned:
        plan_trajectory(process)
    note_start(process)
    if path.searching_u_turn == 1 and (counters.n_events + 1) % _FOLLOWED != 0:
        path.searching_u_turn = 0
    start = StepEnd(path.log_density, path.kinetic_energy)
    record_history(process, records)

    error, step_division = follow_in_enough_steps(process, duration, n_steps)
    if error == -np.inf:
        return RAISED_OUTCOME
    counters.n_events += 1
    is_diverging = np.isnan(error) or error > DIVERGENCE_THRESHOLD
    met_jump = n_steps >= FEWEST_STEPS and path.largest_energy_change > JUMP_SHARE * path.energy_variation
    acceptance = 0.0 if is_diverging else decay(error)
    if is_diverging:
        counters.n_diverging += 1
        path.searching_u_turn = 0
    elif path.searching_u_turn == 1 and follow_to_u_turn(process) != RUNNING:
        return RAISED_OUTCOME
    is_accepted = uniform(process.rng) < acceptance
    if is_accepted and step_division > 1:
        way_back = compare_way_back(process, duration, n_steps, step_division)
        if way_back == RAISED:
            return RAISED_OUTCOME
        is_accepted = way_back == SAME
        acceptance *= is_accepted
    if not is_accepted:
        counters.n_rejected += 1
        return_to(step, process.path_start)
        reverse(step.momentum)
        path.log_density, path.kinetic_energy = start.log_density, start.kinetic_energy
    is_long = path.trajectory_step > SHORT_STEP * settings.largest_trajectory_step
    if settings.tune_step == 1 and (is_long or not (met_jump or np.isnan(error))):
        is_rough = settings.largest_step_division > 1 and (step_division > 1 or error > ROUGH_ENERGY_ERROR)
        observe(process.step_tuner, 0, settings.target_acceptance - (ROUGH_ACCEPTANCE if is_rough else acceptance))
        path.trajectory_step = min(np.exp(process.step_tuner.log_value[0]), settings.largest_trajectory_step)
    if settings.tune_event_rate == 1:
        path.refreshment_time = settings.u_turns_per_refreshment * np.exp(process.rate_tuner.log_process_time[0])
    if is_tuned:
        plan_trajectory(process)
    observe_trajectory(process, error, acceptance, step_division)
    if cursors.trajectory_index >= settings.trajectories_per_draw and record_trajectories(process, records) != 0:
        return RAISED_OUTCOME
    if settings.scale != FIXED:
        observe_draw(process.moments, step, process.standardization, path.refreshment_time, process.scratch)
        observe_state(process.draw_sample, step, process.standardization)
        change_scale_at_event(process)
    return RUNNING


@kernel
def follow_in_enough_steps(process: Process, duration: float, n_steps: int) -> tuple[float, int]:
    """Follow a trajectory; again from its start with steps of half the size while it is hopeless.

    An end that was reached in more steps than at first may be accepted only if the way back would be hopeless in fewer
    too, so that it would be taken by the same steps (`compare_way_back`).

    Returns
    -------
    error : float
        As that of `follow_trajectory`, of the last way.
    step_division : int
        What its steps were divided by, and their number multiplied.
    """
    path = process.path[0]
    start, start_time = StepEnd(path.log_density, path.kinetic_energy), path.time
    largest = process.settings[0].largest_step_division
    error, step_division = follow_trajectory(process, duration, n_steps, largest == 1), 1
    while error > HOPELESS_ENERGY_ERROR and step_division < largest:
        return_to(process.step, process.path_start)
        path.log_density, path.kinetic_energy, path.time = start.log_density, start.kinetic_energy, start_time
        path.searching_u_turn = 0
        step_division *= HALVING
        error = follow_trajectory(process, duration / step_division, n_steps * step_division, step_division == largest)
    return error, step_division


@inner_kernel
def follow_trajectory(process: Process, duration: float, n_steps: int, is_last: bool) -> float:
    """Take equal steps; the last one's end becomes the present state.

    The splitting's kick is that with which coordinates whose half period is the time to a U-turn keep their energy.

    A trajectory is hopeless if its energy rises above that at its start or at its end by `HOPELESS_ENERGY_ERROR`: the
    same whichever way it is followed. One that is the last to be tried is left to the Metropolis test, unless it rises
    by `DIVERGENCE_THRESHOLD`: above its start or its end, too.

    Returns
    -------
    float
        Energy at the end over that at the start; NaN where the density is not finite, -inf after an exception. Of a
        hopeless trajectory, the rise that makes it so.
    """
    path, counters = process.path[0], process.counters[0]
    if has_kick(process.tableau):
        angle = HALF_PERIOD_SHARE * duration / process.settings[0].largest_trajectory_step
        set_kick(process.tableau, constant_energy_kick(angle))
    largest = DIVERGENCE_THRESHOLD if is_last else HOPELESS_ENERGY_ERROR
    error = highest = 0.0
    path.largest_energy_change = path.energy_variation = 0.0
    for _ in range(n_steps):
        code, end, _ = attempt(process, duration, wants_error=False)
        if code == EXCEPTION:
            return -np.inf
        if code != FINE:
            counters.n_non_finite += 1
            return np.nan
        previous, error = error, end.kinetic_energy - end.log_density - path.start_energy
        path.largest_energy_change = max(path.largest_energy_change, abs(error - previous))
        path.energy_variation += abs(error - previous)
        if not error <= largest:
            return np.inf if np.isnan(error) else error
        highest = max(highest, error)
        counters.n_steps += 1
        if path.searching_u_turn == 1:
            look_for_u_turn(process, duration)
        move_on(process, duration, end)
        path.rate_integral += duration
    return error if highest - error <= largest else highest - error


@inner_kernel
def compare_way_back(process: Process, duration: float, n_steps: int, step_division: int) -> int:
    """Whether the way back from the present state is hopeless with each smaller `step_division`, too.

    Everything but the counters of steps and gradients is as before on return.

    Returns
    -------
    int
        `SAME`, `DIFFERENT`, or `RAISED` after an exception.
    """
    path, step, end_state = process.path[0], process.step, process.remembered
    remember(step, end_state)
    end, time, path_energy = StepEnd(path.log_density, path.kinetic_energy), path.time, path.start_energy
    path.start_energy = end.kinetic_energy - end.log_density
    verdict, division = SAME, 1
    while verdict == SAME and division < step_division:
        reverse(step.momentum)
        is_last = division == step_division  # never; for the literal False Numba would compile the function again
        error = follow_trajectory(process, duration / division, n_steps * division, is_last)
        if error == -np.inf:
            verdict = RAISED
        elif not error > HOPELESS_ENERGY_ERROR:
            verdict = DIFFERENT
        return_to(step, end_state)
        path.log_density, path.kinetic_energy = end.log_density, end.kinetic_energy
        division *= HALVING
    path.time, path.start_energy = time, path_energy
    return verdict


@kernel
def observe_trajectory(process: Process, error: float, acceptance: float, step_division: int) -> None:
    """Add what happened to a trajectory to the statistics of the next draw."""
    cursors, size = process.cursors[0], abs(error)
    if not size <= abs(cursors.energy_error):
        cursors.energy_error = error if np.isfinite(error) else np.inf
    cursors.acceptance += acceptance
    cursors.step_division = max(cursors.step_division, step_division)
    cursors.trajectory_index += 1


@kernel
def record_trajectories(process: Process, records: Records) -> int:
    """Write the draw that trajectories have led to, and add it to the averages. Returns the users' functions' code."""
    path, cursors, settings = process.path[0], process.cursors[0], process.settings[0]
    row = cursors.first_row + cursors.draw_index
    scaled, is_kept = process.step.position, settings.record == 1 or settings.draws_per_interval > 0
    if is_kept and not is_diagonal(process.standardization):
        scaled = process.integrals.point
        to_scaled(process.standardization, process.step.position, scaled)
    if settings.record == 1:
        acceptance, step = cursors.acceptance / cursors.trajectory_index, path.trajectory_step / cursors.step_division
        record_state(process, records, row, scaled, acceptance, step)
    cursors.trajectory_index = cursors.step_division = 0
    cursors.acceptance = 0.0
    # Not in the first third: while scales still move, all is slow.
    if settings.tune_momentum_time == 1 and 3 * cursors.draw_index >= settings.n_draws:
        observe_position(process.momentum_time_tuner, process.step.position, path.log_density)
    cursors.draw_index += 1
    mark_counters(process)
    if settings.draws_per_interval > 0:
        return average_draw(process, records, scaled)
    return 0
