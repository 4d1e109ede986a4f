"""Cross-chain adaptation: what chains have found by the end of a stage, and what follows for all of them.

A pure function from findings to decisions, both plain arrays and numbers: it does not matter where the chains live, in
which order they came to the end of the stage, or who calls it. So the same seed gives the same draws on any number of
cores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from grhmc.adaptation.agreement import do_agree_in_coordinates, share_directions
from grhmc.adaptation.findings import Findings
from grhmc.adaptation.first_standardization import INITIAL_EVENT_RATE
from grhmc.adaptation.found_times import in_coordinates, still_count
from grhmc.adaptation.integrator_choice import TriedIntegrators, choose_integrator
from grhmc.adaptation.low_rank import NewStandardization, ScaleAndDirections
from grhmc.adaptation.pooled_scale import pool_crossing_scales, pool_moments
from grhmc.adaptation.stage import Stage
from grhmc.adaptation.standardizing import by_own_draws, directions_together, directions_within_chains
from grhmc.adaptation.tuners.moments import RunningMoments
from grhmc.adaptation.tuners.momentum_time import (
    MomentumTimeTuner,
    add_up,
    init_momentum_time_tuner,
    is_limited_by_energy,
)
from grhmc.adaptation.tuners.scale_from_moments import FIXED, MCT
from grhmc.adaptation.tuners.step_size import first_step, tuned_step


@dataclass(frozen=True)
class Situation:
    """What chains at the end of one stage have in common."""

    stages: Sequence[Stage]
    stage_index: int
    is_discrete: bool
    integrator: str
    chooses_integrator: bool
    """Whether the integrator of trajectories is left to the run."""
    counts_cost: bool
    """Whether directions are kept only where they are worth their cost."""
    tunes_event_rate: bool = True
    """Whether λ is tuned at all, or was given."""
    rate_unit: float = 1.0
    """Of a unit of process time, in the units of the event rate: 1, or √dim of arc length."""

    @property
    def stage(self) -> Stage:
        """The one that has just ended."""
        return self.stages[self.stage_index]


@dataclass(frozen=True)
class Decision:
    """What one chain is to do; None: what it did before.

    Attributes
    ----------
    next_stage : int
    is_agreed, is_lost : bool
        Whether all agree about the scale now; whether this chain is left out.
    host : Findings or None
        Of a chain from whose place it is to go on, by that one's steps.
    standardization : NewStandardization or None
    moments : RunningMoments or None
        To go on with; the previous ones are to be forgotten.
    log_time, log_process_time : float
    event_rate : float or None
    integrator : str
    trajectory_step : float or None
    momentum_time_tuner : MomentumTimeTuner or None
    tried : TriedIntegrators
    """

    next_stage: int
    is_agreed: bool
    is_lost: bool
    host: Findings | None
    standardization: NewStandardization | None
    moments: RunningMoments | None
    log_time: float
    log_process_time: float
    event_rate: float | None
    integrator: str
    trajectory_step: float | None
    momentum_time_tuner: MomentumTimeTuner | None
    tried: TriedIntegrators


def pool(findings: Sequence[Findings], situation: Situation) -> list[Decision]:
    """Decide for all chains at the end of a stage, in the order of `findings`; changes nothing that it is given.

    At the end of a window before the last they pool only where all draws together show directions that are far off, or
    where they agree already, so that the windows are over.
    """
    metric = _pool_metric(findings, situation)
    if metric is None:
        return [_as_before(each, situation) for each in findings]
    stage, lost = situation.stage, metric.is_lost
    present = [
        in_coordinates(_at_host(each, host), new)
        for each, host, new in zip(findings, metric.hosts, metric.news, strict=True)
    ]
    counted = still_count(present, metric.news, lost)
    is_agreed = metric.is_agreed and bool(counted)
    if (metric.is_new or not counted) and situation.tunes_event_rate:
        log_time, log_process_time, event_rate = _first_times(situation)
    else:
        in_bulk = [each for each, out in zip(present, lost, strict=True) if not out]
        log_time, log_process_time, event_rate = _time_to_u_turn(counted or in_bulk, stage)
    next_stage = _next_stage(situation, lambda at: is_agreed and at.is_window)
    trajectories = _trajectories(present, lost, counted, log_process_time, next_stage, situation)
    if is_agreed and trajectories.is_chosen and stage.may_end_rounds:
        next_stage = _next_stage(situation, lambda at: at.round > 0)
    return [
        Decision(
            next_stage=next_stage,
            is_agreed=is_agreed,
            is_lost=lost[chain],
            host=metric.hosts[chain],
            standardization=metric.news[chain],
            moments=metric.moments[chain],
            log_time=log_time,
            log_process_time=log_process_time,
            event_rate=event_rate,
            integrator=trajectories.integrator,
            trajectory_step=trajectories.step,
            momentum_time_tuner=trajectories.momentum_time_tuner,
            tried=trajectories.tried,
        )
        for chain in range(len(findings))
    ]


@dataclass(frozen=True)
class _Metric:
    """What is decided about scales and directions: of all chains, and for each of them."""

    is_agreed: bool
    is_lost: Sequence[bool]
    is_new: bool
    """Quite another metric than that of the stage."""
    hosts: Sequence[Findings | None]
    news: Sequence[NewStandardization | None]
    moments: Sequence[RunningMoments | None]


def _pool_metric(findings: Sequence[Findings], situation: Situation) -> _Metric | None:
    """Pool scales and directions; None where chains have no reason to, and go on for themselves."""
    stage, n_chains = situation.stage, len(findings)
    none, were_lost = [None] * n_chains, [each.is_lost for each in findings]
    unchanged = _Metric(n_chains > 1, were_lost, is_new=False, hosts=none, news=none, moments=none)
    if stage.scale.tuner == FIXED:
        return unchanged
    if stage.scale.tuner == MCT:
        return replace(
            unchanged, is_agreed=False, news=pool_crossing_scales([each.standardization for each in findings])
        )
    pooled = pool_moments(
        stage,
        [each.log_density for each in findings],
        [each.standardization for each in findings],
        [each.moments for each in findings],
        [each.previous_moments for each in findings],
        were_lost,
        partial(directions_within_chains, findings, stage.scale),
    )
    together = [findings[chain] for chain in pooled.together]
    news: Sequence[NewStandardization | None] = pooled.news
    found, is_new = None, False
    if stage.scale.finds_directions:
        found, is_new = directions_together(
            together,
            pooled.scale,
            stage.scale.tuner,
            counts_cost=situation.counts_cost,
            is_round=stage.round > 0,
        )
    all_pool = len(together) == n_chains
    may_end = stage.may_end_windows and all_pool and not any(each.is_far_below for each in findings)
    is_agreed = False
    if (stage.pools or may_end) and not is_new:
        in_coordinates = all_pool and share_directions(findings)
        is_agreed = do_agree_in_coordinates(findings, stage.scale, stage.round) if in_coordinates else pooled.is_agreed
    if not (stage.pools or is_agreed or is_new):
        return None
    if stage.scale.finds_directions:
        news = [
            by_own_draws(own, stage.scale, counts_cost=situation.counts_cost)
            if new is None
            else _with_directions(new, found)
            for own, new in zip(findings, news, strict=True)
        ]
    return _Metric(
        is_agreed=is_agreed,
        is_lost=pooled.is_lost,
        is_new=is_new,
        hosts=[None if host is None else findings[host] for host in pooled.hosts],
        news=news,
        moments=[None if out else pooled.moments for out in pooled.is_lost],
    )


def _next_stage(situation: Situation, is_left_out: Callable[[Stage], bool]) -> int:
    """The first stage after the present one that is not left out."""
    index = situation.stage_index + 1
    while index < len(situation.stages) and is_left_out(situation.stages[index]):
        index += 1
    return index


def _with_directions(new: NewStandardization, found: ScaleAndDirections | None) -> NewStandardization | None:
    """A new centre, with scale and directions; None where those that chains have in common stay."""
    return None if found is None else NewStandardization(new.centre, *found)


def _as_before(own: Findings, situation: Situation) -> Decision:
    """A chain goes on for itself."""
    return Decision(
        next_stage=situation.stage_index + 1,
        is_agreed=False,
        is_lost=own.is_lost,
        host=None,
        standardization=None,
        moments=None,
        log_time=own.log_time,
        log_process_time=own.log_process_time,
        event_rate=None,
        integrator=situation.integrator,
        trajectory_step=None,
        momentum_time_tuner=None,
        tried=own.tried,
    )


def _first_times(situation: Situation) -> tuple[float, float, float]:
    """Logarithms of the time to a U-turn, in the units of λ and in process time, and λ, where a metric is new.

    Those of a standard normal: in the new coordinates what was found before means nothing.
    """
    time = situation.rate_unit / INITIAL_EVENT_RATE
    factor = situation.stage.event_rate.u_turn_factor
    return math.log(time), -math.log(INITIAL_EVENT_RATE), 1.0 / (factor * time)


def _at_host(own: Findings, host: Findings | None) -> Findings:
    """What a chain has found once it has taken over a host's place and steps."""
    if host is None:
        return own
    return replace(host, momentum_time_tuner=init_momentum_time_tuner(len(host.position)), is_lost=False)


def _time_to_u_turn(counted: Sequence[Findings], stage: Stage) -> tuple[float, float, float | None]:
    """The geometric mean over chains, and the event rate that follows from it."""
    log_time = float(np.mean([each.log_time for each in counted]))
    log_process_time = float(np.mean([each.log_process_time for each in counted]))
    rule = stage.event_rate
    return log_time, log_process_time, 1.0 / (rule.u_turn_factor * math.exp(log_time)) if rule.tune else None


@dataclass(frozen=True)
class _Trajectories:
    """What is decided about trajectories; None: nothing."""

    integrator: str
    tried: TriedIntegrators
    step: float | None = None
    momentum_time_tuner: MomentumTimeTuner | None = None
    is_chosen: bool = True
    """No integrator is left to be tried."""


def _trajectories(
    present: Sequence[Findings],
    lost: Sequence[bool],
    counted: Sequence[Findings],
    log_process_time: float,
    next_stage: int,
    situation: Situation,
) -> _Trajectories:
    """The integrator of trajectories, their step, and the sums that their length follows from.

    `counted` are the chains whose step still means something; without any the search for it begins anew.
    """
    stage, integrator = situation.stage, situation.integrator
    tried = present[0].tried
    undecided = _Trajectories(integrator, tried)
    begins = next_stage < len(situation.stages) and situation.stages[next_stage].by_trajectories
    if not situation.is_discrete or not (stage.by_trajectories or begins):
        return undecided
    if not stage.by_trajectories:  # the continuous process ends here, whose steps say little of theirs
        chosen = "leapfrog" if situation.chooses_integrator else integrator
        return replace(undecided, integrator=chosen, step=first_step(chosen, log_process_time))
    dim, first = len(present[0].position), first_step(integrator, log_process_time)
    if not counted:
        return replace(undecided, step=first, momentum_time_tuner=init_momentum_time_tuner(dim), is_chosen=False)
    logs = [math.log(tuned_step(each.step_tuner, first, log_process_time)) for each in counted]
    step = float(np.exp(np.median(logs)))
    sums = add_up(
        [
            init_momentum_time_tuner(dim) if out else each.momentum_time_tuner
            for each, out in zip(present, lost, strict=True)
        ]
    )
    acceptance = float(np.mean([each.mean_acceptance for each in counted]))
    tried = tried.with_round(integrator, step, acceptance)
    if stage.round == 0 or not situation.chooses_integrator:
        return _Trajectories(integrator, tried, step, sums)
    choice = choose_integrator(tried, log_process_time, is_limited_by_energy=is_limited_by_energy(sums))
    return _Trajectories(choice.integrator, tried, choice.step, sums, is_chosen=choice.is_final)
