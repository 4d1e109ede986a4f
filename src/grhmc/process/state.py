"""Everything a chain carries from one step to the next, as plain arrays, and everything it writes down.

Carried state (`Process`) and reported results (`Records`) are kept apart. All arrays are allocated once; kernels update
them in place. Scalars live in one-element record arrays, so that a whole chain can be saved and restored bit by bit.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from grhmc._kernel_struct import passed_by_reference
from grhmc.adaptation.tuners.draw_sample import DrawSample, init_draw_sample
from grhmc.adaptation.tuners.dual_averaging import DualAveraging
from grhmc.adaptation.tuners.event_rate import EventRateTuner, init_event_rate_tuner
from grhmc.adaptation.tuners.mct import CrossingTimeTuner, init_crossing_time_tuner
from grhmc.adaptation.tuners.moments import RunningMoments, init_moments
from grhmc.adaptation.tuners.momentum_time import MomentumTimeTuner, init_momentum_time_tuner
from grhmc.adaptation.tuners.step_size import init_step_tuner
from grhmc.dynamics.aligned import aligned_zeros
from grhmc.dynamics.density_call import Density, init_density
from grhmc.dynamics.nystrom_tableau import TableauArrays
from grhmc.dynamics.phase import Step, init_step
from grhmc.dynamics.standardization import Standardization, init_standardization
from grhmc.dynamics.time_averages import PathFunctions, PathIntegrals, init_path_integrals
from grhmc.events.random_numbers import generator_state
from grhmc.events.user_rate import UserRate, init_user_rate
from grhmc.process.statistics import STATISTICS

APPLY_AT_CROSSING = 0
APPLY_AT_REFRESHMENT = 1

CONTINUOUS = 0
DISCRETE = 1

# Where the path is, and when its event falls due.
PATH_DTYPE = np.dtype(
    [
        ("time", "f8"),  # process time since the chain began
        ("log_density", "f8"),  # at the start of the step
        ("kinetic_energy", "f8"),  # likewise
        ("step_size", "f8"),  # proposed for the next step
        ("trajectory_step", "f8"),  # of the discrete process, before jitter
        ("refreshment_time", "f8"),  # likewise: mean length of its trajectories, or momentum decorrelation time
        ("planned_step", "f8"),  # of the next trajectory, with jitter
        ("planned_steps", "i8"),  # and their number
        ("persistence", "f8"),  # the share of the momentum that is kept before it
        ("accepted_step", "f8"),  # duration of the last accepted step
        ("error_ratio", "f8"),  # its local error over the tolerance
        ("event_rate", "f8"),  # λ
        ("remaining", "f8"),  # integral of the base rate until the next event
        ("rate_integral", "f8"),  # integral of the base rate since the last event
        ("start_time", "f8"),  # process time of the last event
        ("start_energy", "f8"),  # H just after the last event
        ("start_log_density", "f8"),  # and the log density
        ("energy_variation", "f8"),  # sum of |changes of H| over the steps of the last trajectory
        ("largest_energy_change", "f8"),  # and the largest of them
        ("highest_log_density", "f8"),  # seen so far, at the ends of steps
        ("searching_u_turn", "i8"),  # it has not turned around yet and its U-turn is wanted
        ("n_bounces_in_row", "i8"),
        ("is_diverging", "i8"),  # its energy error has passed the threshold
    ]
)

# Totals since the chain began, and what they were at the last draw.
COUNTERS_DTYPE = np.dtype(
    [
        ("n_gradients", "i8"),
        ("n_draw_gradients", "i8"),  # of those, at draws between two steps: not held against a warm-up window
        ("n_steps", "i8"),
        ("n_rejected", "i8"),
        ("n_non_finite", "i8"),  # steps cut because the density was not finite
        ("n_events", "i8"),
        ("n_bounces", "i8"),
        ("n_floored", "i8"),  # steps accepted only because they had reached the floor
        ("n_rejected_paths", "i8"),  # that the Metropolis test returned to their start
        ("n_diverging", "i8"),  # paths whose energy error passed the threshold
        ("drawn_gradients", "i8"),  # the counters' values at the last draw
        ("drawn_steps", "i8"),
        ("drawn_rejected", "i8"),
        ("drawn_events", "i8"),
        ("drawn_diverging", "i8"),
    ]
)

# How far the stage and what it writes down have come, and what is gathered since the last draw.
CURSORS_DTYPE = np.dtype(
    [
        ("stage_start_time", "f8"),
        ("crossing_started", "i8"),  # crossing times are being observed
        ("draw_index", "i8"),  # draws made in this stage
        ("first_row", "i8"),  # of the records: where its first draw is, or would be; negative where rows have left
        ("trajectory_index", "i8"),  # of the discrete process, since the last draw
        ("acceptance", "f8"),  # the sum of theirs
        ("step_division", "i8"),  # what the steps of the most retried one of them were divided by
        ("energy_error", "f8"),  # largest H − start_energy since the last draw, signed
        ("interval_index", "i8"),  # time-average intervals completed in this stage
        ("history_index", "i8"),  # rows of tuning history written
        ("median_index", "i8"),  # median samples taken in this stage
    ]
)

# Written at the start of a stage by `grhmc.run.kernel_settings`; kernels only read them.
SETTINGS_DTYPE = np.dtype(
    [
        ("process", "i8"),
        ("momentum", "i8"),  # of the discrete process: persistent, or fresh for each trajectory
        ("length_law", "i8"),  # of its trajectories with fresh momenta
        ("largest_trajectory_step", "f8"),
        ("trajectories_per_draw", "i8"),
        ("u_turns_per_refreshment", "f8"),  # refreshment time over the time to a U-turn
        ("tune_step", "i8"),
        ("tune_momentum_time", "i8"),
        ("target_acceptance", "f8"),
        ("largest_step_division", "i8"),  # of the retries of a hopeless trajectory
        ("tolerance", "f8"),
        ("largest_step", "f8"),
        ("step_floor", "f8"),
        ("divergence_threshold", "f8"),  # of the continuous process
        ("max_gradients_per_draw", "i8"),  # of any one draw
        ("most_gradients", "i8"),  # of the whole chain
        ("rate", "i8"),
        ("law", "i8"),
        ("persistence", "f8"),
        ("momentum_factor", "f8"),  # of the continuous process: 1, or the square root of a temperature above 1
        ("lowest_hot_log_density", "f8"),  # below which that factor is 1
        ("test_paths", "i8"),  # by Metropolis, at draws and at refreshments
        ("scale", "i8"),  # which tuner, FIXED: none
        ("centred_gradient", "i8"),
        ("first_change_time", "f8"),  # process time before which m and S stay as they are
        ("largest_change", "f8"),  # of a scale at once, as a factor
        ("apply", "i8"),
        ("target_crossing_time", "f8"),  # 0: of each coordinate, in the tuner
        ("median_spacing", "f8"),
        ("tune_event_rate", "i8"),
        ("rate_smoothing", "f8"),
        ("rate_prior_count", "f8"),
        ("u_turn_factor", "f8"),
        ("counts_overshoot", "i8"),  # of a path beyond its due refreshment, in the next time to a U-turn
        ("u_turn_search_time", "f8"),
        ("end_time", "f8"),  # process time at which the stage ends
        ("end_gradients", "i8"),  # and gradients, but for those at draws, at which it does, if that is sooner
        ("draw_spacing", "f8"),
        ("record", "i8"),  # draws are written down
        ("n_draws", "i8"),  # of this stage
        ("draws_per_interval", "i8"),
        ("history_spacing", "f8"),  # process time between rows of tuning history; 0: none
    ]
)


@passed_by_reference
class Process:
    """A chain's carried state."""

    density: Density
    functions: PathFunctions
    tableau: TableauArrays
    standardization: Standardization
    step: Step
    path_start: np.ndarray
    """(3, dim) position, momentum and force where the present path or trajectory began."""
    remembered: np.ndarray
    """(3, dim) position, momentum and force to return to from beyond a due refreshment or a trajectory's way back."""
    scratch: np.ndarray
    """(2, dim)"""
    highest: np.ndarray
    """(dim,) where the highest log density was seen, in the units of the parameters."""
    cut_weights: np.ndarray
    """(n_stages,) trapezoidal quadrature for a step that was cut short: only its ends are on the path."""
    previous_moments: RunningMoments
    moments: RunningMoments
    draw_sample: DrawSample
    crossing: CrossingTimeTuner
    rate_tuner: EventRateTuner
    user_rate: UserRate
    step_tuner: DualAveraging
    """Of the logarithm of the discrete process's step."""
    momentum_time_tuner: MomentumTimeTuner
    integrals: PathIntegrals
    n_crossings: np.ndarray
    """(dim,) crossings of the centre since the stage began; doubles, because counting them is then vectorized."""
    path: np.recarray
    """Where it is on its path, and when the event falls due. Of shape (1,), as the others are."""
    counters: np.recarray
    """Totals since the chain began."""
    cursors: np.recarray
    """How far the stage has come, and what is gathered until its next draw."""
    settings: np.recarray
    rng: np.ndarray
    """(4,) of the random numbers: `grhmc.events.random_numbers`."""


@passed_by_reference
class Records:
    """What a chain writes down. Rows beyond those written are zero."""

    draws: np.ndarray
    """(n_draws, dim), in the units of the parameters."""
    statistics: np.ndarray
    """(n_draws, len(STATISTICS))"""
    interval_position: np.ndarray
    """(n_intervals, dim) time average of q over an interval of several draws."""
    interval_squared: np.ndarray
    interval_functions: np.ndarray
    """(n_intervals, n_functions)"""
    interval_duration: np.ndarray
    """(n_intervals,)"""
    history_time: np.ndarray
    """(n_rows,) of the tuning history."""
    history_scale: np.ndarray
    history_centre: np.ndarray
    history_event_rate: np.ndarray
    history_rank: np.ndarray
    history_smallest_eigenvalue: np.ndarray
    history_largest_eigenvalue: np.ndarray
    history_gradients: np.ndarray


def init_process(
    *,
    dim: int,
    address: int,
    user_data: int,
    functions: PathFunctions,
    tableau: TableauArrays,
    centre: np.ndarray,
    scale: np.ndarray,
    event_rate: float,
    rng: np.random.Generator,
    max_rank: int = 0,
    sample_capacity: int = 0,
    user_rate: UserRate | None = None,
) -> Process:
    """Allocate a chain's state; `place` in process.path puts it at its starting point."""
    path = np.zeros(1, dtype=PATH_DTYPE).view(np.recarray)
    path.event_rate[0] = event_rate
    path.highest_log_density[0] = -np.inf
    n_functions = functions.output.shape[0]
    return Process(
        density=init_density(address, user_data, dim),
        functions=functions,
        tableau=tableau,
        standardization=init_standardization(centre, scale, max_rank),
        step=init_step(dim, tableau.nodes.shape[0]),
        path_start=aligned_zeros(3, dim),
        remembered=aligned_zeros(3, dim),
        scratch=aligned_zeros(2, dim),
        highest=aligned_zeros(dim),
        cut_weights=_cut_weights(tableau),
        previous_moments=init_moments(dim),
        moments=init_moments(dim),
        draw_sample=init_draw_sample(dim, sample_capacity),
        crossing=init_crossing_time_tuner(scale),
        rate_tuner=init_event_rate_tuner(event_rate),
        user_rate=init_user_rate(dim) if user_rate is None else user_rate,
        step_tuner=init_step_tuner(1.0),
        momentum_time_tuner=init_momentum_time_tuner(dim),
        integrals=init_path_integrals(dim, n_functions),
        n_crossings=aligned_zeros(dim),
        path=path,
        counters=np.zeros(1, dtype=COUNTERS_DTYPE).view(np.recarray),
        cursors=np.zeros(1, dtype=CURSORS_DTYPE).view(np.recarray),
        settings=np.zeros(1, dtype=SETTINGS_DTYPE).view(np.recarray),
        rng=generator_state(rng),
    )


def with_tableau(process: Process, tableau: TableauArrays) -> Process:
    """The same state, to be continued with another integrator. The arrays are shared but for those of a step."""
    dim = len(process.step.position)
    step = init_step(dim, tableau.nodes.shape[0])
    step.position[:], step.momentum[:] = process.step.position, process.step.momentum
    step.stage_forces[0] = process.step.stage_forces[0]
    return dataclasses.replace(process, tableau=tableau, step=step, cut_weights=_cut_weights(tableau))


def _cut_weights(tableau: TableauArrays) -> np.ndarray:
    weights = np.zeros(tableau.nodes.shape[0])
    weights[[0, -1]] = 0.5
    return weights


def init_records(
    n_chains: int, dim: int, n_draws: int, n_intervals: int, n_functions: int, n_history: int
) -> list[Records]:
    """Allocate the records of a whole run, one per chain; rows of all chains lie in one piece of memory."""
    draws = aligned_zeros(n_chains, n_draws, dim)
    statistics = np.zeros((n_chains, n_draws, len(STATISTICS)))
    position, squared = aligned_zeros(n_chains, n_intervals, dim), aligned_zeros(n_chains, n_intervals, dim)
    functions = np.zeros((n_chains, n_intervals, n_functions))
    duration = np.zeros((n_chains, n_intervals))
    return [
        Records(
            draws=draws[chain],
            statistics=statistics[chain],
            interval_position=position[chain],
            interval_squared=squared[chain],
            interval_functions=functions[chain],
            interval_duration=duration[chain],
            history_time=np.zeros(n_history),
            history_scale=aligned_zeros(n_history, dim),
            history_centre=aligned_zeros(n_history, dim),
            history_event_rate=np.zeros(n_history),
            history_rank=np.zeros(n_history, dtype=np.int64),
            history_smallest_eigenvalue=np.zeros(n_history),
            history_largest_eigenvalue=np.zeros(n_history),
            history_gradients=np.zeros(n_history, dtype=np.int64),
        )
        for chain in range(n_chains)
    ]
