"""New standardizations between stages: scale and directions, from the draws of one chain or of all that pool."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grhmc.adaptation.agreement import share_directions
from grhmc.adaptation.directions import (
    LARGEST_MISFIT,
    find_directions,
    misfit,
    notable_directions,
    renew_directions,
)
from grhmc.adaptation.findings import Findings
from grhmc.adaptation.low_rank import (
    LowRank,
    NewStandardization,
    ScaleAndDirections,
    metric_of,
    no_directions,
    scale_alone,
)
from grhmc.adaptation.pooled_scale import own_suggestion
from grhmc.adaptation.spectrum import FULL_BASIS_DRAWS, spectrum_of_draws
from grhmc.adaptation.stage import ScaleRule
from grhmc.dynamics.standardization import is_diagonal


def by_own_draws(own: Findings, rule: ScaleRule, *, counts_cost: bool) -> NewStandardization | None:
    """What a chain that does not pool has found; None: nothing but what its scale tuner has done already.

    A stage is short, its draws are dependent, and scale and directions go together. So they change only where the
    present ones are far off.
    """
    present = own.standardization
    if misfit(spectrum_of_draws(own.positions, own.gradients, metric_of(present), rule.tuner)) <= LARGEST_MISFIT:
        return None
    centre, scale = own_suggestion(rule, own.previous_moments, own.moments, present)
    room = len(present.stretch)
    found = find_directions(own.positions, own.gradients, scale, rule.tuner, room, counts_cost=counts_cost)
    if found is None or (found.factor.rank == 0 and is_diagonal(present)):
        return None
    return NewStandardization(centre, *found)


def directions_within_chains(findings: Sequence[Findings], rule: ScaleRule, scale: np.ndarray) -> LowRank:
    """U and Λ from the draws of all chains, each about its own mean: wherever the chains are."""
    if not rule.finds_directions or not np.all(np.isfinite(scale) & (scale > 0.0)):
        return no_directions(len(scale))
    positions, gradients = (
        np.concatenate([rows - rows.mean(axis=0) for rows in parts if len(rows)] or [np.zeros((0, len(scale)))])
        for parts in ([each.positions for each in findings], [each.gradients for each in findings])
    )
    return notable_directions(positions, gradients, scale, rule.tuner)


def directions_together(
    together: Sequence[Findings], scale: np.ndarray, tuner: int, *, counts_cost: bool, is_round: bool
) -> tuple[ScaleAndDirections | None, bool]:
    """S and F from the draws of all chains that pool, and whether they make the metric quite another one.

    Directions that the chains have in common are changed by what the draws tell, if a matrix of all dimensions is not
    too large; None if these tell too little. They are found anew after a round with enough draws for all directions.
    Those are far apart, and the windows may have found directions that are none.
    """
    first = together[0].standardization
    positions = np.concatenate([each.positions for each in together])
    gradients = np.concatenate([each.gradients for each in together])
    present, room, dim = metric_of(first), len(first.stretch), len(scale)
    have_common = share_directions(together)
    is_enough = is_round and len(positions) >= FULL_BASIS_DRAWS * dim
    if have_common and room >= dim and not is_enough:
        shown = spectrum_of_draws(positions, gradients, present, tuner)
        found = None if shown is None else renew_directions(shown, present, tuner, counts_cost=counts_cost)
    else:
        found = find_directions(positions, gradients, scale, tuner, room, counts_cost=counts_cost)
        had_directions = any(not is_diagonal(each.standardization) for each in together)
        changes = had_directions or (found is not None and found.factor.rank > 0)
        shown = spectrum_of_draws(positions, gradients, present, tuner) if changes else None
    is_new = misfit(shown) > LARGEST_MISFIT
    if found is None and have_common and not is_new:
        return None, False
    return found or scale_alone(scale), is_new
