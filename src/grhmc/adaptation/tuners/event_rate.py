"""Tuning of the event rate: one refreshment per typical time to a U-turn.

The tuner's unit is the integral of the base rate (process time for a constant rate, arc length for the arc-length
rate), so that the same rule serves both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grhmc._jit import kernel


class EventRateTuner(NamedTuple):
    """Smoothed logarithm of the time to a U-turn, and what finding it has cost. All arrays have shape (1,).

    Attributes
    ----------
    log_time : ndarray
        s, the smoothed log of the integral of the base rate from a refreshment to the U-turn.
    log_process_time : ndarray
        The same for process time, whatever the rate.
    n_observed, n_given_up : ndarray of int
        Searches that found a U-turn, and those that ran out of time.
    n_gradients : ndarray of int
        Gradients spent beyond due refreshments.
    overshoot, process_overshoot : ndarray
        By how much the last path's U-turn lay beyond its due refreshment, where the next time to a U-turn is to count
        it (`EventRateRule.counts_overshoot`); otherwise 0.
    """

    log_time: np.ndarray
    log_process_time: np.ndarray
    n_observed: np.ndarray
    n_given_up: np.ndarray
    n_gradients: np.ndarray
    overshoot: np.ndarray
    process_overshoot: np.ndarray


def init_event_rate_tuner(event_rate: float) -> EventRateTuner:
    """Start at s = log(1/λ), as Kleppe (2022) does."""
    start = np.log(1.0 / event_rate)
    return EventRateTuner(
        np.full(1, start),
        np.full(1, start),
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(1),
        np.zeros(1),
    )


@kernel
def note_overshoot(tuner: EventRateTuner, rate_integral: float, process_time: float) -> None:
    """How far beyond its due refreshment a path was followed, for the next time to a U-turn; updates `tuner`."""
    tuner.overshoot[0] = rate_integral
    tuner.process_overshoot[0] = process_time


@kernel
def observe_u_turn(
    tuner: EventRateTuner,
    smoothing: float,
    prior_count: float,
    rate_integral: float,
    process_time: float,
) -> None:
    """Record one U-turn: s <- β s + (1 − β) log τ; updates `tuner`.

    The gain is the larger of 1 − `smoothing` and 1/(n + `prior_count`): the published rule has β = 0.99 and an
    infinite prior count; β = 1 with a finite one gives the running mean of a window, started at the old value. An
    overshoot noted before is added to τ, and used up.

    References
    ----------
    Kleppe (2022), section 4.3.2.
    """
    tuner.n_observed[0] += 1
    gain = max(1.0 - smoothing, 1.0 / (tuner.n_observed[0] + prior_count))
    tuner.log_time[0] += gain * (np.log(rate_integral + tuner.overshoot[0]) - tuner.log_time[0])
    process_time += tuner.process_overshoot[0]
    tuner.log_process_time[0] += gain * (np.log(process_time) - tuner.log_process_time[0])
    note_overshoot(tuner, 0.0, 0.0)


@kernel
def tuned_event_rate(tuner: EventRateTuner, u_turn_factor: float) -> float:
    """λ = 1/(c e^s)."""
    return 1.0 / (u_turn_factor * np.exp(tuner.log_time[0]))
