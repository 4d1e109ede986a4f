"""Every setting of a run, validated on construction. Frozen: what a chain was started with cannot change under it."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from grhmc.argument_checks import as_vector, check_choice, check_count, check_number

AUTO = "auto"
"""The integrator, or the process, that suits the posterior."""

INTEGRATORS = ("splitting", "rkn43", "rkn64")
"""Of the continuous process, the first by default."""

SYMPLECTIC_INTEGRATORS = ("splitting", "leapfrog")
"""Of the discrete process: steps of one size preserve volume and can be reversed."""

DEFAULT_TOLERANCES = {"splitting": 0.05, "rkn43": 0.015, "rkn64": 0.001, "leapfrog": 0.15}
"""Largest local error per step, in standardized units, by integrator."""

PROCESSES = (AUTO, "continuous", "discrete")
FEWEST_TUNE_FOR_TRAJECTORIES = 20
"""Draws of warm-up below which steps that adapt are safer than one that should have been tuned."""

DEFAULT_TARGET_ACCEPT = {"splitting": 0.93, "leapfrog": 0.9}
"""Mean acceptance of the discrete process's trajectories, by integrator."""

GRADIENT_BUDGET = 1000
"""Gradients per draw that a chain may spend, on average: about what NUTS may with a tree depth of at most 10."""

ONE_DRAW_BUDGET = 200
"""Times as many may go into one draw."""

SCALES = ("isg", "vari", "geo", "mct", "identity")
EVENT_RATE_KINDS = ("constant", "arc_length")


@dataclass(frozen=True)
class IntegratorSettings:
    """How the dynamics are integrated.

    Attributes
    ----------
    name : str
        ``"auto"``, ``"splitting"``, ``"rkn43"``, ``"rkn64"`` or ``"leapfrog"``.
    tolerance : float or None
        Largest local error per step in any coordinate, of position and momentum, in standardized units (posterior
        standard deviations, roughly). None: the integrator's default.
    largest_step : float
        Process time.
    step_floor : float
        Process time under which a step is not cut further.
    max_gradients_per_draw : int
        Gradients after which a chain gives up on reaching its next draw; `gradient_budget` of `sample` sets it.
    divergence_threshold : float
        Energy error along a path above which it counts as diverging.
    """

    name: str = AUTO
    tolerance: float | None = None
    largest_step: float = 3.0
    step_floor: float = 1e-6
    max_gradients_per_draw: int = ONE_DRAW_BUDGET * GRADIENT_BUDGET
    divergence_threshold: float = 10.0

    def __post_init__(self) -> None:
        check_choice("integrator", self.name, dict.fromkeys([AUTO, *INTEGRATORS, *SYMPLECTIC_INTEGRATORS]))
        if self.tolerance is not None:
            check_number("tolerance", self.tolerance, above=0.0)
        check_number("largest_step", self.largest_step, above=0.0)
        check_number("step_floor", self.step_floor, above=0.0)
        check_count("max_gradients_per_draw", self.max_gradients_per_draw, at_least=1)
        check_number("divergence_threshold", self.divergence_threshold, above=0.0)

    @property
    def is_open(self) -> bool:
        """True if it is left to the run."""
        return self.name == AUTO

    @property
    def first(self) -> str:
        """What a run begins with."""
        return INTEGRATORS[0] if self.is_open else self.name

    @property
    def effective_tolerance(self) -> float:
        """The tolerance, or the default of the integrator that a run begins with."""
        return DEFAULT_TOLERANCES[self.first] if self.tolerance is None else float(self.tolerance)


@dataclass(frozen=True)
class EventSettings:
    """When the momentum is refreshed and how.

    Attributes
    ----------
    rate : "tuned" or float
        Events per process time (constant rate) or per arc length (arc-length rate), or tuned to U-turns.
    kind : str
        ``"constant"`` or ``"arc_length"``.
    refreshment : "full" or float
        A number φ in [0, 1) is Horowitz's partial refreshment with persistence φ.
    u_turn_factor : float
        c in λ = 1/(c τ).
    """

    rate: str | float = "tuned"
    kind: str = "constant"
    refreshment: str | float = "full"
    u_turn_factor: float = 1.3

    def __post_init__(self) -> None:
        if isinstance(self.rate, str):
            check_choice("event_rate", self.rate, ("tuned",), " or a positive number")
        else:
            check_number("event_rate", self.rate, above=0.0)
        check_choice("event_rate_kind", self.kind, EVENT_RATE_KINDS)
        if isinstance(self.refreshment, str):
            check_choice("refreshment", self.refreshment, ("full",), " or a number in [0, 1)")
        else:
            check_number("refreshment", self.refreshment, at_least=0.0, below=1.0)
        check_number("u_turn_factor", self.u_turn_factor, above=0.0)

    @property
    def persistence(self) -> float:
        """φ; 0 for a full refreshment."""
        return 0.0 if isinstance(self.refreshment, str) else float(self.refreshment)

    @property
    def is_tuned(self) -> bool:
        """True if λ is tuned."""
        return isinstance(self.rate, str)


@dataclass(frozen=True)
class ProcessSettings:
    """Which process draws, and what the discrete one needs.

    Attributes
    ----------
    kind : str
        ``"continuous"``; ``"discrete"``: Metropolized trajectories of equal steps; or ``"auto"``: discrete, unless
        something was asked for that only the continuous one has.
    target_accept : float or None
        Mean acceptance that the step is tuned to. None: the integrator's default.
    momentum : str
        ``"persistent"``: refreshed in part before each of many short trajectories, and reversed where one is refused;
        ``"fresh"``: drawn anew for each trajectory, whose length is random.
    length_law : str
        Of a trajectory with a fresh momentum: ``"uniform"`` between 0 and twice its mean, or ``"exponential"``.
    u_turns_per_refreshment : float or None
        How long a momentum lasts, over the tuned time to a U-turn: the time in which a persistent one is forgotten but
        for 1/e, or the mean length of trajectories with fresh ones. None: tuned, so that the slowest position and the
        slowest square of a position do equally well.
    """

    kind: str = AUTO
    target_accept: float | None = None
    momentum: str = "persistent"
    length_law: str = "uniform"
    u_turns_per_refreshment: float | None = None

    def __post_init__(self) -> None:
        check_choice("process", self.kind, PROCESSES)
        check_choice("momentum", self.momentum, ("persistent", "fresh"))
        check_choice("length_law", self.length_law, ("uniform", "exponential"))
        if self.momentum == "persistent" and self.length_law != "uniform":
            raise ValueError(
                f"length_law is {self.length_law!r}, but trajectories with a persistent momentum are of equal length; "
                "use momentum='fresh' for trajectories of random length"
            )
        if self.u_turns_per_refreshment is not None:
            check_number("u_turns_per_refreshment", self.u_turns_per_refreshment, above=0.0)
        if self.target_accept is not None:
            check_number("target_accept", self.target_accept, above=0.0, below=1.0)

    def effective_target_accept(self, integrator: str) -> float:
        """The target, or the integrator's default."""
        if self.target_accept is None:
            return DEFAULT_TARGET_ACCEPT.get(integrator, 0.8)
        return float(self.target_accept)


@dataclass(frozen=True)
class ScaleSettings:
    """How the diagonal scale is found.

    Attributes
    ----------
    tuner : str
        One of ``"geo"``, ``"isg"``, ``"vari"``, ``"mct"``, ``"identity"``, ``"fixed"``.
    fixed : ndarray, shape (dim,), or None
        The user's scale, in the units of the parameters, for ``"fixed"``.
    """

    tuner: str = "geo"
    fixed: np.ndarray | None = None

    @classmethod
    def parse(cls, scale: str | Sequence[float] | np.ndarray, dim: int) -> ScaleSettings:
        """From a user's argument: a name, or positive numbers, one per coordinate."""
        if isinstance(scale, str):
            check_choice("scale", scale, SCALES, f", or an array of {dim} positive numbers")
            return cls(scale)
        array = as_vector("scale", scale, dim)
        if not np.all(array > 0.0):
            raise ValueError(f"scale must be positive in every coordinate; its smallest entry is {array.min()}")
        return cls("fixed", array)


@dataclass(frozen=True)
class PaperWarmup:
    """The tuning phases of Tran & Kleppe (2024), in process time.

    6000 units for centre and scale (MCT: 1000, then 5000), then 5000 for the event rate. Integrals run from the start
    of a phase; centre and scale start at 0 and 1 and change after the first 5 % of it.

    Attributes
    ----------
    event_rate : float
        λ while the scale is tuned.
    time_factor : float
        Multiplies the length of every phase.
    apply_at_crossing : bool
        MCT: change a scale at every crossing, as published, rather than at momentum refreshments.
    u_turn_factor : float
        c in λ = 1/(c τ): the published rule has 1, the published numbers look like 1.3 (docs/paper.md).
    """

    event_rate: float = 0.2
    time_factor: float = 1.0
    apply_at_crossing: bool = True
    u_turn_factor: float = 1.0

    def __post_init__(self) -> None:
        check_number("event_rate", self.event_rate, above=0.0)
        check_number("time_factor", self.time_factor, above=0.0)
        check_number("u_turn_factor", self.u_turn_factor, above=0.0)

    @classmethod
    def parse(cls, warmup: str | PaperWarmup) -> PaperWarmup | None:
        """From a user's argument: None stands for the practical warm-up."""
        if isinstance(warmup, cls):
            return warmup
        if not isinstance(warmup, str):
            raise TypeError(f"warmup must be 'practical', 'paper' or a PaperWarmup, got {warmup!r}")
        check_choice("warmup", warmup, ("practical", "paper"), " or a PaperWarmup")
        return cls() if warmup == "paper" else None


@dataclass(frozen=True)
class RunSettings:
    """A whole run.

    Attributes
    ----------
    draws, tune : int
        Draws kept and draws of warm-up, per chain.
    chains, cores : int
    seed : int or None
    sample_interval : float or None
        Process time between draws; None: `u_turns_per_draw` times the tuned U-turn time.
    u_turns_per_draw : float
    warmup : PaperWarmup or None
        None: the practical warm-up.
    save_warmup, progress_bar, check_gradient : bool
    gradient_budget : int
        Gradients per draw, on average over warm-up and sampling, that a chain may spend.
    n_time_averages : int
        At most so many intervals of time averages are kept per chain.
    """

    draws: int = 1000
    tune: int = 1000
    chains: int = 4
    cores: int | None = None
    seed: int | None = None
    sample_interval: float | None = None
    u_turns_per_draw: float = 0.5
    warmup: PaperWarmup | None = None
    save_warmup: bool = False
    progress_bar: bool = True
    check_gradient: bool = True
    gradient_budget: int = GRADIENT_BUDGET
    n_time_averages: int = 50
    integrator: IntegratorSettings = field(default_factory=IntegratorSettings)
    events: EventSettings = field(default_factory=EventSettings)
    process: ProcessSettings = field(default_factory=ProcessSettings)
    scale: ScaleSettings = field(default_factory=ScaleSettings)

    def __post_init__(self) -> None:
        check_count("draws", self.draws, at_least=1)
        check_count("tune", self.tune, at_least=0)
        check_count("chains", self.chains, at_least=1)
        if self.cores is not None:
            check_count("cores", self.cores, at_least=1)
        if self.seed is not None:
            check_count("seed", self.seed, at_least=0)
        if self.sample_interval is not None:
            check_number("sample_interval", self.sample_interval, above=0.0)
        check_number("u_turns_per_draw", self.u_turns_per_draw, above=0.0)
        check_count("gradient_budget", self.gradient_budget, at_least=1)
        check_count("n_time_averages", self.n_time_averages, at_least=1)
        if self.process_kind == "discrete":
            self._check_discrete()
        else:
            check_choice("integrator of process='continuous'", self.integrator.name, (AUTO, *INTEGRATORS))
        for name in ("save_warmup", "progress_bar", "check_gradient"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise TypeError(f"{name} must be True or False, got {getattr(self, name)!r}")

    def _check_discrete(self) -> None:
        """Refuse what only the continuous process has."""
        check_choice("integrator of process='discrete'", self.integrator.name, (AUTO, *SYMPLECTIC_INTEGRATORS))
        if self.warmup is not None:
            raise ValueError("warmup='paper' is for process='continuous'; use warmup='practical'")
        if self.events.kind != "constant" or not self.events.is_tuned or self.events.persistence != 0.0:
            raise ValueError(
                "event_rate, event_rate_kind and refreshment belong to process='continuous'; "
                "trajectories of process='discrete' follow the tuned time to a U-turn; ProcessSettings has `momentum`"
            )

    @property
    def process_kind(self) -> str:
        """``"continuous"`` or ``"discrete"``, also where that was left open.

        What belongs to the continuous process alone (a tolerance, an event rate, a spacing of draws, its integrators,
        the published warm-up) decides for it, and so does a warm-up too short to find a step that suits the posterior.
        """
        if self.process.kind != AUTO:
            return self.process.kind
        events = self.events
        is_continuous = (
            self.tune < FEWEST_TUNE_FOR_TRAJECTORIES
            or self.integrator.tolerance is not None
            or self.integrator.name in set(INTEGRATORS) - set(SYMPLECTIC_INTEGRATORS)
            or not events.is_tuned
            or events.kind != "constant"
            or events.persistence != 0.0
            or self.sample_interval is not None
            or self.warmup is not None
        )
        return "continuous" if is_continuous and self.integrator.name != "leapfrog" else "discrete"

    @property
    def tests_paths(self) -> bool:
        """Whether paths of the continuous process that change the energy may be refused, while sampling.

        Steps must preserve volume, the time of a refreshment must not depend on the path, and nothing of the momentum
        may survive it. The published process has no such test.
        """
        is_reversible = self.events.kind == "constant" and self.events.persistence == 0.0
        return is_reversible and self.integrator.first in SYMPLECTIC_INTEGRATORS and self.warmup is None

    @property
    def n_threads(self) -> int:
        """Threads to use: as asked, at most one per chain."""
        available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        return min(self.chains, self.cores or available or 1)

    @property
    def draws_per_interval(self) -> int:
        """Draws that one interval of time averages spans."""
        return math.ceil(self.draws / self.n_time_averages)

    @property
    def n_intervals(self) -> int:
        """Complete intervals of time averages."""
        return self.draws // self.draws_per_interval
