"""Momentum refreshment: the laws that leave the target unchanged, for each event rate.

When the rate does not depend on the momentum, p̄' ~ N(0, I) is right. When it does, momenta with a high rate meet more
events, and the new momentum must be drawn with density proportional to λ(p') N(p'; 0, I). For the arc-length rate that
is a uniform direction and ‖p̄'‖² ~ χ² with dim + 1 degrees of freedom; for a rate of the user's, see
`grhmc.events.user_rate`.
"""

from __future__ import annotations

import numpy as np

from grhmc._jit import kernel
from grhmc.dynamics.phase import copy_to
from grhmc.events.random_numbers import fill_normal, mix_in_normal, mix_normal, normal, uniform
from grhmc.events.rates import speed

GAUSSIAN_LAW = 0
SPEED_WEIGHTED_LAW = 1
USER_LAW = 2


@kernel
def draw_momentum(law: int, momentum: np.ndarray, rng: np.ndarray) -> None:
    """Draw a momentum from its stationary law just after an event; writes `momentum`, updates `rng`.

    Under a rate of the user's, to begin with: from N(0, I).
    """
    fill_normal(rng, momentum)
    if law == SPEED_WEIGHTED_LAW:
        length = speed(momentum)
        extra = normal(rng)
        factor = np.sqrt(length * length + extra * extra) / length
        for k in range(momentum.shape[0]):
            momentum[k] *= factor


@kernel
def draw_hot_momentum(law: int, factor: float, momentum: np.ndarray, rng: np.ndarray) -> None:
    """Draw a momentum `factor` times as large: the process then explores the target at the temperature `factor`²."""
    draw_momentum(law, momentum, rng)
    for k in range(momentum.shape[0]):
        momentum[k] *= factor


@kernel
def refresh_momentum(
    law: int,
    persistence: float,
    momentum: np.ndarray,
    proposal: np.ndarray,
    rng: np.ndarray,
) -> None:
    """Refresh fully (persistence 0) or partially; updates `momentum`, may overwrite `proposal` (dim,).

    Partial refreshment is Horowitz's: p̄' = φ p̄ + √(1 − φ²) ξ leaves N(0, I) unchanged and is reversible. Under the
    speed-weighted law it is the proposal of a Metropolis step with ratio ‖p̄'‖/‖p̄‖, which is reversible for that law.

    References
    ----------
    Horowitz (1991); Kleppe (2022), section 3.
    """
    if persistence == 0.0:
        draw_momentum(law, momentum, rng)
    elif law != SPEED_WEIGHTED_LAW:
        mix_in_normal(rng, persistence, momentum)
    else:
        mix_normal(rng, persistence, momentum, proposal)
        if uniform(rng) * speed(momentum) <= speed(proposal):
            copy_to(proposal, momentum)
