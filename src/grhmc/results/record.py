"""What one chain hands over to the results."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grhmc.outcomes import Outcome

LEFT_OUT = "left_out_chains"
"""Attribute of a result that lacks chains: which, and how many draws each had."""


@dataclass
class ChainRecord:
    """What one chain hands to the results. Arrays have one row per draw, interval or row of history."""

    chain: int
    draws: np.ndarray
    statistics: dict[str, np.ndarray]
    warmup_draws: np.ndarray
    warmup_statistics: dict[str, np.ndarray]
    time_average: dict[str, np.ndarray]
    tuning: dict[str, np.ndarray]
    warmup_seconds: float
    sampling_seconds: float
    outcome: Outcome
    n_draws: int
    """Of sampling: more than `draws` holds, where the others are on disk."""
    draws_per_interval: int = 1
    """Of time averages."""
