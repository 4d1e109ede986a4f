"""A chain's standardization, changed between stages."""

from __future__ import annotations

import numpy as np

from grhmc.adaptation.low_rank import LowRank
from grhmc.dynamics.standardization import change_factor, is_diagonal, restandardize
from grhmc.process.state import Process


def standardize(process: Process, centre: np.ndarray, scale: np.ndarray, factor: LowRank) -> None:
    """Change m, S, U and Λ while the chain stays where it is."""
    step, standardization = process.step, process.standardization
    if factor.rank == 0 and is_diagonal(standardization):
        restandardize(standardization, centre, scale, step.position, step.stage_forces[0])
    else:
        change_factor(standardization, centre, scale, *factor, step.position, step.stage_forces[0])
