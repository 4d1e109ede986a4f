"""Event rates: how the clock that triggers momentum refreshments runs along a path.

Events happen at rate λ·ρ(q̄, p̄): the base rate ρ is 1 for a constant rate, ‖p̄‖ for the arc-length rate, or a function of
the user's. An event falls due when the integral of ρ since the last one reaches u/λ, with u ~ Exp(1).
"""

from __future__ import annotations

import numpy as np

from grhmc._jit import kernel
from grhmc.dynamics.dense_output import momentum_at
from grhmc.dynamics.phase import Step, kinetic_energy
from grhmc.dynamics.time_averages import GAUSS_NODES, GAUSS_WEIGHTS
from grhmc.events.user_rate import UserRate, rate_at, rate_within, user_rate_integral

CONSTANT_RATE = 0
ARC_LENGTH_RATE = 1
USER_RATE = 2

_AIM = 1.1
_SMALLEST_SPEED = 1e-12
_MAX_ITERATIONS = 50
_FRACTION_TOLERANCE = 1e-10


@kernel
def speed(momentum: np.ndarray) -> float:
    """‖p̄‖: arc length per process time."""
    return np.sqrt(2.0 * kinetic_energy(momentum))


@kernel
def rate_integral(
    rate: int, user: UserRate, step: Step, duration: float, fraction: float, scratch: np.ndarray
) -> float:
    """Integral of the base rate over the first `fraction` of a step; `scratch` (dim,) is overwritten."""
    if rate == CONSTANT_RATE:
        return fraction * duration
    if rate == USER_RATE:
        return user_rate_integral(user, step, duration, fraction)
    total = 0.0
    for node in range(3):
        momentum_at(step, duration, GAUSS_NODES[node] * fraction, scratch)
        total += GAUSS_WEIGHTS[node] * speed(scratch)
    return total * fraction * duration


@kernel
def time_until_due(rate: int, user: UserRate, remaining: float, position: np.ndarray, momentum: np.ndarray) -> float:
    """Process time until the integral of the base rate grows by `remaining`: exact for a constant rate.

    For the other rates a forecast at the present one, on which steps are fitted. It aims a little too far: a step
    cut back to its event costs one gradient, one that falls short a whole further step.
    """
    if rate == CONSTANT_RATE:
        return remaining
    if rate == USER_RATE:
        return _AIM * remaining / rate_at(user, position, momentum)
    return _AIM * remaining / max(speed(momentum), _SMALLEST_SPEED)


@kernel
def find_due_fraction(
    rate: int, user: UserRate, step: Step, duration: float, remaining: float, over_step: float, scratch: np.ndarray
) -> float:
    """The fraction of a step at which the integral of the base rate reaches `remaining` <= `over_step`.

    Newton's method on dense output, kept inside a shrinking bracket. `scratch` (dim,) is overwritten.
    """
    low, high = 0.0, 1.0
    fraction = remaining / over_step
    for _ in range(_MAX_ITERATIONS):
        excess = rate_integral(rate, user, step, duration, fraction, scratch) - remaining
        if excess > 0.0:
            high = fraction
        else:
            low = fraction
        if rate == USER_RATE:
            slope = duration * rate_within(user, step, duration, fraction)
        else:
            momentum_at(step, duration, fraction, scratch)
            slope = duration * (1.0 if rate == CONSTANT_RATE else speed(scratch))
        change = -excess / slope if slope > 0.0 else 0.0
        if abs(change) < _FRACTION_TOLERANCE:
            break
        fraction += change
        if fraction <= low or fraction >= high:
            fraction = 0.5 * (low + high)
    return fraction
