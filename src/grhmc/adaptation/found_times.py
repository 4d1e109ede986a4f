"""Whose step and time to a U-turn still mean something once the scale has changed.

Both are times of the dynamics in a chain's own standardization. Where a pooled scale is a hundred times smaller than
the one that a chain's step was found in, that step is a hundred times too short in the new one. Too short is the worse
fault: no acceptance is higher than 1, so that tuning lengthens a step by little at a time, while one that is too long
is found out by the first trajectories.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grhmc.adaptation.findings import Findings
from grhmc.adaptation.low_rank import NewStandardization

LARGEST_SCALE_CHANGE = 10.0
"""Of any coordinate's scale, as a factor: beyond it a chain's step and its time to a U-turn are not taken over."""


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
