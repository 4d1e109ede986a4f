"""Whether chains agree about centre and scale, each by what it has seen alone, so that tuning may end."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from grhmc.adaptation.findings import Findings
from grhmc.adaptation.low_rank import metric_of, standardized_draws
from grhmc.adaptation.stage import ScaleRule
from grhmc.adaptation.tuners.moments import moments_of_draws
from grhmc.adaptation.tuners.scale_from_moments import proposal
from grhmc.dynamics.standardization import is_diagonal

SCALE_ACCURACY = 0.15
"""Standard error of the logarithm of the worst scale at which tuning may end, estimated from four chains or more. Two
or three chains may be close together by chance, and must agree better: as the root of their degrees of freedom."""

CENTRE_DISAGREEMENT, CENTRE_DISAGREEMENT_IN_WINDOWS = 0.6, 1.0
"""Spread of the chains' means over one round or window, in scales, at which tuning or the windows may end. Means of a
round that differ by more are those of chains that move slowly: how long momenta should last is not known yet."""


def do_agree(centres: np.ndarray, scales: np.ndarray, unit: np.ndarray | float, n_rounds: int) -> bool:
    """Whether chains' own centres and scales, shape (chains, dim), differ by little.

    Centres are compared in `unit`. `n_rounds` counts the rounds so far: 0 in windows.
    """
    n_chains = len(centres)
    if n_chains < 2:
        return False
    with np.errstate(divide="ignore", invalid="ignore"):  # a density that is flat somewhere suggests 0 or infinity
        errors = np.log(scales).std(axis=0, ddof=1) / math.sqrt(n_chains * max(n_rounds, 1))
        distances = centres.std(axis=0, ddof=1) / unit
    furthest = CENTRE_DISAGREEMENT if n_rounds > 0 else CENTRE_DISAGREEMENT_IN_WINDOWS
    accuracy = SCALE_ACCURACY * min(1.0, math.sqrt((n_chains - 1) / 3.0))
    return bool(np.all(errors < accuracy) and np.all(distances < furthest))


def do_agree_in_coordinates(findings: Sequence[Findings], rule: ScaleRule, n_rounds: int) -> bool:
    """The same in the coordinates of the metric that chains share: those in which they move.

    With strong correlations a short path covers a small part of each parameter's range, another part in each chain,
    although all of them move freely. In coordinates without correlations that does not matter.
    """
    if not all(len(each.positions) for each in findings):
        return False
    draws = (
        standardized_draws(each.positions, each.gradients, each.standardization.centre, metric_of(each.standardization))
        for each in findings
    )
    proposals = [proposal(rule.tuner, rule.centred_gradient, moments_of_draws(*each)) for each in draws]
    centres, scales = (np.array([each[part] for each in proposals]) for part in range(2))
    return do_agree(centres, scales, 1.0, n_rounds)


def share_directions(findings: Sequence[Findings]) -> bool:
    """Whether the chains have one metric, and directions in it."""
    return not is_diagonal(findings[0].standardization) and share_metric(findings)


def share_metric(findings: Sequence[Findings]) -> bool:
    """Whether the chains have the same scale and the same directions."""
    first = findings[0].standardization
    return all(
        np.array_equal(part, own)
        for each in findings[1:]
        for part, own in zip(first, each.standardization, strict=True)
        if part is not first.coefficients
    )
