"""Where tuners meet the process: what they see of a step, and when their proposals are applied."""

from __future__ import annotations

import numpy as np

from grhmc._jit import inner_kernel
from grhmc.adaptation.tuners.mct import (
    earliest_crossing,
    follow_sides,
    observe_crossing,
    observe_crossings,
    observe_own_crossing,
    observe_own_crossings,
    start_observing,
    write_medians,
    write_scales,
)
from grhmc.adaptation.tuners.moments import observe_path
from grhmc.adaptation.tuners.p_square import observe_sample
from grhmc.adaptation.tuners.scale_from_moments import MCT, clamp_scale, propose_from_moments
from grhmc.dynamics.dense_output import point_at
from grhmc.dynamics.standardization import is_diagonal, restandardize
from grhmc.process.state import APPLY_AT_CROSSING, Process


@inner_kernel
def observe_for_tuning(process: Process, duration: float, was_cut: bool) -> None:
    """Show a step to the scale tuner before it is committed; updates the tuner's state."""
    path, cursors, settings = process.path[0], process.cursors[0], process.settings[0]
    if settings.scale != MCT:
        weights = process.cut_weights if was_cut else process.tableau.quadrature_weights
        observe_path(
            process.moments,
            process.step,
            process.standardization,
            weights,
            duration,
            process.scratch[0],
        )
        return
    _sample_medians(process, duration)
    if cursors.crossing_started == 1:
        if settings.apply == APPLY_AT_CROSSING:
            follow_sides(process.crossing, process.step)
        elif settings.target_crossing_time > 0.0:
            observe_crossings(process.crossing, process.step, duration, path.time, settings.target_crossing_time)
        else:
            observe_own_crossings(process.crossing, process.step, duration, path.time)


@inner_kernel
def _sample_medians(process: Process, duration: float) -> None:
    """Feed the median estimators with the equally spaced samples that fall into this step."""
    path, cursors, settings = process.path[0], process.cursors[0], process.settings[0]
    while True:
        due = cursors.stage_start_time + (cursors.median_index + 1) * settings.median_spacing
        if due > path.time + duration:
            return
        fraction = (due - path.time) / duration
        point_at(process.step, process.standardization, duration, fraction, process.scratch[0])
        observe_sample(process.crossing.medians, process.scratch[0])
        cursors.median_index += 1


@inner_kernel
def start_crossing_times(process: Process) -> None:
    """Once the medians have settled, centre on them and begin to observe crossings; updates the process."""
    path, cursors, settings, step = process.path[0], process.cursors[0], process.settings[0], process.step
    if cursors.crossing_started == 1 or path.time < settings.first_change_time:
        return
    new_centre, new_scale = process.scratch[0], process.scratch[1]
    write_medians(process.crossing, new_centre)
    for k in range(new_scale.shape[0]):
        new_scale[k] = process.standardization.scale[k]
    restandardize(process.standardization, new_centre, new_scale, step.position, step.stage_forces[0])
    start_observing(process.crossing, step.position)
    cursors.crossing_started = 1


@inner_kernel
def crossing_fraction(process: Process, duration: float, fraction: float) -> tuple[int, float]:
    """The coordinate that crosses its median first in the step, and where, if that is before `fraction`; else -1."""
    coordinate, earliest = earliest_crossing(process.crossing, process.step, duration)
    if coordinate >= 0 and earliest < fraction:
        return coordinate, earliest
    return -1, fraction


@inner_kernel
def change_scale_at_crossing(process: Process, coordinate: int) -> None:
    """Take in a crossing that the step has just ended on and apply what follows from it at once (the paper's way)."""
    path, settings, tuner = process.path[0], process.settings[0], process.crossing
    standardization = process.standardization
    new_centre, new_scale = process.scratch[0], process.scratch[1]
    if settings.target_crossing_time > 0.0:
        observe_crossing(tuner, coordinate, path.time, settings.target_crossing_time)
    else:
        observe_own_crossing(tuner, coordinate, path.time)
    any_with_two = False
    for k in range(new_scale.shape[0]):
        new_scale[k] = standardization.scale[k]
        any_with_two = any_with_two or tuner.n_crossings[k] >= 2
    if not any_with_two:
        return
    if tuner.n_crossings[coordinate] >= 2:
        new_scale[coordinate] = np.exp(tuner.averaging.log_value_average[coordinate])
    write_medians(tuner, new_centre)
    restandardize(standardization, new_centre, new_scale, process.step.position, process.step.stage_forces[0])


@inner_kernel
def change_scale_at_event(process: Process) -> None:
    """Apply the tuner's present proposal; called just before the momentum is refreshed.

    Not where directions are stretched: they go with the scale that they were estimated on, until the stage ends.
    """
    path, cursors, settings, step = process.path[0], process.cursors[0], process.settings[0], process.step
    if path.time < settings.first_change_time or not is_diagonal(process.standardization):
        return
    standardization = process.standardization
    new_centre, new_scale = process.scratch[0], process.scratch[1]
    if settings.scale != MCT:
        if process.previous_moments.weights[0] + process.moments.weights[0] <= 0.0:
            return
        propose_from_moments(
            settings.scale,
            settings.centred_gradient == 1,
            process.previous_moments,
            process.moments,
            new_centre,
            new_scale,
        )
        clamp_scale(standardization.scale, settings.largest_change, new_scale)
    elif settings.apply == APPLY_AT_CROSSING or cursors.crossing_started == 0:
        return
    else:
        write_medians(process.crossing, new_centre)
        write_scales(process.crossing, standardization.scale, new_scale)
    restandardize(standardization, new_centre, new_scale, step.position, step.stage_forces[0])
