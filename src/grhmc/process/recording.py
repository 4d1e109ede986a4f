"""What is read off an accepted step: draws, statistics, time averages and the tuning history."""

from __future__ import annotations

import numpy as np

from grhmc._jit import inner_kernel, kernel
from grhmc.density_pointer import EXCEPTION, FINE
from grhmc.dynamics.dense_output import point_at
from grhmc.dynamics.density_call import evaluate_at_point
from grhmc.dynamics.phase import StepEnd, copy_to
from grhmc.dynamics.standardization import extreme_eigenvalues, is_diagonal, to_parameters, unscale
from grhmc.dynamics.time_averages import (
    add_point,
    integrate_and_move,
    integrate_functions,
    integrate_path,
    move_and_count,
    reset_integrals,
    write_averages,
)
from grhmc.events.random_numbers import uniform
from grhmc.process.state import Process, Records
from grhmc.process.statistics import (
    ACCEPTANCE_RATE,
    DIVERGING,
    ENERGY,
    ENERGY_ERROR,
    LP,
    N_EVENTS,
    N_GRADIENTS,
    N_REJECTED,
    N_STEPS,
    PROCESS_TIME,
    STEP_SIZE,
)


@inner_kernel
def record_step(process: Process, records: Records, duration: float, end: StepEnd) -> tuple[int, float]:
    """Read all draws that fall into the step about to be committed, and close the intervals that end in it.

    Draws are read off dense output, never by stopping the integrator. Updates `process` and `records`.

    Returns
    -------
    code : int
        Of the users' functions, or `EXCEPTION` of the log density at a draw; else 0.
    integrated : float
        The fraction of the step that the path integrals contain already.
    """
    path, cursors, settings = process.path[0], process.cursors[0], process.settings[0]
    integrated = 0.0
    while cursors.draw_index < settings.n_draws:
        next_time = cursors.stage_start_time + (cursors.draw_index + 1) * settings.draw_spacing
        if next_time > path.time + duration:
            break
        fraction = min((next_time - path.time) / duration, 1.0)
        closes_interval = (
            settings.draws_per_interval > 0
            and (cursors.draw_index + 1) % settings.draws_per_interval == 0
            and cursors.interval_index < records.interval_duration.shape[0]
        )
        if closes_interval:
            code = _integrate(process, duration, integrated, fraction)
            if code != 0:
                return code, integrated
            _close_interval(process, records)
            integrated = fraction
        if settings.record == 1 and _record_draw(process, records, duration, fraction, end) != 0:
            return EXCEPTION, integrated
        cursors.draw_index += 1
        mark_counters(process)
    return 0, integrated


@kernel
def record_state(
    process: Process, records: Records, row: int, scaled: np.ndarray, acceptance: float, step_size: float
) -> None:
    """Write the present state, of the scaled position y = F q̄, as a draw, with its statistics."""
    path = process.path[0]
    unscale(process.standardization, scaled, records.draws[row])
    energy = path.kinetic_energy - path.log_density
    _write_statistics(process, records, row, path.log_density, energy, path.time, step_size, acceptance)


@kernel
def average_draw(process: Process, records: Records, scaled: np.ndarray) -> int:
    """Add the present state to the averages and close the interval if it ends with this draw, the last one made.

    `scaled` is the position y = F q̄. Returns the code of the users' functions.
    """
    cursors, settings = process.cursors[0], process.settings[0]
    code = add_point(process.integrals, process.functions, scaled, process.standardization)
    is_full = process.integrals.duration[0] == settings.draws_per_interval
    if code == 0 and is_full and cursors.interval_index < records.interval_duration.shape[0]:
        _close_interval(process, records)
    return code


@inner_kernel
def commit_step(process: Process, duration: float, end: StepEnd, integrated: float) -> int:
    """Make the end of the step the present state, with its part of the path integrals; updates `process`.

    Returns the code of the users' functions.
    """
    cursors, settings, step, integrals = process.cursors[0], process.settings[0], process.step, process.integrals
    is_averaged = settings.draws_per_interval > 0 and cursors.draw_index < settings.n_draws
    if not is_averaged or integrated > 0.0 or not is_diagonal(process.standardization):
        code = _integrate(process, duration, integrated, 1.0) if is_averaged else 0
        move_on(process, duration, end)
        return code
    integrals.duration[0] += duration
    code = integrate_functions(integrals, process.functions, step, process.standardization, duration, 0.0, 1.0)
    integrate_and_move(
        step.position,
        step.momentum,
        step.stage_forces[0],
        step.end_position,
        step.end_momentum,
        step.stage_forces[-1],
        duration,
        integrals.position,
        integrals.position_squared,
        process.n_crossings,
    )
    _note_end(process, duration, end)
    return code


@kernel
def move_on(process: Process, duration: float, end: StepEnd) -> None:
    """Make the end of the step the present state; updates `process`."""
    step = process.step
    move_and_count(
        step.position,
        step.momentum,
        step.stage_forces[0],
        step.end_position,
        step.end_momentum,
        step.stage_forces[-1],
        duration,
        process.n_crossings,
    )
    _note_end(process, duration, end)


@kernel
def _note_end(process: Process, duration: float, end: StepEnd) -> None:
    path = process.path[0]
    path.time += duration
    path.log_density = end.log_density
    path.kinetic_energy = end.kinetic_energy


@inner_kernel
def _integrate(process: Process, duration: float, from_fraction: float, to_fraction: float) -> int:
    """Add a part of the step to the path integrals; returns the code of the users' functions."""
    return integrate_path(
        process.integrals,
        process.functions,
        process.step,
        process.standardization,
        duration,
        from_fraction,
        to_fraction,
    )


@inner_kernel
def _record_draw(process: Process, records: Records, duration: float, fraction: float, end: StepEnd) -> int:
    """Write one draw and its statistics; returns `EXCEPTION` if the log density raised there, else 0.

    H is that of the path, interpolated between the ends of the step, which its test decides by. The log density is
    that of the draw, and the kinetic energy what is left: where that would be less than nothing, H gives way.
    """
    path, cursors, settings = process.path[0], process.cursors[0], process.settings[0]
    row = cursors.first_row + cursors.draw_index
    point_at(process.step, process.standardization, duration, fraction, records.draws[row])
    energy = path.kinetic_energy - path.log_density
    energy += fraction * (end.kinetic_energy - end.log_density - energy)
    if settings.test_paths == 1 and not passes_test(process, energy):
        _write_path_start(process, records, row, path.time + fraction * duration)
        return 0
    code, log_density = _log_density_at(process, records.draws[row])
    if code == EXCEPTION:
        return EXCEPTION
    if code == FINE:
        energy = max(energy, -log_density)
    time = path.time + fraction * duration
    _write_statistics(process, records, row, log_density, energy, time, path.step_size, 1.0)
    return 0


@inner_kernel
def _log_density_at(process: Process, draw: np.ndarray) -> tuple[int, float]:
    """Evaluate the log density at a draw between two steps: one gradient, which is not held against a warm-up window.

    Interpolation is free, but was off by up to 0.2 with the splitting. Returns the density's code and the log density.
    """
    copy_to(draw, process.density.point)
    code, log_density = evaluate_at_point(process.density, process.standardization, process.scratch[0])
    process.counters[0].n_gradients += 1
    process.counters[0].n_draw_gradients += 1
    return code, log_density


@kernel
def passes_test(process: Process, energy: float) -> bool:
    """Metropolis test of a point on the present path, of given H, against the path's start.

    Exact for a map that preserves volume and can be reversed. The splitting's steps preserve volume, and the sizes of
    steps, which depend on the place, are nearly those that the way back would have.
    """
    error = energy - process.path[0].start_energy
    return error <= 0.0 or uniform(process.rng) < np.exp(-error)


@kernel
def _write_path_start(process: Process, records: Records, row: int, time: float) -> None:
    """Write the start of the present path as the draw at `time`."""
    path = process.path[0]
    to_parameters(process.standardization, process.path_start[0], records.draws[row])
    log_density, energy = path.start_log_density, path.start_energy
    _write_statistics(process, records, row, log_density, energy, time, path.step_size, 1.0)


@kernel
def _write_statistics(
    process: Process,
    records: Records,
    row: int,
    log_density: float,
    energy: float,
    time: float,
    step_size: float,
    acceptance: float,
) -> None:
    """Write the statistics of a draw: the counters' changes since the last one."""
    counters, cursors, statistics = process.counters[0], process.cursors[0], records.statistics[row]
    statistics[LP] = log_density
    statistics[ENERGY] = energy
    statistics[ENERGY_ERROR] = cursors.energy_error
    statistics[DIVERGING] = 1.0 if counters.n_diverging > counters.drawn_diverging else 0.0
    statistics[N_GRADIENTS] = counters.n_gradients - counters.drawn_gradients
    statistics[N_STEPS] = counters.n_steps - counters.drawn_steps
    statistics[N_REJECTED] = counters.n_rejected - counters.drawn_rejected
    statistics[N_EVENTS] = counters.n_events - counters.drawn_events
    statistics[STEP_SIZE] = step_size
    statistics[PROCESS_TIME] = time
    statistics[ACCEPTANCE_RATE] = acceptance


@inner_kernel
def _close_interval(process: Process, records: Records) -> None:
    """Write the averages over the interval that ends here and begin the next."""
    cursors, integrals = process.cursors[0], process.integrals
    row = cursors.interval_index
    write_averages(
        integrals,
        process.standardization,
        records.interval_position[row],
        records.interval_squared[row],
        records.interval_functions[row],
    )
    records.interval_duration[row] = integrals.duration[0]
    cursors.interval_index += 1
    reset_integrals(integrals)


@kernel
def mark_counters(process: Process) -> None:
    """Remember the counters at this draw."""
    counters, cursors = process.counters[0], process.cursors[0]
    counters.drawn_gradients = counters.n_gradients
    counters.drawn_steps = counters.n_steps
    counters.drawn_rejected = counters.n_rejected
    counters.drawn_events = counters.n_events
    counters.drawn_diverging = counters.n_diverging
    cursors.energy_error = 0.0


@kernel
def observe_energy(process: Process, end: StepEnd) -> None:
    """Compare H at the end of the step with H at the path's start; updates `process`."""
    path, counters, cursors, settings = process.path[0], process.counters[0], process.cursors[0], process.settings[0]
    error = end.kinetic_energy - end.log_density - path.start_energy
    if abs(error) > abs(cursors.energy_error):
        cursors.energy_error = error
    if abs(error) > settings.divergence_threshold and path.is_diverging == 0:
        path.is_diverging = 1
        counters.n_diverging += 1


@kernel
def record_history(process: Process, records: Records) -> None:
    """Write a row of tuning history when one is due; updates `records` and the cursors."""
    if process.settings[0].history_spacing > 0.0:
        _record_history_if_due(process, records)


@inner_kernel
def _record_history_if_due(process: Process, records: Records) -> None:
    path, counters, cursors, settings = process.path[0], process.counters[0], process.cursors[0], process.settings[0]
    row = cursors.history_index
    if row >= records.history_time.shape[0]:
        return
    if row > 0 and path.time < records.history_time[row - 1] + settings.history_spacing:
        return
    records.history_time[row] = path.time
    records.history_event_rate[row] = path.event_rate
    records.history_gradients[row] = counters.n_gradients
    records.history_rank[row] = process.standardization.rank[0]
    smallest, largest = extreme_eigenvalues(process.standardization)
    records.history_smallest_eigenvalue[row] = smallest
    records.history_largest_eigenvalue[row] = largest
    copy_to(process.standardization.scale, records.history_scale[row])
    copy_to(process.standardization.centre, records.history_centre[row])
    cursors.history_index += 1
