"""What is left of steps and times to a U-turn once the metric has changed, and of which chains.

Both are times of the dynamics in a chain's own standardization. In a metric whose level, the mean logarithm of its
scales, is higher a tuned step is shorter by as much: where a scale was too large by long tails, what a step by
leapfrog reached then would otherwise be compared with what one by the splitting reaches now. The time to a U-turn
stays: it is that of the widest direction, of which the level says little.

Where a pooled scale is a hundred times smaller than the one that a chain's step was found in, that step is a hundred
times too short in the new one. Too short is the worse fault: no acceptance is higher than 1, so that tuning lengthens a
step by little at a time, while one that is too long is found out by the first trajectories.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from grhmc.adaptation.findings import Findings
from grhmc.adaptation.low_rank import NewStandardization, factor_of

LARGEST_SCALE_CHANGE = 10.0
"""Of any coordinate's scale, as a factor: beyond it a chain's step and its time to a U-turn are not taken over."""


def in_coordinates(own: Findings, new: NewStandardization | None) -> Findings:
    """What a chain has found of trajectories' steps, as times in the standardization that it gets; None: its own."""
    if new is None:
        return own
    old = own.standardization
    change = _level(new.scale, new.factor.eigenvalues) - _level(old.scale, factor_of(old).eigenvalues)
    tuner = own.step_tuner
    return replace(
        own,
        step_tuner=tuner._replace(log_value_average=tuner.log_value_average - change),
        tried=own.tried.in_units(math.exp(change)),
    )


def _level(scale: np.ndarray, eigenvalues: np.ndarray) -> float:
    """The mean logarithm of the standard deviations of a metric S F² S."""
    return float(np.log(scale).mean() + 0.5 * np.log(eigenvalues).sum() / len(scale))


def still_count(
    present: Sequence[Findings], news: Sequence[NewStandardization | None], lost: Sequence[bool]
) -> list[Findings]:
    """The chains that are not lost and whose scale changes by little enough; perhaps none."""
    return [
        each
        for each, new, out in zip(present, news, lost, strict=True)
        if not out and (new is None or _largest_change(each, new) <= LARGEST_SCALE_CHANGE)
    ]


def _largest_change(own: Findings, new: NewStandardization) -> float:
    """Of a coordinate's scale, as a factor, up or down."""
    return float(np.exp(np.abs(np.log(new.scale / own.standardization.scale)).max()))
