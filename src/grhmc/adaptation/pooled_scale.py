"""The centre and scale that chains agree on: from their moments together, or from their crossing times."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from grhmc.adaptation.agreement import do_agree
from grhmc.adaptation.low_rank import LowRank, NewStandardization, diagonal
from grhmc.adaptation.places import chains_that_moved, judge_chains, mass_bounds_of_chains
from grhmc.adaptation.stage import ScaleRule, Stage
from grhmc.adaptation.tuners.moments import RunningMoments, merge_moments
from grhmc.adaptation.tuners.scale_from_moments import proposal
from grhmc.dynamics.standardization import Standardization

_LARGEST_SPREAD = 2.0
# A pooled scale is at most so many times larger or smaller than the median of the chains': one that is lost far out in
# a tail does not decide for all.


@dataclass(frozen=True)
class PooledMoments:
    """What follows for each chain from all moments together.

    Attributes
    ----------
    is_agreed : bool
    is_lost : list of bool
        Chains that keep their own moments, and their own scale, unless they stood still.
    hosts : list of int or None
        For a chain that is where there is next to no mass, the one to go on from.
    news : list of NewStandardization or None
        None: unchanged.
    scale : ndarray, shape (dim,)
        Of those that pool.
    moments : RunningMoments
        Of all chains that are not lost.
    together : list of int
        These chains.
    """

    is_agreed: bool
    is_lost: list[bool]
    hosts: list[int | None]
    news: list[NewStandardization | None]
    scale: np.ndarray
    moments: RunningMoments
    together: list[int]


def pool_moments(
    stage: Stage,
    log_density: Sequence[float],
    standardizations: Sequence[Standardization],
    moments: Sequence[RunningMoments],
    previous_moments: Sequence[RunningMoments],
    were_lost: Sequence[bool],
    find_factor: Callable[[np.ndarray], LowRank],
) -> PooledMoments:
    """Decide by the moments of the stage that has just ended which chains pool, on what scale, and who is moved.

    `find_factor` gives the directions that all chains' draws suggest on top of a scale.
    """
    n_chains = len(moments)
    proposals = [_proposal(stage.scale, of, own) for of, own in zip(moments, standardizations, strict=True)]
    centres, scales = (np.array([each[part] for each in proposals]) for part in range(2))
    factor = find_factor(np.median(scales, axis=0))
    has_moved = chains_that_moved(moments, np.array([each.scale for each in standardizations]))
    places = judge_chains(centres, scales, mass_bounds_of_chains(log_density, moments), factor, has_moved)
    is_lost = places.is_apart | places.is_negligible | places.is_still
    together = [chain for chain in range(n_chains) if not is_lost[chain]]
    stayed = [chain for chain in together if not were_lost[chain]]
    pooled, centre, scale = _suggested(
        stage.scale,
        [moments[chain] for chain in together],
        _distinct([previous_moments[chain] for chain in stayed or together]),
        standardizations[together[0]],
    )
    with np.errstate(divide="ignore", invalid="ignore"):  # a density that is flat somewhere suggests 0 or infinity
        middle = np.exp(np.median(np.log(scales[together]), axis=0))
    scale = np.clip(np.where(np.isfinite(scale), scale, middle), middle / _LARGEST_SPREAD, middle * _LARGEST_SPREAD)
    hosts: list[int | None] = [None] * n_chains
    for number, chain in enumerate(np.flatnonzero(places.is_negligible)):
        hosts[chain] = together[number % len(together)]
    news: list[NewStandardization | None] = [
        None
        if places.is_apart[chain]
        else diagonal(*_usable(centre, scale, standardizations[chain if host is None else host]))
        for chain, host in enumerate(hosts)
    ]
    return PooledMoments(
        is_agreed=do_agree(centres, scales, scale, stage.round),
        is_lost=(places.is_apart | places.is_still).tolist(),
        hosts=hosts,
        news=news,
        scale=_usable(centre, scale, standardizations[together[0]])[1],
        moments=pooled,
        together=together,
    )


def pool_crossing_scales(standardizations: Sequence[Standardization]) -> list[NewStandardization | None]:
    """The median of the chains' centres, and of their scales by crossing times (MCT), for each chain."""
    centre = np.median([each.centre for each in standardizations], axis=0)
    scale = np.exp(np.median([np.log(each.scale) for each in standardizations], axis=0))
    return [diagonal(*_usable(centre, scale, own)) for own in standardizations]


def _usable(centre: np.ndarray, scale: np.ndarray, own: Standardization) -> tuple[np.ndarray, np.ndarray]:
    """The new centre and scale, and the chain's own where the new ones are no usable numbers."""
    known = np.isfinite(scale) & (scale > 0.0) & np.isfinite(centre)
    return np.where(known, centre, own.centre), np.where(known, scale, own.scale)


def _distinct(moments: Sequence[RunningMoments]) -> list[RunningMoments]:
    """Each of them once: chains that pooled before the last stage have what they saw until then in common."""
    found: list[RunningMoments] = []
    for each in moments:
        if not any(all(map(np.array_equal, each, other)) for other in found):
            found.append(each)
    return found


def _suggested(
    rule: ScaleRule, moments: Sequence[RunningMoments], previous: Sequence[RunningMoments], own: Standardization
) -> tuple[RunningMoments, np.ndarray, np.ndarray]:
    """Moments of some chains together, centre and scale; without the previous ones if those contradict the newest.

    Those were seen on the way into the bulk, and would be carried along for many rounds.
    """
    newest = merge_moments(moments)
    pooled = merge_moments([*previous, newest])
    centre, scale = _proposal(rule, pooled, own)
    newest_centre, newest_scale = _proposal(rule, newest, own)
    with np.errstate(divide="ignore", invalid="ignore"):
        is_contradicted = np.any(np.abs(np.log(scale / newest_scale)) > math.log(_LARGEST_SPREAD))
    if newest.weights[0] > 0.0 and is_contradicted:
        return newest, newest_centre, newest_scale
    return pooled, centre, scale


def own_suggestion(
    rule: ScaleRule, previous: RunningMoments, moments: RunningMoments, own: Standardization
) -> tuple[np.ndarray, np.ndarray]:
    """The centre and scale that one chain's moments suggest, without those that the newest contradict."""
    _, centre, scale = _suggested(rule, [moments], [previous], own)
    return _usable(centre, scale, own)


def _proposal(rule: ScaleRule, moments: RunningMoments, own: Standardization) -> tuple[np.ndarray, np.ndarray]:
    """The centre and scale that moments suggest; the present ones where there are no moments."""
    if not moments.weights[0] > 0.0:
        return own.centre.copy(), own.scale.copy()
    return proposal(rule.tuner, rule.centred_gradient, moments)
