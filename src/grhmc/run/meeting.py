"""Where all chains of a run wait for one another during warm-up: they put together what they have found, and choose.

A meeting takes place when the last chain has reached it, and nothing in it depends on which came first: the same seed
gives the same draws whatever the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from grhmc.adaptation.tuners.moments import RunningMoments, forget, init_moments, merge_moments
from grhmc.adaptation.tuners.momentum_time import add_sums, init_length_tuner
from grhmc.adaptation.tuners.scale_from_moments import FIXED, MCT, propose_from_moments
from grhmc.dynamics.coefficients import TABLEAUS
from grhmc.dynamics.standardization import restandardize
from grhmc.run.chain import Chain
from grhmc.run.places import chain_mass_bounds, judge_chains
from grhmc.settings import SYMPLECTIC_INTEGRATORS

SCALE_ACCURACY = 0.1
"""Standard error of the logarithm of the worst scale at which tuning may end."""

CENTRE_DISAGREEMENT = 1.0
"""Spread of the chains' means over one round, in scales, at which tuning may end."""

_FEWEST_ROUNDS = 2
_PREFERENCE = 1.05
# Leapfrog must go further than the splitting by so much: at equal acceptance the splitting's errors are smaller.
_LARGEST_SPREAD = 2.0
# A pooled scale is at most so many times larger or smaller than the median of the chains': one that is lost far out in
# a tail does not decide for all.


def hold_meeting(chains: Sequence[Chain]) -> None:
    """Let chains that wait at the end of the same stage agree, and go on."""
    first, stage = chains[0], chains[0].stage
    if stage.scale.tuner == MCT:
        _pool_crossing_scale(chains)
        is_agreed = False
    else:
        is_agreed = len(chains) > 1 if stage.scale.tuner == FIXED else _pool_scale(chains)
    _pool_time_to_u_turn(chains)
    next_index = first.stage_index + 1
    is_chosen = True
    if first.is_discrete and stage.by_trajectories:
        _pool_trajectories(chains)
        if stage.round > 0 and first.settings.integrator.is_open:
            is_chosen = _choose_integrator(chains)
    elif first.is_discrete and first.stages[next_index].by_trajectories:
        _begin_trajectories(chains)
    if is_agreed and is_chosen and stage.round >= _FEWEST_ROUNDS:
        while next_index < len(first.stages) and first.stages[next_index].round > 0:
            next_index += 1
    for chain in chains:
        chain.is_agreed = chain.is_agreed or is_agreed
        chain.go_on(next_index)


def _pool_scale(chains: Sequence[Chain]) -> bool:
    """Give chains the centre and scale that their moments suggest together; whether they agree about them."""
    stage, dim = chains[0].stage, len(chains[0].process.scratch[0])
    centres, scales = np.zeros((len(chains), dim)), np.zeros((len(chains), dim))
    for chain, centre, scale in zip(chains, centres, scales, strict=True):
        _propose(chain, chain.process.moments, centre, scale)
    were_lost = [chain.is_lost for chain in chains]
    places = judge_chains(centres, scales, chain_mass_bounds(chains))
    for chain, is_apart, is_negligible in zip(chains, *places, strict=True):
        chain.is_lost = bool(is_apart or is_negligible)
    together = [chain for chain in chains if not chain.is_lost]
    stayed = [chain for chain, was_lost in zip(chains, were_lost, strict=True) if not (chain.is_lost or was_lost)]
    remembering = (stayed or together)[:1] if stage.round > 0 else together  # those who stayed have it in common
    pooled, centre, scale = _suggested(together, [chain.process.previous_moments for chain in remembering])
    with np.errstate(divide="ignore", invalid="ignore"):  # a density that is flat somewhere suggests 0 or infinity
        log_scales = np.log(scales)
        middle = np.exp(np.median(log_scales[[not chain.is_lost for chain in chains]], axis=0))
    scale = np.clip(np.where(np.isfinite(scale), scale, middle), middle / _LARGEST_SPREAD, middle * _LARGEST_SPREAD)
    moved = [chain for chain, is_negligible in zip(chains, places.is_negligible, strict=True) if is_negligible]
    for number, chain in enumerate(moved):
        chain.move_to(together[number % len(together)])
        chain.is_lost = False
    _standardize([*together, *moved], centre, scale)
    for chain in (*together, *moved):
        forget(chain.process.previous_moments)
        for mine, common in zip(chain.process.moments, pooled, strict=True):
            mine[:] = common
    if len(chains) == 1:
        return False
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = log_scales.std(axis=0, ddof=1) / math.sqrt(len(chains) * max(stage.round, 1))
        distances = centres.std(axis=0, ddof=1) / scale
    return bool(np.all(errors < SCALE_ACCURACY) and np.all(distances < CENTRE_DISAGREEMENT))


def _suggested(
    chains: Sequence[Chain], previous: Sequence[RunningMoments]
) -> tuple[RunningMoments, np.ndarray, np.ndarray]:
    """Moments of some chains together, centre and scale; without the previous ones if those contradict the newest.

    That is what was seen on the way in: it would be carried along for many rounds.
    """
    newest = merge_moments([chain.process.moments for chain in chains])
    pooled = merge_moments([*previous, newest])
    centre, scale = np.zeros_like(newest.position_mean), np.zeros_like(newest.position_mean)
    newest_centre, newest_scale = centre.copy(), scale.copy()
    _propose(chains[0], pooled, centre, scale)
    _propose(chains[0], newest, newest_centre, newest_scale)
    with np.errstate(divide="ignore", invalid="ignore"):
        is_contradicted = np.any(np.abs(np.log(scale / newest_scale)) > math.log(_LARGEST_SPREAD))
    if newest.weights[0] > 0.0 and is_contradicted:
        return newest, newest_centre, newest_scale
    return pooled, centre, scale


def _pool_crossing_scale(chains: Sequence[Chain]) -> None:
    """Give all chains the median of their centres, and of their scales by crossing times."""
    standardizations = [chain.process.standardization for chain in chains]
    centre = np.median([each.centre for each in standardizations], axis=0)
    scale = np.exp(np.median([np.log(each.scale) for each in standardizations], axis=0))
    _standardize(chains, centre, scale)


def _standardize(chains: Sequence[Chain], centre: np.ndarray, scale: np.ndarray) -> None:
    """Change all chains' standardization where the new one is a usable number; positions stay where they are."""
    known = np.isfinite(scale) & (scale > 0.0) & np.isfinite(centre)
    for chain in chains:
        standardization, step = chain.process.standardization, chain.process.step
        new_centre = np.where(known, centre, standardization.centre)
        new_scale = np.where(known, scale, standardization.scale)
        restandardize(standardization, new_centre, new_scale, step.position, step.stage_forces[0])


def _propose(chain: Chain, moments: RunningMoments, centre: np.ndarray, scale: np.ndarray) -> None:
    """What moments suggest, written to `centre` and `scale`; the present ones where there are no moments."""
    rule, standardization = chain.stage.scale, chain.process.standardization
    if moments.weights[0] > 0.0:
        nothing = init_moments(len(centre))
        propose_from_moments(rule.tuner, rule.centred_gradient, nothing, moments, centre, scale)
    else:
        centre[:], scale[:] = standardization.centre, standardization.scale


def _pool_time_to_u_turn(chains: Sequence[Chain]) -> None:
    """The geometric mean over chains that are not lost, and the event rate that follows from it."""
    tuners = [chain.process.rate_tuner for chain in chains if not chain.is_lost]
    log_time = np.mean([tuner.log_time[0] for tuner in tuners])
    log_process_time = np.mean([tuner.log_process_time[0] for tuner in tuners])
    for chain in chains:
        tuner = chain.process.rate_tuner
        tuner.log_time[:], tuner.log_process_time[:] = log_time, log_process_time
        rule = chain.stage.event_rate
        if rule.tune:
            chain.process.clock.event_rate = 1.0 / (rule.u_turn_factor * math.exp(log_time))


def _pool_trajectories(chains: Sequence[Chain]) -> None:
    """The median of the steps, and the autocorrelations of all together, for the length; of lost chains nothing."""
    step = _geometric_median(chains, lambda chain: chain.trajectory_step)
    integrator = chains[0].integrator
    for chain in chains:
        chain.start_trajectory_step_at(step)
        reached = chain.trajectory_step / TABLEAUS[integrator].gradients_per_step
        chain.time_per_gradient[SYMPLECTIC_INTEGRATORS.index(integrator)] = reached
        if chain.is_lost:
            chain.process.length_tuner = init_length_tuner(chain.model.dim)
    add_sums([chain.process.length_tuner for chain in chains])


def _geometric_median(chains: Sequence[Chain], value: Callable[[Chain], float]) -> float:
    return float(np.exp(np.median([math.log(value(chain)) for chain in chains if not chain.is_lost])))


def _begin_trajectories(chains: Sequence[Chain]) -> None:
    """Change from the continuous process, by which chains find their way in, to trajectories of equal steps."""
    is_open = chains[0].settings.integrator.is_open
    step = _geometric_median(chains, lambda chain: chain.trajectory_step)
    for chain in chains:
        chain.use("leapfrog" if is_open else chain.integrator)
        chain.start_trajectory_step_at(0.5 * step if is_open else step)


def _choose_integrator(chains: Sequence[Chain]) -> bool:
    """Each integrator of the discrete process gets a round, then the one that goes furthest per gradient is used.

    Returns
    -------
    bool
        True if all have been tried.
    """
    reached = chains[0].time_per_gradient
    untried = [name for name, time in zip(SYMPLECTIC_INTEGRATORS, reached, strict=True) if time == 0.0]
    splitting, leapfrog = reached
    best = untried[0] if untried else SYMPLECTIC_INTEGRATORS[int(leapfrog > _PREFERENCE * splitting)]
    best_time = reached.max() if untried else reached[SYMPLECTIC_INTEGRATORS.index(best)]
    for chain in chains:
        chain.use(best)
        chain.start_trajectory_step_at(TABLEAUS[best].gradients_per_step * float(best_time))
    return not untried
