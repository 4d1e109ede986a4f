"""A whole run: its length, its process, its scale, and the limits of its steps."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field

import numpy as np

from grhmc.argument_checks import check_count, check_number
from grhmc.settings.metric import MetricSettings
from grhmc.settings.names import DEFAULT_TOLERANCES
from grhmc.settings.process import Continuous, Discrete, Process
from grhmc.settings.scale import ScaleSettings
from grhmc.settings.stop import StopRule
from grhmc.settings.warmup import PaperWarmup

GRADIENT_BUDGET = 1000
"""Gradients per draw that a chain may spend, on average: about what NUTS may with a tree depth of at most 10."""

_FEWEST_KEPT, _KEPT_BY_ALL = 100, 400
# Draws with gradients that each chain, and all together, keep of a stage.

ONE_DRAW_BUDGET = 200
"""Times as many may go into one draw."""


@dataclass(frozen=True)
class StepLimits:
    """Bounds of steps and paths. No argument of `sample` reaches them.

    Attributes
    ----------
    largest_step : float
        Process time.
    step_floor : float
        Process time under which a step is not cut further.
    divergence_threshold : float
        Energy error along a path above which it counts as diverging.
    """

    largest_step: float = 3.0
    step_floor: float = 1e-6
    divergence_threshold: float = 10.0

    def __post_init__(self) -> None:
        check_number("largest_step", self.largest_step, above=0.0)
        check_number("step_floor", self.step_floor, above=0.0)
        check_number("divergence_threshold", self.divergence_threshold, above=0.0)


@dataclass(frozen=True)
class RunSettings:
    """A whole run.

    Attributes
    ----------
    draws, tune : int
        Draws kept and draws of warm-up, per chain.
    chains, cores : int
    seed : int, tuple of int, or None
    process : Discrete or Continuous
    scale : ScaleSettings
    metric : MetricSettings
    save_warmup, progress_bar, check_gradient : bool
    gradient_budget : int
        Gradients per draw, on average over warm-up and sampling, that a chain may spend.
    one_draw_budget : int or None
        Gradients after which a chain gives up on reaching its next draw. None: 200 times `gradient_budget`.
    u_turns_per_draw : float
        Process time between draws over the tuned time to a U-turn, where no `sample_interval` is given.
    u_turn_factor : float
        c in λ = 1/(c τ).
    n_time_averages : int
        At most so many intervals of time averages are kept per chain.
    limits : StepLimits
    stop : StopRule
        When the run may end before all draws are made.
    interval_draws : int or None
        Draws that one interval of time averages spans. None: so many that there are `n_time_averages` at most.
    most_intervals : int or None
        When there are so many, an even number, neighbours are joined, and those to come span twice as many draws. None:
        they are not, and all draws have room.
    """

    draws: int = 1000
    tune: int = 1000
    chains: int = 4
    cores: int | None = None
    seed: int | tuple[int, ...] | None = None
    process: Process = field(default_factory=Discrete)
    scale: ScaleSettings = field(default_factory=ScaleSettings)
    metric: MetricSettings = field(default_factory=MetricSettings)
    save_warmup: bool = False
    progress_bar: bool = True
    check_gradient: bool = True
    gradient_budget: int = GRADIENT_BUDGET
    one_draw_budget: int | None = None
    u_turns_per_draw: float = 0.5
    u_turn_factor: float = 1.3
    n_time_averages: int = 50
    limits: StepLimits = field(default_factory=StepLimits)
    stop: StopRule = field(default_factory=StopRule)
    interval_draws: int | None = None
    most_intervals: int | None = None

    def __post_init__(self) -> None:
        check_count("draws", self.draws, at_least=1)
        check_count("tune", self.tune, at_least=0)
        check_count("chains", self.chains, at_least=1)
        if self.cores is not None:
            check_count("cores", self.cores, at_least=1)
        check_number("u_turns_per_draw", self.u_turns_per_draw, above=0.0)
        check_number("u_turn_factor", self.u_turn_factor, above=0.0)
        check_count("gradient_budget", self.gradient_budget, at_least=1)
        if self.one_draw_budget is not None:
            check_count("one_draw_budget", self.one_draw_budget, at_least=1)
        check_count("n_time_averages", self.n_time_averages, at_least=1)
        for name in ("save_warmup", "progress_bar", "check_gradient"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise TypeError(f"{name} must be True or False, got {getattr(self, name)!r}")

    @property
    def is_discrete(self) -> bool:
        """Whether the draws come from Metropolized trajectories."""
        return isinstance(self.process, Discrete)

    @property
    def discrete(self) -> Discrete:
        """The discrete process; its defaults, where the run has none."""
        return self.process if isinstance(self.process, Discrete) else Discrete()

    @property
    def continuous(self) -> Continuous:
        """The continuous process; of a discrete run, what the windows of its warm-up go by."""
        return self.process if isinstance(self.process, Continuous) else Continuous()

    @property
    def chooses_integrator(self) -> bool:
        """Whether the integrator is left to the run."""
        return self.is_discrete and self.discrete.integrator == "auto"

    @property
    def first_integrator(self) -> str:
        """What the run begins with."""
        return "splitting" if self.chooses_integrator else self.process.integrator

    @property
    def tolerance(self) -> float:
        """Largest local error per adaptive step: as asked, or the default of the first integrator."""
        asked = self.continuous.tolerance
        return DEFAULT_TOLERANCES[self.first_integrator] if asked is None else float(asked)

    @property
    def max_gradients_per_draw(self) -> int:
        """Gradients after which a chain gives up on reaching its next draw."""
        return ONE_DRAW_BUDGET * self.gradient_budget if self.one_draw_budget is None else self.one_draw_budget

    @property
    def sample_interval(self) -> float | None:
        """Process time between draws, if it was given."""
        return self.continuous.sample_interval

    @property
    def warmup(self) -> PaperWarmup | None:
        """The published warm-up; None: the practical one."""
        return PaperWarmup.parse(self.continuous.warmup)

    @property
    def tests_paths(self) -> bool:
        """Whether paths of the continuous process that change the energy may be rejected, while sampling."""
        return self.continuous.tests_paths

    def max_rank(self, dim: int) -> int:
        """Directions that a chain of `dim` parameters has room for; 0: the metric stays diagonal."""
        return 0 if self.warmup is not None else self.metric.room(dim, self.scale)

    def sample_capacity(self, dim: int) -> int:
        """Draws of a stage that a chain keeps to estimate directions from."""
        return max(_FEWEST_KEPT, -(-_KEPT_BY_ALL // self.chains)) if self.max_rank(dim) else 0

    @property
    def n_threads(self) -> int:
        """Threads to use: as asked, at most one per chain."""
        available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        return min(self.chains, self.cores or available or 1)

    @property
    def draws_per_interval(self) -> int:
        """Draws that one interval of time averages spans, when sampling begins."""
        return self.interval_draws or math.ceil(self.draws / self.n_time_averages)

    @property
    def n_intervals(self) -> int:
        """Complete intervals of time averages that there is room for."""
        return self.most_intervals or self.draws // self.draws_per_interval

    @property
    def joins_intervals(self) -> bool:
        """Whether intervals become longer as the run does."""
        return self.most_intervals is not None
