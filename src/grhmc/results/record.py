"""What one chain hands over to the results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np


class Record(Protocol):
    """What one chain hands over; `grhmc.run.chain.ChainRecord` says more."""

    @property
    def chain(self) -> int:
        """Which chain."""
        ...

    @property
    def draws(self) -> np.ndarray:
        """Unconstrained draws, shape (n_draws, dim)."""
        ...

    @property
    def statistics(self) -> Mapping[str, np.ndarray]:
        """Per draw, by name; counts and flags may be doubles."""
        ...

    @property
    def warmup_draws(self) -> np.ndarray:
        """Draws of the warm-up, shape (n, dim); n = 0 if not kept."""
        ...

    @property
    def warmup_statistics(self) -> Mapping[str, np.ndarray]:
        """Per draw of the warm-up, by name."""
        ...

    @property
    def time_average(self) -> Mapping[str, np.ndarray]:
        """Averages over intervals of the path, by name; the first axis counts intervals."""
        ...

    @property
    def tuning(self) -> Mapping[str, np.ndarray]:
        """What warm-up found, and its history (names `history_...`, rows first)."""
        ...

    @property
    def warmup_seconds(self) -> float:
        """Wall clock."""
        ...

    @property
    def sampling_seconds(self) -> float:
        """Wall clock."""
        ...
