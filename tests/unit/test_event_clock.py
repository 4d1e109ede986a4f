"""The clock that triggers refreshments: event times of both rates, arc lengths, and where events fall due."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from grhmc.events.rates import (
    ARC_LENGTH_RATE,
    CONSTANT_RATE,
    find_due_fraction,
    rate_integral,
    speed,
    time_until_due,
)
from grhmc.events.user_rate import init_user_rate
from grhmc.models.analytic import independent_normals
from kernel_helpers import INTEGRATORS, OSCILLATOR, Oscillator, finish, make_chain, orbit_step, run_settings

NO_RATE = init_user_rate(2)
BOTH_RATES = pytest.mark.parametrize("rate", [CONSTANT_RATE, ARC_LENGTH_RATE], ids=["constant", "arc_length"])


def arc_length(orbit, low, high):
    """Length of an orbit's path between two times, by adaptive quadrature."""
    length, _ = integrate.quad(lambda t: np.linalg.norm(orbit.at(t)[1]), low, high, epsabs=1e-12)
    return length


def test_speed_is_the_length_of_the_momentum():
    assert speed(np.array([3.0, -4.0, 12.0])) == pytest.approx(13.0, rel=1e-15)


@pytest.mark.parametrize("fraction", [0.2, 0.7, 1.0])
def test_the_integral_of_a_constant_rate_is_time(fraction):
    step = orbit_step(OSCILLATOR, 0.3, 1.1)
    assert rate_integral(CONSTANT_RATE, NO_RATE, step, 0.8, fraction, np.empty(2)) == pytest.approx(
        0.8 * fraction, rel=1e-15
    )


@pytest.mark.parametrize("fraction", [0.2, 0.7, 1.0])
def test_the_arc_length_agrees_with_adaptive_quadrature(fraction):
    step = orbit_step(OSCILLATOR, 0.3, 0.8)
    found = rate_integral(ARC_LENGTH_RATE, NO_RATE, step, 0.5, fraction, np.empty(2))
    assert found == pytest.approx(arc_length(OSCILLATOR, 0.3, 0.3 + 0.5 * fraction), abs=1e-6)


def test_the_arc_length_converges_with_order_six():
    errors = []
    for duration in (0.8, 0.4):
        step = orbit_step(OSCILLATOR, 0.3, 0.3 + duration)
        exact = arc_length(OSCILLATOR, 0.3, 0.3 + duration)
        errors.append(abs(rate_integral(ARC_LENGTH_RATE, NO_RATE, step, duration, 1.0, np.empty(2)) - exact))
    assert np.log2(errors[0] / errors[1]) > 5.5


@BOTH_RATES
@pytest.mark.parametrize("share", [1e-9, 0.1, 0.5, 0.95, 1.0])
def test_the_due_fraction_is_where_the_integral_reaches_what_remains(rate, share):
    step, scratch = orbit_step(OSCILLATOR, 0.3, 1.5), np.empty(2)
    over_step = rate_integral(rate, NO_RATE, step, 1.2, 1.0, scratch)
    remaining = share * over_step
    fraction = find_due_fraction(rate, NO_RATE, step, 1.2, remaining, over_step, scratch)
    assert 0.0 < fraction <= 1.0
    assert rate_integral(rate, NO_RATE, step, 1.2, fraction, scratch) == pytest.approx(remaining, abs=1e-9)


@pytest.mark.parametrize("share", [0.05, 0.5, 0.51, 0.97])
def test_the_due_fraction_is_found_past_a_point_where_the_path_stops(share):
    # On a line the speed vanishes at the turning point, in the middle of this step: Newton's method alone jumps away.
    line = Oscillator(np.zeros(2), np.array([0.6, 0.8]))
    step, scratch = orbit_step(line, np.pi / 2 - 0.5, np.pi / 2 + 0.5), np.empty(2)
    over_step = rate_integral(ARC_LENGTH_RATE, NO_RATE, step, 1.0, 1.0, scratch)
    remaining = share * over_step
    fraction = find_due_fraction(ARC_LENGTH_RATE, NO_RATE, step, 1.0, remaining, over_step, scratch)
    assert 0.0 < fraction < 1.0
    assert rate_integral(ARC_LENGTH_RATE, NO_RATE, step, 1.0, fraction, scratch) == pytest.approx(remaining, abs=1e-8)


def test_the_forecast_is_exact_for_a_constant_rate_and_a_tenth_beyond_the_present_speed_for_arc_length():
    momentum = np.array([3.0, 4.0])
    assert time_until_due(CONSTANT_RATE, NO_RATE, 2.0, momentum, momentum) == 2.0
    assert time_until_due(ARC_LENGTH_RATE, NO_RATE, 2.0, momentum, momentum) == pytest.approx(1.1 * 0.4, rel=1e-15)
    assert np.isfinite(time_until_due(ARC_LENGTH_RATE, NO_RATE, 2.0, momentum, np.zeros(2)))


# ---------------------------------------------------------------- whole paths


@pytest.mark.statistical
@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("refreshment", ["full", 0.8])
def test_events_of_a_constant_rate_are_a_poisson_process(integrator, refreshment):
    rate, spacing, n_draws = 0.4, 3.0, 20_000
    chain = make_chain(
        independent_normals(np.ones(2)).log_density(),
        run_settings(
            dim=2,
            draws=n_draws,
            sample_interval=spacing,
            event_rate=rate,
            refreshment=refreshment,
            name=integrator,
        ),
    )
    counts = finish(chain).record().statistics["n_events"].astype(np.int64)
    # Counts in disjoint intervals: Poisson, and independent of each other.
    law: Any = stats.poisson(rate * spacing)
    highest = 6
    expected = n_draws * np.append(law.pmf(range(highest)), law.sf(highest - 1))
    observed = np.bincount(np.minimum(counts, highest), minlength=highest + 1)
    assert stats.chisquare(observed, expected).pvalue > 1e-3  # the seed is fixed
    assert np.mean(counts) == pytest.approx(law.mean(), abs=4.0 * np.sqrt(law.var() / n_draws))
    assert abs(np.corrcoef(counts[:-1], counts[1:])[0, 1]) < 4.0 / np.sqrt(n_draws)


def paths_between_events(n_events, **settings):
    """Duration of every path of a chain on N(0, I) in two dimensions, and its exact length."""
    spacing = 1e9  # no draw, and a stage that does not end before the events asked for
    chain = make_chain(
        independent_normals(np.ones(2)).log_density(),
        run_settings(dim=2, draws=1, sample_interval=spacing, **settings),
        init=np.zeros(2),
    )
    path, counters, step = chain.process.path, chain.process.counters, chain.process.step
    durations, lengths = np.empty(n_events), np.empty(n_events)
    chain.advance(1)
    while counters.n_events[0] == 0:
        chain.advance(1)
    for n in range(n_events):
        orbit, begin, n_before = Oscillator(step.position.copy(), step.momentum.copy()), path.time[0], n + 1
        while counters.n_events[0] == n_before:
            chain.advance(1)
        durations[n] = path.time[0] - begin
        nodes = (np.arange(200) + 0.5) / 200 * durations[n]
        lengths[n] = durations[n] * np.mean([np.linalg.norm(orbit.at(time)[1]) for time in nodes])
    return durations, lengths


@pytest.mark.statistical
def test_lengths_between_events_of_the_arc_length_rate_are_exponential():
    # Tight steps: the path is then the exact orbit, whose length is computed here independently.
    durations, lengths = paths_between_events(
        400, event_rate=0.5, event_rate_kind="arc_length", name="rkn64", tolerance=1e-4
    )
    law = stats.expon(scale=2.0)
    assert stats.kstest(lengths, law.cdf).pvalue > 1e-3  # the seed is fixed
    assert np.mean(lengths) == pytest.approx(2.0, abs=4.0 * 2.0 / np.sqrt(len(lengths)))
    # Negative control: their durations do not have this law.
    assert stats.kstest(durations, law.cdf).pvalue < 1e-3
