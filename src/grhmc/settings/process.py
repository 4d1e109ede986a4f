"""The two processes that draw, each with the arguments that belong to it alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

from grhmc.argument_checks import check_choice, check_number
from grhmc.argument_names import explains_unknown_names
from grhmc.settings.event_rate import EventRateFunction, parse_event_rate_kind, typical_rate
from grhmc.settings.names import (
    CONTINUOUS_INTEGRATORS,
    DEFAULT_TARGET_ACCEPT,
    DISCRETE_INTEGRATORS,
    LENGTH_LAWS,
    MOMENTA,
    PROCESSES,
    ContinuousIntegrator,
    DiscreteIntegrator,
    EventRateKind,
    LengthLaw,
    Momentum,
    ProcessName,
    WarmupName,
)
from grhmc.settings.warmup import PaperWarmup

_OF_CONTINUOUS_ALONE = ("tolerance", "event_rate", "event_rate_kind", "refreshment", "sample_interval", "warmup")


@explains_unknown_names({name: f"process=grhmc.Continuous({name}=...)" for name in _OF_CONTINUOUS_ALONE})
@dataclass(frozen=True)
class Discrete:
    """Metropolized trajectories of equal steps: exact whatever the step, which is halved where it is far too long.

    The windows of the warm-up go by the continuous process with its defaults: steps that adapt find the way in from any
    start.

    Attributes
    ----------
    target_accept : float or None
        Mean acceptance that the step is tuned to, in (0, 1); a trajectory whose energy rises by more than 3 counts as
        −1, so that steps are shorter where a posterior has narrow places. None: the integrator's default, 0.85 or 0.8.
    momentum : {"persistent", "fresh"}
        Persistent: refreshed in part before each of many short trajectories, and reversed where one is rejected. Fresh:
        drawn anew for each trajectory, whose length is random.
    integrator : {"auto", "splitting", "leapfrog"}
        Two-stage minimal-norm splitting, or leapfrog. Auto: the one whose accepted trajectories go further per
        gradient, as rounds of the warm-up find; the splitting where the warm-up has no rounds.
    length_law : {"uniform", "exponential"}
        Of a trajectory with a fresh momentum: uniform between 0 and twice its mean, or exponential.
    u_turns_per_refreshment : float or None
        How long a momentum lasts, over the tuned time to a U-turn. With a persistent one that is its decorrelation
        time, with fresh ones the mean length of trajectories. None: tuned, so that the slowest position and the
        slowest square of a position do equally well.
    """

    target_accept: float | None = None
    momentum: Momentum = "persistent"
    integrator: DiscreteIntegrator = "auto"
    length_law: LengthLaw = "uniform"
    u_turns_per_refreshment: float | None = None

    def __post_init__(self) -> None:
        if self.target_accept is not None:
            check_number("target_accept", self.target_accept, above=0.0, below=1.0)
        check_choice("momentum", self.momentum, MOMENTA)
        _check_integrator(self.integrator, "Discrete", DISCRETE_INTEGRATORS, "Continuous", CONTINUOUS_INTEGRATORS)
        check_choice("length_law", self.length_law, LENGTH_LAWS)
        if self.momentum == "persistent" and self.length_law != "uniform":
            raise ValueError(
                f"length_law is {self.length_law!r}, but trajectories with a persistent momentum are of equal length; "
                "use momentum='fresh' for trajectories of random length"
            )
        if self.u_turns_per_refreshment is not None:
            check_number("u_turns_per_refreshment", self.u_turns_per_refreshment, above=0.0)

    def effective_target_accept(self, integrator: str) -> float:
        """The target, or the integrator's default."""
        if self.target_accept is None:
            return DEFAULT_TARGET_ACCEPT.get(integrator, 0.8)
        return float(self.target_accept)


@explains_unknown_names({})
@dataclass(frozen=True)
class Continuous:
    """The process of Bou-Rabee and Kleppe in continuous time, with adaptive steps.

    Attributes
    ----------
    integrator : {"splitting", "rkn43", "rkn64"}
        Two-stage minimal-norm splitting, or a Runge-Kutta-Nyström pair.
    tolerance : float or None
        Largest local error per step in any coordinate, of position and momentum, in standardized units (posterior
        standard deviations, roughly). It controls the bias, which with the splitting a test of paths makes smaller.
        None: the integrator's default, 0.05, 0.015 or 0.001.
    event_rate : "tuned" or float
        Momentum refreshments per process time (constant rate) or per arc length (arc-length rate). Tuned: one per 1.3
        typical times to a U-turn.
    event_rate_kind : {"constant", "arc_length"} or callable
        What λ is multiplied by: 1, the speed ‖p̄‖, or a function of one's own: ``f(q_bar, p_bar)`` takes standardized
        position and momentum, float64 arrays of shape (dim,), and returns a positive number; plain Python that Numba
        can compile, or jitted. It should be smooth on the scale of a step. Draws have the target's law whatever it is,
        but for the integrator's error: only with a constant rate are paths tested.
    refreshment : "full" or float
        A number φ in [0, 1) keeps that share of the old momentum (Horowitz); of more than 0, paths are not tested.
    sample_interval : float or None
        Process time between draws. None: half the tuned time to a U-turn.
    warmup : {"practical", "paper"} or PaperWarmup
        How centre, scale and event rate are found: in windows and rounds of `tune` draws at most, or by the phases of
        Tran & Kleppe (2024), counted in process time whatever `tune` is, from centre 0 and scale 1.
    """

    integrator: ContinuousIntegrator = "splitting"
    tolerance: float | None = None
    event_rate: float | Literal["tuned"] = "tuned"
    event_rate_kind: EventRateKind | EventRateFunction = "constant"
    refreshment: float | Literal["full"] = "full"
    sample_interval: float | None = None
    warmup: WarmupName | PaperWarmup = "practical"

    def __post_init__(self) -> None:
        _check_integrator(self.integrator, "Continuous", CONTINUOUS_INTEGRATORS, "Discrete", DISCRETE_INTEGRATORS)
        if self.tolerance is not None:
            check_number("tolerance", self.tolerance, above=0.0)
        if isinstance(self.event_rate, str):
            check_choice("event_rate", self.event_rate, ("tuned",), " or a positive number")
        else:
            check_number("event_rate", self.event_rate, above=0.0)
        object.__setattr__(self, "event_rate_kind", parse_event_rate_kind(self.event_rate_kind))
        if isinstance(self.refreshment, str):
            check_choice("refreshment", self.refreshment, ("full",), " or a number in [0, 1)")
        else:
            check_number("refreshment", self.refreshment, at_least=0.0, below=1.0)
        if self.sample_interval is not None:
            check_number("sample_interval", self.sample_interval, above=0.0)
        PaperWarmup.parse(self.warmup)

    @property
    def persistence(self) -> float:
        """φ; 0 for a full refreshment."""
        return 0.0 if isinstance(self.refreshment, str) else float(self.refreshment)

    @property
    def tunes_event_rate(self) -> bool:
        """True if λ is tuned."""
        return isinstance(self.event_rate, str)

    def typical_base_rate(self, dim: int) -> float:
        """What multiplies λ, on N(0, I): 1, √dim, or a mean of the user's function.

        Raises
        ------
        ValueError
            If the user's function is not positive and finite there, or raises.
        """
        if callable(self.event_rate_kind):
            return typical_rate(self.event_rate_kind, dim)
        return 1.0 if self.event_rate_kind == "constant" else math.sqrt(dim)

    @property
    def event_rate_name(self) -> str:
        """For attributes of results: the kind, or the name of the user's function."""
        return self.event_rate_kind if isinstance(self.event_rate_kind, str) else self.event_rate_kind.__name__

    @property
    def tests_paths(self) -> bool:
        """Whether paths that change the energy may be rejected, while sampling.

        Steps must preserve volume, the time of a refreshment must not depend on the path, and nothing of the momentum
        may survive it. The published process has no such test.
        """
        is_reversible = self.event_rate_kind == "constant" and self.persistence == 0.0
        return is_reversible and self.integrator == "splitting" and PaperWarmup.parse(self.warmup) is None


Process = Discrete | Continuous


def parse_process(process: ProcessName | Process, target_accept: float | None = None) -> Process:
    """From users' arguments: a process, or the name of one with its defaults.

    Parameters
    ----------
    process : {"discrete", "continuous"}, Discrete or Continuous
    target_accept : float, optional
        Of the discrete process.

    Raises
    ------
    TypeError, ValueError
        If there is no such process, or a target that it does not have or has otherwise.
    """
    chosen = _named_process(process)
    if target_accept is None:
        return chosen
    if isinstance(chosen, Continuous):
        raise ValueError(
            f"target_accept is {target_accept!r}, but the continuous process accepts no trajectories: its error is "
            "controlled by grhmc.Continuous(tolerance=...)"
        )
    if chosen.target_accept is not None and chosen.target_accept != target_accept:
        raise ValueError(
            f"target_accept is {target_accept!r}, and {chosen.target_accept!r} in process=grhmc.Discrete(...); "
            "give it once"
        )
    return replace(chosen, target_accept=target_accept)


def _named_process(process: Any) -> Process:
    if isinstance(process, Discrete | Continuous):
        return process
    alternatives = ", a grhmc.Discrete(...) or a grhmc.Continuous(...)"
    if isinstance(process, type) and issubclass(process, Discrete | Continuous):
        raise TypeError(f"process must be an instance; write grhmc.{process.__name__}()")
    check_choice("process", process, PROCESSES, alternatives)
    return Discrete() if process == "discrete" else Continuous()


def _check_integrator(name: Any, here: str, accepted: tuple[str, ...], there: str, others: tuple[str, ...]) -> None:
    """Raise unless the process has an integrator of that name; say so if the other process has it."""
    hint = f" ({name!r} is one of grhmc.{there})" if isinstance(name, str) and name in others else ""
    check_choice(f"integrator of grhmc.{here}", name, accepted, hint)
