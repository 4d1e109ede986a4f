"""A stage: a stretch of a chain under one set of rules, counted in draws. What a schedule is made of."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from grhmc.adaptation.tuners.mct import FIRST_RUN_GAMMA, K0, KAPPA
from grhmc.adaptation.tuners.scale_from_moments import FIXED
from grhmc.settings import TARGET_CROSSING_TIME

FORGET, SHIFT = "forget", "shift"
"""What becomes of the moments at a stage's start: dropped, or kept as the previous window."""

HISTORY_ROWS_PER_STAGE = 60
"""Rows of tuning history each stage of warm-up leaves."""


@dataclass(frozen=True)
class ScaleRule:
    """How the scale is tuned in a stage.

    Attributes
    ----------
    tuner : int
        One of `SCALE_TUNERS`, or `FIXED`.
    window : str
        `FORGET` or `SHIFT`, for the tuners based on moments.
    first_change : float
        Process time from the stage's start during which centre and scale stay as they are.
    largest_change : float
        Of a scale at once, as a factor; for the tuners based on moments.
    centred_gradient : bool
        Subtract the mean gradient (see `propose_from_moments`).
    apply_at_crossing : bool
        MCT: change the scale at every crossing, as published, rather than at refreshments.
    target_crossing_time : float or tuple of float, one per coordinate
    median_spacing : float
        MCT: process times.
    gamma : float
        MCT: dual averaging's γ.
    kappa, k0 : float
        MCT: dual averaging's κ and k0.
    anchor_factor : float or tuple of float, one per coordinate
        MCT: dual averaging's μ as a multiple of log S at the stage's start.
    finds_directions : bool
        At the stage's end, estimate the directions that the diagonal scale leaves too wide or too narrow.
    """

    tuner: int = FIXED
    window: str = FORGET
    first_change: float = 0.0
    largest_change: float = 2.0
    centred_gradient: bool = True
    apply_at_crossing: bool = False
    target_crossing_time: float | tuple[float, ...] = TARGET_CROSSING_TIME
    median_spacing: float = 1.0
    gamma: float = FIRST_RUN_GAMMA
    kappa: float = KAPPA
    k0: float = K0
    anchor_factor: float | tuple[float, ...] = 0.0
    finds_directions: bool = False


@dataclass(frozen=True)
class EventRateRule:
    """How the event rate is tuned in a stage.

    Attributes
    ----------
    tune : bool
    start : float or None
        λ at the stage's start; None keeps the present one.
    smoothing, prior_count : float
        See `observe_u_turn`.
    u_turn_factor : float
        c in λ = 1/(c τ).
    counts_overshoot : bool
        A path that is followed beyond its due refreshment lends what it overshot to the next path's time to a U-turn.
    search_time : float
        Process time after which a search for a U-turn is given up.
    """

    tune: bool = False
    start: float | None = None
    smoothing: float = 1.0
    prior_count: float = 5.0
    u_turn_factor: float = 1.0
    counts_overshoot: bool = False
    search_time: float = 100.0


@dataclass(frozen=True)
class Stage:
    """A stretch of the process under one set of rules.

    Attributes
    ----------
    name : str
        Shown in the progress line.
    n_draws : int
        Length.
    shorter : Stage or None
        What takes its place where the chains agree about the scale at the end of the windows already.
    brief : Stage or None
        Elsewhere, what takes its place where the integrator of the stage before stays, whose step is known.
    draw_spacing : float or None
        Process time per draw; None: the present U-turn time times `u_turns_per_draw`.
    u_turns_per_draw : float
    is_warmup : bool
    is_hot : bool
        Momenta are refreshed as those of a target at `hot_temperature`, to cross from one mode to another.
    keeps_place : bool
        The place that it leads to is remembered (`Chain.places`).
    looks_back : bool
        At its end a chain that has seen a far higher log density than it has now goes there.
    most_gradients_per_draw : float
        The stage ends sooner once it has cost so many on average. One at whose end chains pool is begun again instead.
    by_trajectories : bool
        Where the process is discrete: by Metropolized trajectories of equal steps, one per draw. False: by the
        continuous process all the same.
    tune_step, tune_momentum_time : bool
        Tune the step of the discrete process, and the length of its trajectories, which changes at the stage's end.
    pools : bool
        At its end chains wait for one another and pool what they have found (`grhmc.adaptation.pooling`). False: they
        do so only if they may end the windows, or if the directions that all draws show are far from the present ones.
    may_end_windows : bool
        Chains that agree about the scale at its end pool then and there, and leave out the windows that are left.
    round : int
        Rounds count from 1; 0: no round.
    may_end_rounds : bool
        Chains that agree at its end, and have chosen an integrator, leave out the rounds that are left.
    """

    name: str
    n_draws: int
    shorter: Stage | None = None
    brief: Stage | None = None
    draw_spacing: float | None = None
    u_turns_per_draw: float = 0.5
    is_warmup: bool = True
    is_hot: bool = False
    keeps_place: bool = False
    looks_back: bool = False
    most_gradients_per_draw: float = math.inf
    by_trajectories: bool = False
    tune_step: bool = False
    tune_momentum_time: bool = False
    pools: bool = False
    may_end_windows: bool = False
    round: int = 0
    may_end_rounds: bool = False
    scale: ScaleRule = field(default_factory=ScaleRule)
    event_rate: EventRateRule = field(default_factory=EventRateRule)

    def as_taken(self, *, agreed_early: bool, integrator_stays: bool) -> Stage:
        """The stage, or what takes its place."""
        instead = self.shorter if agreed_early else self.brief if integrator_stays else None
        return instead or self

    @property
    def is_window(self) -> bool:
        """One of those that lead chains from their starts into the bulk."""
        return self.is_hot or self.keeps_place

    @property
    def waits(self) -> bool:
        """Whether chains wait at its end for what `grhmc.adaptation.pooling` decides, for all or for each."""
        return self.pools or self.may_end_windows or self.scale.finds_directions


_HOT_ENERGY = 12.0


def hot_temperature(dim: int) -> float:
    """Of hot windows: their momenta have 12 √dim more energy on average, 17 times its standard deviation.

    Walls between modes are as high in many dimensions as in few, and the way back to the bulk is longer.
    """
    return 1.0 + 2.0 * _HOT_ENERGY / math.sqrt(dim)


def hot_depth(dim: int) -> float:
    """How far below the log density at the start of a hot window momenta are hot: half of what they bring.

    Under heavy tails a hot process has no stationary law. It would go out for ever, and the way back is long.
    """
    return 0.5 * _HOT_ENERGY * math.sqrt(dim)


def sampling_stage(n_draws: int, draw_spacing: float | None, u_turns_per_draw: float) -> Stage:
    """Draw with everything fixed."""
    return Stage(
        "sampling",
        n_draws,
        draw_spacing=draw_spacing,
        u_turns_per_draw=u_turns_per_draw,
        is_warmup=False,
        by_trajectories=True,
    )
