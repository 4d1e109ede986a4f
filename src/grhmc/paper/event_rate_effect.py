"""What another event rate does to an effective sample size: the closed form on normals.

Under a constant event rate λ with full refreshments the autocorrelation ρ of a coordinate of frequency ω solves
ρ'' + λ ρ' + ω² ρ = 0, ρ(0) = 1, ρ'(0) = 0: a damped oscillator. A coordinate of another target is compared with the
oscillator that has its effective size.
"""

from __future__ import annotations

import cmath
import math

from grhmc.paper.cells import SAMPLE_INTERVAL

_LONGEST_LAG = 4000


def rate_factor_as_run() -> float:
    """C in the event rate 1/(c τ) that the published programs had for a constant τ: c = 2 − c (1 − e^(−1/c)), 1.30."""
    c = 1.3
    for _ in range(60):
        c = 0.5 * (c + 2.0 - c * (1.0 - math.exp(-1.0 / c)))
    return c


def effective_share(event_rate: float, frequency: float = 1.0, interval: float = SAMPLE_INTERVAL) -> float:
    """Effective size per draw of the mean of a normal coordinate, as the tables' estimator has it.

    Geyer's initial monotone sequence adds autocorrelations by pairs up to the first pair that is not positive. On an
    oscillator that is soon: what follows, which would make the effective size twice as large, is left out.
    """
    total, pair = -1.0, math.inf
    for k in range(0, _LONGEST_LAG, 2):
        now = sum(autocorrelation((k + step) * interval, event_rate, frequency) for step in (0, 1))
        pair = min(pair, now)
        if pair <= 1e-6:
            break
        total += 2.0 * pair
    return 1.0 / total


def autocorrelation(time: float, event_rate: float, frequency: float = 1.0) -> float:
    """ρ of a normal coordinate at a lag in process time."""
    root = cmath.sqrt(event_rate**2 / 4.0 - frequency**2 + 1e-12)
    slow, fast = -event_rate / 2.0 + root, -event_rate / 2.0 - root
    return ((slow * cmath.exp(fast * time) - fast * cmath.exp(slow * time)) / (slow - fast)).real


def ess_ratio_of_rule(event_rate: float, share: float, factor: float) -> float:
    """The ratio of effective sizes at λ and at λ/`factor`, for a coordinate whose effective share at λ is `share`.

    Parameters
    ----------
    event_rate : float
    share : float
        Effective size per draw; where it exceeds that of the fastest oscillator, that one is taken.
    factor : float
    """
    low, high = 0.02, 1.0
    for _ in range(30):  # the share grows with the frequency up to 1
        middle = math.sqrt(low * high)
        if effective_share(event_rate, middle) < share:
            low = middle
        else:
            high = middle
    frequency = math.sqrt(low * high)
    return effective_share(event_rate, frequency) / effective_share(event_rate / factor, frequency)
