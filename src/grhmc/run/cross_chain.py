"""Where chains of a run wait for one another during warm-up: what they have found goes in, decisions come out."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

from grhmc.adaptation.findings import Findings
from grhmc.adaptation.integrator_choice import TriedIntegrators
from grhmc.adaptation.pooling import Decision, Situation, pool
from grhmc.adaptation.tuners.draw_sample import kept_draws
from grhmc.adaptation.tuners.moments import forget
from grhmc.adaptation.tuners.momentum_time import init_momentum_time_tuner
from grhmc.adaptation.tuners.step_size import mean_acceptance, started_step_tuner
from grhmc.dynamics.standardization import Standardization
from grhmc.events.refreshment import draw_momentum
from grhmc.run.chain import Chain
from grhmc.run.highest_place import is_far_below
from grhmc.run.standardize import standardize


def adapt_across_chains(chains: Sequence[Chain]) -> None:
    """Let chains that wait at the end of the same stage agree, and go on."""
    first = chains[0]
    continuous = first.settings.continuous
    situation = Situation(
        stages=first.stages,
        stage_index=first.stage_index,
        is_discrete=first.is_discrete,
        integrator=first.integrator,
        chooses_integrator=first.settings.chooses_integrator,
        counts_cost=first.settings.metric.kind == "auto",
        tunes_event_rate=continuous.tunes_event_rate,
        rate_unit=continuous.typical_base_rate(first.model.dim),
    )
    with single_blas_thread():
        decisions = pool([findings_of(chain) for chain in chains], situation)
    for chain, decision in zip(chains, decisions, strict=True):
        apply(chain, decision)


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Matrices here are small: several threads would take fifty times as long, and their sums depend on how many.

    No log density of this run is evaluated meanwhile. One run at a time: the limit is the whole process's, and two that
    overlap would not put back what there was before.
    """
    with _ONE_AT_A_TIME, _thread_pools().limit(limits=1, user_api="blas"):
        yield


_ONE_AT_A_TIME = threading.RLock()


@cache
def _thread_pools() -> ThreadpoolController:
    """The libraries that have threads; looked for once, since it takes longer than most of what chains decide."""
    return ThreadpoolController()


def findings_of(chain: Chain) -> Findings:
    """What the chain brings to cross-chain adaptation."""
    process, path = chain.process, chain.process.path[0]
    positions, gradients = kept_draws(process.draw_sample)
    return Findings(
        position=process.step.position.copy(),
        force=process.step.stage_forces[0].copy(),
        log_density=float(path.log_density),
        step_size=float(path.step_size),
        accepted_step=float(path.accepted_step),
        error_ratio=float(path.error_ratio),
        standardization=Standardization(*(part.copy() for part in process.standardization)),
        moments=process.moments,
        previous_moments=process.previous_moments,
        positions=positions,
        gradients=gradients,
        log_time=float(process.rate_tuner.log_time[0]),
        log_process_time=float(process.rate_tuner.log_process_time[0]),
        step_tuner=copy.deepcopy(process.step_tuner),
        momentum_time_tuner=process.momentum_time_tuner,
        mean_acceptance=mean_acceptance(process.step_tuner, process.settings.target_acceptance[0]),
        tried=TriedIntegrators(*chain.tried_integrators.copy()),
        is_lost=chain.is_lost,
        is_far_below=is_far_below(chain),
    )


def apply(chain: Chain, decision: Decision) -> None:
    """Do what cross-chain adaptation has decided, and go on with the next stage."""
    process = chain.process
    if decision.host is not None:
        _move_to(chain, decision.host)
    if decision.standardization is not None:
        standardize(process, *decision.standardization)
    if decision.moments is not None:
        forget(process.previous_moments)
        for own, common in zip(process.moments, decision.moments, strict=True):
            own[:] = common
    process.rate_tuner.log_time[:] = decision.log_time
    process.rate_tuner.log_process_time[:] = decision.log_process_time
    if decision.event_rate is not None:
        process.path.event_rate = decision.event_rate
    if decision.momentum_time_tuner is not None:
        for own, common in zip(process.momentum_time_tuner, decision.momentum_time_tuner, strict=True):
            own[:] = common
    chain.integrator_stays = chain.stage.tune_step and chain.is_discrete and decision.integrator == chain.integrator
    chain.use_integrator(decision.integrator)
    if decision.trajectory_step is not None:
        chain.process.step_tuner = started_step_tuner(decision.trajectory_step)
    chain.tried_integrators[:] = decision.tried
    chain.is_lost = decision.is_lost
    chain.is_agreed = chain.is_agreed or decision.is_agreed
    if chain.stage.is_window:
        chain.agreed_early = decision.is_agreed
    chain.go_on(decision.next_stage)


def _move_to(chain: Chain, host: Findings) -> None:
    """Go on from where another chain is, by its scale and its steps.

    The momentum is fresh: its own may be that of a fall through a million of log density, and carry it away again.
    """
    process = chain.process
    for own, part in zip(process.standardization, host.standardization, strict=True):
        own[:] = part
    process.step.position[:], process.step.stage_forces[0] = host.position, host.force
    for name in ("log_density", "step_size", "accepted_step", "error_ratio"):
        process.path[name] = getattr(host, name)
    draw_momentum(process.settings.law[0], process.step.momentum, process.rng)
    process.step_tuner = copy.deepcopy(host.step_tuner)
    process.momentum_time_tuner = init_momentum_time_tuner(chain.model.dim)
    chain.n_moves += 1
