"""Event-rate tuning: the published rule, the running mean of a window, and the rate that follows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from exact_u_turns import mean_log_time, mean_log_time_with_overshoot, u_turn_time
from grhmc.adaptation.paper_schedule import paper_stages
from grhmc.adaptation.stage import EventRateRule, Stage
from grhmc.adaptation.tuners.event_rate import (
    init_event_rate_tuner,
    note_overshoot,
    observe_u_turn,
    tuned_event_rate,
)
from grhmc.adaptation.tuners.scale_from_moments import FIXED
from grhmc.models.analytic import independent_normals
from grhmc.run.cost import N_SCREENED
from kernel_helpers import finish, make_chain, run_settings


def test_the_published_rule_is_followed():
    # s <- 0.99 s + 0.01 log τ, from s = log(1/λ_0).
    tuner = init_event_rate_tuner(0.2)
    assert tuner.log_time[0] == pytest.approx(math.log(5.0), rel=1e-15)
    rng = np.random.default_rng(1)
    log_time, log_process_time = math.log(5.0), math.log(5.0)
    for n in range(1, 301):
        length, time = rng.lognormal(1.0, 0.5, 2)
        observe_u_turn(tuner, 0.99, math.inf, length, time)
        log_time = 0.99 * log_time + 0.01 * math.log(length)
        log_process_time = 0.99 * log_process_time + 0.01 * math.log(time)
        assert tuner.log_time[0] == pytest.approx(log_time, rel=1e-13)
        assert tuner.log_process_time[0] == pytest.approx(log_process_time, rel=1e-13)
        assert tuner.n_observed[0] == n
    assert tuner.n_given_up[0] == 0
    assert tuner.n_gradients[0] == 0


@pytest.mark.parametrize("prior_count", [0.0, 5.0])
def test_a_running_mean_weighs_the_start_as_so_many_observations(prior_count):
    tuner = init_event_rate_tuner(0.2)
    times = np.random.default_rng(2).lognormal(1.0, 0.5, 50)
    for time in times:
        observe_u_turn(tuner, 1.0, prior_count, time, 2.0 * time)
    # The first observation's gain is 1/(1 + prior count): the start counts `prior_count` times.
    total = prior_count + len(times)
    expected = (prior_count * math.log(5.0) + np.log(times).sum()) / total
    assert tuner.log_time[0] == pytest.approx(expected, rel=1e-12)
    expected = (prior_count * math.log(5.0) + np.log(2.0 * times).sum()) / total
    assert tuner.log_process_time[0] == pytest.approx(expected, rel=1e-12)


def test_both_modes_together_begin_as_a_mean_and_go_on_forgetting():
    tuner = init_event_rate_tuner(1.0)
    log_time = 0.0
    for n in range(1, 200):
        observe_u_turn(tuner, 0.9, 0.0, math.e, 1.0)
        gain = max(0.1, 1.0 / n)
        log_time += gain * (1.0 - log_time)
        assert tuner.log_time[0] == pytest.approx(log_time, rel=1e-13)
    assert tuner.log_time[0] == pytest.approx(1.0, rel=1e-12)
    assert tuner.log_process_time[0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_the_rate_is_one_over_the_typical_time_times_the_factor(factor):
    tuner = init_event_rate_tuner(0.25)
    assert tuned_event_rate(tuner, factor) == pytest.approx(0.25 / factor, rel=1e-15)


def tuned_chain(dim, stage, **settings):
    # Started at the mode: the centre is then that of the target.
    chain = make_chain(
        independent_normals(np.ones(dim)).log_density(),
        run_settings(dim=dim, draws=1, **settings),
        warmup=[stage],
        init=np.zeros(dim),
    )
    while chain.stage_index < 1 and chain.advance(100_000) == 0:
        pass
    return chain


def exact_u_turn_times(dim, n_paths):
    """From independent stationary starts of N(0, I)."""
    return u_turn_time(*np.random.default_rng(3).normal(size=(2, n_paths, dim)))


def test_the_closed_form_is_the_first_root_on_a_fine_grid():
    position, momentum = np.random.default_rng(4).normal(size=(2, 200, 3))
    times = np.linspace(0.0, 2.0 * np.pi, 20_001)[1:, np.newaxis, np.newaxis]
    later = position * np.cos(times) + momentum * np.sin(times)
    speed = np.sum((later - position) * (momentum * np.cos(times) - position * np.sin(times)), axis=2)
    on_grid = times[np.argmax(speed <= 0.0, axis=0), 0, 0]
    np.testing.assert_allclose(u_turn_time(position, momentum), on_grid, atol=4e-4)


@pytest.mark.parametrize(("dim", "as_stated", "as_run"), [(2, 0.471, 0.351), (10, 0.333, 0.261)])
def test_the_event_rates_of_both_rules_on_normals(dim, as_stated, as_run):
    # The stated one twice: by quadrature over the law of an orbit's shape, and from simulated starts.
    log_times = np.log(exact_u_turn_times(dim, 20_000))
    assert np.exp(-mean_log_time(dim)) == pytest.approx(as_stated, abs=0.001)
    assert mean_log_time(dim) == pytest.approx(np.mean(log_times), abs=4.0 * np.std(log_times) / np.sqrt(20_000))
    log_time, error = mean_log_time_with_overshoot(dim, 20_000)
    assert np.exp(-log_time) == pytest.approx(as_run, rel=4.0 * error)


def test_for_a_constant_time_the_overshoot_is_that_of_an_exponential():
    # λ = 1/(c τ), with τ = 1: log c = E log(1 + max(1 − ℓ, 0)) for ℓ exponential with mean c.
    tuner = init_event_rate_tuner(1.0)
    rng = np.random.default_rng(5)
    for _ in range(20_000):
        length = rng.exponential(np.exp(tuner.log_time[0]))
        observe_u_turn(tuner, 1.0, 1.0, 1.0, 1.0)
        note_overshoot(tuner, max(0.0, 1.0 - length), max(0.0, 1.0 - length))
    factor = np.exp(tuner.log_time[0])
    share = np.linspace(0.0, 1.0, 100_001)
    expected = np.trapezoid(np.log(2.0 - share) * np.exp(-share / factor) / factor, share)
    # The spread of log(1 + overshoot) is 0.25; it falls to 0 for all lengths above 1.
    assert np.log(factor) == pytest.approx(expected, abs=4.0 * 0.25 / np.sqrt(20_000))
    assert factor == pytest.approx(1.26, abs=0.02)
    # Used up by the next observation: without a new one τ counts alone.
    observe_u_turn(tuner, 0.0, 0.0, 1.0, 1.0)
    observe_u_turn(tuner, 0.0, 0.0, 1.0, 1.0)
    assert tuner.log_time[0] == 0.0


@pytest.mark.statistical
@pytest.mark.parametrize("counts_overshoot", [False, True], ids=["as stated", "as run"])
@pytest.mark.parametrize("dim", [2, 10])
def test_both_rules_find_their_event_rate_on_normals(dim, counts_overshoot):
    rule = EventRateRule(tune=True, start=0.3, smoothing=1.0, prior_count=0.0, counts_overshoot=counts_overshoot)
    stage = Stage("rate", 6000, draw_spacing=3.0, event_rate=rule)
    tuner = tuned_chain(dim, stage, name="rkn64", tolerance=1e-6).process.rate_tuner
    stated, (run, error) = mean_log_time(dim), mean_log_time_with_overshoot(dim, 20_000)
    expected, other = (run, stated) if counts_overshoot else (stated, run)
    # An overshoot and the next one share a path: their correlation at most doubles the variance of the mean.
    standard_error = np.hypot(error, np.sqrt(2.0) * error * np.sqrt(20_000 / tuner.n_observed[0]))
    assert tuner.log_time[0] == pytest.approx(expected, abs=4.0 * standard_error)
    assert tuner.log_process_time[0] == pytest.approx(tuner.log_time[0], rel=1e-12)
    # Negative control: the other rule's is far off.
    assert abs(tuner.log_time[0] - other) > 8.0 * standard_error


@pytest.mark.statistical
@pytest.mark.parametrize("dim", [3, 100])
def test_the_tuned_time_is_the_mean_log_time_to_the_u_turn(dim):
    # Not in one dimension: there a path may turn around and be back where it began within a step, and the tuner,
    # which looks at the ends of steps, takes the next U-turn.
    rule = EventRateRule(tune=True, start=0.2, smoothing=1.0, prior_count=0.0)
    stage = Stage("rate", 6000, draw_spacing=3.0, event_rate=rule)
    tuner = tuned_chain(dim, stage, name="rkn64", tolerance=1e-6).process.rate_tuner
    log_times = np.log(exact_u_turn_times(dim, 4000))
    assert tuner.n_observed[0] > 4000
    standard_error = np.std(log_times) * np.sqrt(1.0 / len(log_times) + 1.0 / tuner.n_observed[0])
    assert tuner.log_time[0] == pytest.approx(np.mean(log_times), abs=4.0 * standard_error + 1e-3)
    assert tuner.log_process_time[0] == pytest.approx(tuner.log_time[0], rel=1e-12)


@pytest.mark.statistical
def test_arc_length_is_tuned_to_the_length_of_the_path_to_the_u_turn():
    # In many dimensions the speed hardly changes: its root mean square is √dim.
    dim = 100
    rule = EventRateRule(tune=True, start=0.03, smoothing=1.0, prior_count=0.0)
    stage = Stage("rate", 1000, draw_spacing=3.0, event_rate=rule)
    tuner = tuned_chain(dim, stage, event_rate_kind="arc_length", name="rkn64", tolerance=1e-4).process.rate_tuner
    log_times = np.log(exact_u_turn_times(dim, 4000))
    # A path's log length also varies with that of its momentum, by 1/√(2 dim).
    standard_error = np.sqrt((np.var(log_times) + 0.5 / dim) / tuner.n_observed[0])
    expected = np.mean(log_times) + 0.5 * np.log(dim)
    assert tuner.log_time[0] == pytest.approx(expected, abs=4.0 * standard_error + 1.0 / dim)
    assert tuner.log_process_time[0] == pytest.approx(np.mean(log_times), abs=4.0 * standard_error + 1.0 / dim)


def test_the_paper_phase_starts_from_its_rate_and_counts_what_it_costs():
    (stage,) = paper_stages(FIXED, event_rate=0.2, time_factor=0.1)
    chain = tuned_chain(3, stage)
    tuner, path, counters = chain.process.rate_tuner, chain.process.path[0], chain.process.counters[0]
    assert stage.event_rate.smoothing == 0.99
    assert not stage.event_rate.counts_overshoot
    assert tuner.n_observed[0] > 50
    assert tuner.n_given_up[0] == 0
    # Gradients beyond due refreshments are counted, and are part of the total.
    assert 0 < tuner.n_gradients[0] < counters.n_gradients
    steps = counters.n_steps + counters.n_rejected
    # So are those that look for noise before the first trajectory.
    assert counters.n_gradients == 1 + 2 * steps + tuner.n_gradients[0] + N_SCREENED
    # Up to the last path's observation, which would be applied at its refreshment.
    assert path.event_rate == pytest.approx(np.exp(-tuner.log_time[0]), rel=0.03)


def test_a_search_that_lasts_too_long_is_given_up():
    rule = EventRateRule(tune=True, start=0.3, search_time=0.5)
    chain = tuned_chain(100, Stage("rate", 100, draw_spacing=1.0, event_rate=rule))
    tuner = chain.process.rate_tuner
    # In a hundred dimensions no path turns around within a step or two.
    assert tuner.n_observed[0] == 0
    assert tuner.n_given_up[0] > 10
    assert chain.process.path.event_rate[0] == pytest.approx(0.3, rel=1e-12)


def test_searching_beyond_a_refreshment_leaves_the_process_as_it_was():
    # With the tuned rate kept at its start by an infinite prior, nothing but the cost may differ.
    draws, gradients = [], []
    for tune in (False, True):
        rule = EventRateRule(tune=tune, start=0.4, smoothing=1.0, prior_count=math.inf)
        stage = Stage("fixed", 300, draw_spacing=1.0, event_rate=rule)
        chain = make_chain(
            independent_normals(np.array([1.0, 0.4, 2.0])).log_density(),
            run_settings(dim=3, draws=1, save_warmup=True),
            warmup=[stage],
        )
        finish(chain)
        draws.append(chain.record().warmup_draws)
        gradients.append(int(chain.process.counters.n_gradients[0]))
    # λ = 1/exp(log(1/0.4)) may differ in the last bit.
    np.testing.assert_allclose(*draws, rtol=1e-9, atol=1e-9)
    assert gradients[0] < gradients[1]
