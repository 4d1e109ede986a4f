"""The kernel's settings: a table of them all, as they are written at the start of each stage and nowhere else."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grhmc.adaptation.stage import HISTORY_ROWS_PER_STAGE, Stage, hot_depth, hot_temperature
from grhmc.adaptation.tuners.step_size import longest_step
from grhmc.events.rates import ARC_LENGTH_RATE, CONSTANT_RATE, USER_RATE
from grhmc.events.refreshment import GAUSSIAN_LAW, SPEED_WEIGHTED_LAW, USER_LAW
from grhmc.process.state import APPLY_AT_CROSSING, APPLY_AT_REFRESHMENT, CONTINUOUS, DISCRETE, SETTINGS_DTYPE
from grhmc.process.trajectory_plan import EXPONENTIAL_LENGTH, FRESH, PERSISTENT, UNIFORM_LENGTH, persistent_length
from grhmc.run.cost import gradients_of_chain, largest_step_division, reachable_acceptance
from grhmc.run.draw_rows import NO_LIMIT

if TYPE_CHECKING:
    import numpy as np

    from grhmc.settings import RunSettings

BEFORE_THE_FIRST_STAGE = Stage("start", n_draws=0)
"""What a chain is put in its place by: a stage that ends at once."""

_RATES_AND_LAWS = {
    "constant": (CONSTANT_RATE, GAUSSIAN_LAW),
    "arc_length": (ARC_LENGTH_RATE, SPEED_WEIGHTED_LAW),
    "user": (USER_RATE, USER_LAW),
}

ROUGHER_BEFORE = 4.0
"""Factor on the tolerance in windows before the last one, where draws are made by trajectories: these windows only lead
chains into the bulk, and what they have found is found again."""

_ROUNDING = 0.25
# Draws are rather a little closer together than asked for than further apart.


@dataclass(frozen=True)
class StageStart:
    """What a chain knows where it begins a stage.

    Attributes
    ----------
    dim : int
    integrator : str
        That it has now.
    time : float
        Process time.
    n_gradients : int
        That count towards the end of a window.
    log_time_to_u_turn : float
        Process time, as tuned.
    u_turns_per_refreshment : float
        Of the discrete process, as tuned: its refreshment time over the time to a U-turn.
    u_turns_per_draw : float
        Of trajectories with persistent momenta, as tuned: time between draws over the time to a U-turn.
    trajectory_step : float
        Of the discrete process, as tuned.
    hot_start : float
        The highest log density at which a hot window began, the present one included.
    noise : float
        Standard deviation of the log density's noise; negative where it has not been measured.
    keeps_warmup : bool
        Whether the draws of warm-up are recorded.
    n_draws_of_run : int
        Of all stages together.
    """

    dim: int
    integrator: str
    time: float
    n_gradients: int
    log_time_to_u_turn: float
    u_turns_per_refreshment: float
    u_turns_per_draw: float
    trajectory_step: float
    hot_start: float
    noise: float
    keeps_warmup: bool
    n_draws_of_run: int

    @property
    def time_to_u_turn(self) -> float:
        """Process time."""
        return math.exp(self.log_time_to_u_turn)

    @property
    def refreshment_time(self) -> float:
        """Of the discrete process: mean length of its trajectories, or momentum decorrelation time."""
        return self.u_turns_per_refreshment * self.time_to_u_turn


def leads_in(settings: RunSettings, stage: Stage) -> bool:
    """Whether the stage only leads a chain into the bulk, by another process than the one that is sampled."""
    return settings.is_discrete and stage.is_window and not stage.pools


def kernel_settings(settings: RunSettings, stage: Stage, start: StageStart) -> dict[str, float]:
    """Every field of `SETTINGS_DTYPE`, in its order, for a stage of a chain."""
    continuous, discrete, limits = settings.continuous, settings.discrete, settings.limits
    scale, event_rate = stage.scale, stage.event_rate
    rate, law = _RATES_AND_LAWS["user" if callable(continuous.event_rate_kind) else continuous.event_rate_kind]
    is_sampled = not stage.is_warmup
    spacing = draw_spacing(stage, start)
    target_acceptance = discrete.effective_target_accept(start.integrator)
    return {
        "process": DISCRETE if settings.is_discrete and stage.by_trajectories else CONTINUOUS,
        # Trajectories
        "momentum": PERSISTENT if discrete.momentum == "persistent" else FRESH,
        "length_law": UNIFORM_LENGTH if discrete.length_law == "uniform" else EXPONENTIAL_LENGTH,
        "largest_trajectory_step": longest_step(start.log_time_to_u_turn),
        "trajectories_per_draw": trajectories_per_draw(settings, stage, start),
        "u_turns_per_refreshment": start.u_turns_per_refreshment,
        "tune_step": stage.tune_step,
        "tune_momentum_time": stage.tune_momentum_time,
        "target_acceptance": reachable_acceptance(target_acceptance, start.noise),
        "largest_step_division": largest_step_division(start.noise),
        # Steps of the continuous process, and their limits
        "tolerance": settings.tolerance * (ROUGHER_BEFORE if leads_in(settings, stage) else 1.0),
        "largest_step": limits.largest_step,
        "step_floor": limits.step_floor,
        "divergence_threshold": limits.divergence_threshold,
        "max_gradients_per_draw": settings.max_gradients_per_draw,
        "most_gradients": gradients_of_chain(start.n_draws_of_run, settings.gradient_budget),
        # Events and refreshments
        "rate": rate,
        "law": law,
        "persistence": continuous.persistence,
        "momentum_factor": math.sqrt(hot_temperature(start.dim)) if stage.is_hot else 1.0,
        "lowest_hot_log_density": start.hot_start - hot_depth(start.dim),
        "test_paths": is_sampled and settings.tests_paths,
        # Tuning of the scale
        "scale": scale.tuner,
        "centred_gradient": scale.centred_gradient,
        "first_change_time": start.time + scale.first_change,
        "largest_change": scale.largest_change,
        "apply": APPLY_AT_CROSSING if scale.apply_at_crossing else APPLY_AT_REFRESHMENT,
        "target_crossing_time": 0.0 if isinstance(scale.target_crossing_time, tuple) else scale.target_crossing_time,
        "median_spacing": scale.median_spacing,
        # Tuning of the event rate
        "tune_event_rate": event_rate.tune,
        "rate_smoothing": event_rate.smoothing,
        "rate_prior_count": event_rate.prior_count,
        "u_turn_factor": event_rate.u_turn_factor,
        "counts_overshoot": event_rate.counts_overshoot,
        "u_turn_search_time": event_rate.search_time,
        # The stage's end, and what is recorded until then
        "end_time": start.time + stage.n_draws * spacing,
        "end_gradients": start.n_gradients + gradients_of_stage(stage),
        "draw_spacing": spacing,
        "record": is_sampled or start.keeps_warmup,
        "n_draws": stage.n_draws,
        "draws_per_interval": settings.draws_per_interval if is_sampled else 0,
        "history_spacing": 0.0 if is_sampled else stage.n_draws * spacing / HISTORY_ROWS_PER_STAGE,
    }


def write_kernel_settings(kernel: np.recarray, values: dict[str, float]) -> None:
    """Write all of them into a process's settings, of shape (1,), at once."""
    kernel[0] = tuple(values[name] for name in SETTINGS_DTYPE.names or ())


def double_draws_per_interval(kernel: np.recarray) -> None:
    """Have the intervals of time averages to come span twice as many draws."""
    kernel.draws_per_interval *= 2


def draw_spacing(stage: Stage, start: StageStart) -> float:
    """Process time between draws of the continuous process."""
    return stage.u_turns_per_draw * start.time_to_u_turn if stage.draw_spacing is None else stage.draw_spacing


def gradients_of_stage(stage: Stage) -> int:
    """Gradients after which the stage ends, whatever it has drawn."""
    if math.isinf(stage.most_gradients_per_draw):
        return NO_LIMIT
    return int(stage.n_draws * stage.most_gradients_per_draw)


def trajectories_per_draw(settings: RunSettings, stage: Stage, start: StageStart) -> int:
    """One, but where momenta persist and draws are kept: as many as lie between draws worth having."""
    if settings.discrete.momentum != "persistent" or stage.is_warmup:
        return 1
    length = max(persistent_length(start.refreshment_time, start.u_turns_per_refreshment), start.trajectory_step)
    return max(1, int(start.u_turns_per_draw * start.time_to_u_turn / length + _ROUNDING))
