"""Event rates of one's own, for the tests of them: functions of standardized position and momentum."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit
def by_place(q_bar, p_bar):
    """Three times as many events near the centre as far out; the same for all momenta."""
    return 0.5 + np.exp(-np.sqrt(np.sum(q_bar**2) + 0.01))


@numba.njit
def by_momentum(q_bar, p_bar):
    """Fast momenta are refreshed much sooner than slow ones."""
    return 1.0 + np.sum(p_bar**2)


@numba.njit
def by_both(q_bar, p_bar):
    """In one corner of phase space six times as many events as in the other."""
    return 0.2 + 1.0 / (1.0 + np.exp(-2.0 * (q_bar[0] + p_bar[0])))


RATES = {"place": by_place, "momentum": by_momentum, "both": by_both}
