"""Event rates of one's own: their integrals, their refreshment, which functions are accepted, what errors say."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest
from scipy import integrate

import grhmc
import short_runs
from grhmc.events.random_numbers import generator_state
from grhmc.events.rates import USER_RATE, find_due_fraction, rate_integral, time_until_due
from grhmc.events.user_rate import N_METROPOLIS_STEPS, init_user_rate, refresh_by_metropolis
from grhmc.models.event_rate import compiled_event_rate
from grhmc.outcomes import SamplingError
from grhmc.settings import Continuous, RunSettings
from grhmc.storage.settings_json import settings_to_json
from kernel_helpers import OSCILLATOR, orbit_step
from user_rates import RATES, by_both, by_momentum, by_place


def user_rate(function: Any, dim: int = 2) -> Any:
    return init_user_rate(dim, compiled_event_rate(Continuous(event_rate_kind=function).event_rate_kind).address)


@pytest.mark.parametrize("name", RATES)
def test_the_integral_along_a_step_agrees_with_adaptive_quadrature(name):
    step, scratch, rate = orbit_step(OSCILLATOR, 0.3, 0.9), np.empty(2), user_rate(RATES[name])
    exact, _ = integrate.quad(lambda t: RATES[name](*OSCILLATOR.at(t)), 0.3, 0.3 + 0.6 * 0.7, epsabs=1e-12)
    assert rate_integral(USER_RATE, rate, step, 0.6, 0.7, scratch) == pytest.approx(exact, abs=2e-6)


@pytest.mark.parametrize("name", RATES)
@pytest.mark.parametrize("share", [1e-9, 0.1, 0.95])
def test_the_due_fraction_is_where_the_integral_reaches_what_remains(name, share):
    step, scratch, rate = orbit_step(OSCILLATOR, 0.3, 1.5), np.empty(2), user_rate(RATES[name])
    over_step = rate_integral(USER_RATE, rate, step, 1.2, 1.0, scratch)
    fraction = find_due_fraction(USER_RATE, rate, step, 1.2, share * over_step, over_step, scratch)
    assert rate_integral(USER_RATE, rate, step, 1.2, fraction, scratch) == pytest.approx(share * over_step, abs=1e-9)


def test_the_forecast_is_a_tenth_beyond_the_present_rate():
    position, momentum = np.array([0.5, 0.0]), np.array([1.0, 2.0])
    found = time_until_due(USER_RATE, user_rate(by_momentum), 2.0, position, momentum)
    assert found == pytest.approx(1.1 * 2.0 / 6.0, rel=1e-14)


@pytest.mark.parametrize("persistence", [0.0, 0.7])
def test_refreshment_leaves_the_law_after_an_event_unchanged(persistence):
    # With ρ = 1 + |p|² in two dimensions, |p|² is Gamma(1) with probability 1/3 and Gamma(2) with 2/3, times 2.
    rng, rate, n = np.random.default_rng(1), user_rate(by_momentum), 10_000
    square = 2.0 * rng.gamma(np.where(rng.random(n) < 1.0 / 3.0, 1.0, 2.0))
    angle = rng.uniform(0.0, 2.0 * np.pi, n)
    position, proposal, found = np.zeros(2), np.empty(2), np.empty(n)
    correlation, state = np.empty(n), generator_state(rng)
    for k in range(n):
        before = np.sqrt(square[k]) * np.array([np.cos(angle[k]), np.sin(angle[k])])
        momentum = before.copy()
        refresh_by_metropolis(rate, persistence, position, momentum, proposal, state)
        found[k], correlation[k] = momentum @ momentum, momentum @ before
    exact = 2.0 / 3.0 + 8.0 / 3.0
    assert abs(found.mean() - exact) < 4.0 * found.std() / np.sqrt(n)
    assert abs((found < 2.0).mean() - (1.0 - np.exp(-1.0) - 2.0 / 3.0 * np.exp(-1.0))) < 4.0 * 0.5 / np.sqrt(n)
    assert correlation.mean() < 0.95 * exact
    # Normal momenta, which are wrong here, have a mean square of 2: this test would see it.
    assert abs(2.0 - exact) > 30.0 * found.std() / np.sqrt(n)


def test_a_rate_of_the_place_alone_makes_every_momentum_anew():
    rate, momentum, proposal = user_rate(by_place), np.array([50.0, -50.0]), np.empty(2)
    rng, copy = generator_state(np.random.default_rng(3)), np.random.default_rng(3)
    refresh_by_metropolis(rate, 0.0, np.ones(2), momentum, proposal, rng)
    drawn = [(copy.standard_normal(2), copy.random())[0] for _ in range(N_METROPOLIS_STEPS)]
    np.testing.assert_array_equal(momentum, drawn[-1])


# ---------------------------------------------------------------- runs


def sample(kind: Any, **settings: Any) -> Any:
    return short_runs.sample(process=Continuous(event_rate_kind=kind), diagnose=False, **settings)


def test_functions_of_plain_python_are_compiled_and_named():
    def quick(q_bar, p_bar):
        return 1.0 + p_bar[0] ** 2

    result = sample(quick)
    assert result.attrs["event_rate_kind"] == "quick"
    assert result["sample_stats"]["n_events"].sum() > 20
    assert Continuous(event_rate_kind=quick) == Continuous(event_rate_kind=quick)


def test_a_rate_that_is_constant_or_the_speed_has_as_many_events_as_the_packages_own():
    def one(q_bar, p_bar):
        return 1.0

    def speed(q_bar, p_bar):
        return np.sqrt(np.sum(p_bar**2))

    pairs: list[tuple[Any, Any]] = [("constant", one), ("arc_length", speed)]
    for pair in pairs:
        counts = [
            float(
                short_runs.sample(
                    process=Continuous(event_rate=0.5, event_rate_kind=each, sample_interval=2.0),
                    draws=1000,
                    diagnose=False,
                )["sample_stats"]["n_events"].sum()
            )
            for each in pair
        ]
        assert abs(counts[0] - counts[1]) < 5.0 * np.sqrt(sum(counts))


def test_a_run_with_a_rate_of_ones_own_goes_to_other_processes():
    here, there = sample(by_both), sample(by_both, executor="processes")
    np.testing.assert_array_equal(short_runs.draws_of(here), short_runs.draws_of(there))


def test_settings_with_a_function_can_be_pickled():
    process = pickle.loads(pickle.dumps(Continuous(event_rate_kind=lambda q_bar, p_bar: 2.0 + q_bar[0] * 0.0)))
    assert process.event_rate_kind(np.zeros(1), np.zeros(1)) == 2.0


# ---------------------------------------------------------------- errors


def negative_far_out(q_bar, p_bar):
    return -1.0 if abs(q_bar[0]) > 3.2 else 1.0


def not_a_number_far_out(q_bar, p_bar):
    return np.nan if abs(q_bar[0]) > 3.2 else 1.0


def raises_far_out(q_bar, p_bar):
    if abs(q_bar[0]) > 3.2:
        raise ValueError("too far out")
    return 1.0


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (negative_far_out, r"event_rate_kind is -1.0 at q_bar = \[.*positive and finite"),
        (not_a_number_far_out, r"event_rate_kind is nan at q_bar"),
        (raises_far_out, r"event_rate_kind raised ValueError: too far out, at q_bar"),
    ],
)
def test_a_rate_that_fails_on_the_way_is_named(function, words):
    with pytest.raises(SamplingError, match=words) as caught:
        sample(function, draws=20_000)
    assert caught.value.partial_result is not None


@pytest.mark.nightly
def test_it_is_named_from_another_process_too():
    with pytest.raises(SamplingError, match=r"event_rate_kind is -1.0 at"):
        sample(negative_far_out, draws=20_000, executor="processes")


@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (lambda q_bar, p_bar: -1.0, ValueError, "event_rate_kind is -1.0 at q_bar"),
        (lambda q_bar, p_bar: 1.0 / (q_bar[0] * 0.0), ValueError, "event_rate_kind is inf at|nan at|-inf at"),
        (lambda q_bar, p_bar: q_bar, (TypeError, ValueError), "event_rate_kind"),
        (lambda q_bar, p_bar: q_bar.no_such_method(), (TypeError, ValueError), "event_rate_kind"),
    ],
)
def test_a_rate_that_fails_at_once_is_named(function, error, words):
    with pytest.raises(error, match=words):
        sample(function)


def test_what_is_no_rate_is_rejected():
    with pytest.raises(TypeError, match=r"event_rate_kind must be a function of two arguments.*\(q_bar\)"):
        Continuous(event_rate_kind=lambda q_bar: 1.0)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="wrap other callables in a function"):
        Continuous(event_rate_kind=max)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="or a function f"):
        Continuous(event_rate_kind="speed")  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match=r"event_rate_kind.*grhmc.Continuous\(event_rate_kind"):
        grhmc.Discrete(event_rate_kind=by_place)  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match=r"grhmc.Continuous\(event_rate_kind"):
        grhmc.sample(short_runs.model(), event_rate_kind=by_place)  # pyright: ignore[reportCallIssue]


def test_a_store_holds_no_function(tmp_path):
    with pytest.raises(ValueError, match="event_rate_kind is the function by_place, and a store holds no functions"):
        sample(by_place, store=tmp_path / "run.zarr")
    assert not (tmp_path / "run.zarr").exists()
    with pytest.raises(ValueError, match="by_place"):
        json.dumps(settings_to_json(RunSettings(process=Continuous(event_rate_kind=by_place))))
