"""What a chain records: energy errors, gradient counts, statistics per draw, time averages; and what that takes."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest

from grhmc import path_functions_from_numba
from grhmc.adaptation.schedule import PracticalWarmup
from grhmc.dynamics.coefficients import TABLEAUS
from grhmc.models import from_python
from grhmc.models.analytic import gaussian, independent_normals, smiley
from kernel_helpers import INTEGRATORS, finish, make_chain, run_settings

EACH_INTEGRATOR = pytest.mark.parametrize("integrator", INTEGRATORS)
SD = np.array([0.5, 1.0, 3.0])
NORMALS = independent_normals(SD, mean=[100.0, 0.0, -5.0]).log_density()
START = np.array([100.3, -1.0, -4.0])


def energy(chain):
    path, momentum = chain.process.path[0], chain.process.step.momentum
    return 0.5 * momentum @ momentum - path.log_density


@EACH_INTEGRATOR
def test_energy_error_is_the_largest_change_along_the_path_since_the_last_draw(integrator):
    # No event: one path, whose energy is followed here step by step.
    settings = run_settings(dim=2, draws=12, sample_interval=3.0, event_rate=1e-9, name=integrator)
    chain = make_chain(smiley().log_density(), settings, init=np.array([0.7, 0.2]))
    chain.advance(1)
    first = chain.process.path.start_energy[0]
    largest, expected, n_drawn = energy(chain) - first, [], 0
    while chain.advance(1) == 0:
        error = energy(chain) - first
        largest = error if abs(error) > abs(largest) else largest
        for _ in range(chain.draws_done - n_drawn):
            # The step's end may lie behind the draw: its error counts for the draw.
            expected.append(largest)
            largest = 0.0
        n_drawn = chain.draws_done
    found = chain.record().statistics["energy_error"]
    np.testing.assert_allclose(found[: len(expected)], expected, rtol=1e-12, atol=1e-15)
    assert len(expected) >= 11
    assert np.abs(found).max() > 0.0


def test_energy_errors_shrink_with_the_tolerance():
    typical = []
    for tolerance in (0.05, 0.005, 0.0005):
        chain = make_chain(NORMALS, run_settings(dim=3, draws=2000, tolerance=tolerance), init=START)
        typical.append(np.median(np.abs(finish(chain).record().statistics["energy_error"])))
    assert typical[0] > 1.7 * typical[1] > 1.7 * 3.0 * typical[2]


def test_paths_beyond_the_threshold_are_diverging():
    chain = make_chain(NORMALS, run_settings(dim=3, draws=300, tolerance=0.2, divergence_threshold=0.05), init=START)
    statistics = finish(chain).record().statistics
    np.testing.assert_array_equal(
        statistics["diverging"] <= (np.abs(statistics["energy_error"]) > 0.05), np.full(300, True)
    )
    assert 0 < statistics["diverging"].sum() < 300
    assert chain.counts.n_diverging >= statistics["diverging"].sum()
    calm = make_chain(NORMALS, run_settings(dim=3, draws=300), init=START)
    assert not finish(calm).record().statistics["diverging"].any()


@EACH_INTEGRATOR
@pytest.mark.parametrize("event_rate", [0.05, 0.5, 5.0])
def test_an_event_of_a_constant_rate_costs_no_gradient(integrator, event_rate):
    settings = run_settings(dim=3, draws=300, event_rate=event_rate, name=integrator)
    chain = finish(make_chain(NORMALS, settings, init=START))
    counts = chain.counts
    assert counts.n_non_finite == 0
    assert counts.n_events == pytest.approx(300 * event_rate, abs=5.0 * np.sqrt(300 * event_rate) + 1.0)
    # One gradient at the start, five to look for noise, one at each draw, and the same for every step, accepted or not.
    per_step = TABLEAUS[integrator].gradients_per_step
    n_at_draws = counts.n_gradients - 1 - 5 - per_step * (counts.n_steps + counts.n_rejected)
    assert 290 <= n_at_draws <= 300  # none where the test of paths puts the path's start


@EACH_INTEGRATOR
def test_an_event_of_the_arc_length_rate_costs_one_gradient_at_most_or_a_step_of_the_splitting(integrator):
    settings = run_settings(dim=3, draws=300, event_rate=0.3, event_rate_kind="arc_length", name=integrator)
    counts = finish(make_chain(NORMALS, settings, init=START)).counts
    assert counts.n_non_finite == 0
    beyond_steps = (
        counts.n_gradients - 1 - TABLEAUS[integrator].gradients_per_step * (counts.n_steps + counts.n_rejected)
    )
    most = TABLEAUS[integrator].gradients_per_step if integrator == "splitting" else 1
    beyond_steps -= 5 + 300  # for noise, and at draws
    assert 0 < beyond_steps <= most * counts.n_events


@EACH_INTEGRATOR
def test_few_steps_are_rejected_on_a_smooth_target(integrator):
    model = gaussian(np.zeros(3), [[1.0, 0.5, 0.0], [0.5, 2.0, 0.3], [0.0, 0.3, 0.5]]).log_density()
    counts = finish(make_chain(model, run_settings(dim=3, draws=2000, event_rate=0.4, name=integrator))).counts
    assert counts.n_rejected < 0.05 * counts.n_steps


@pytest.mark.parametrize("kind", ["constant", "arc_length"])
def test_statistics_per_draw_sum_up_to_the_counters(kind):
    settings = run_settings(
        dim=3,
        draws=150,
        tune=100,
        scale="isg",
        save_warmup=True,
        event_rate="tuned",
        event_rate_kind=kind,
        sample_interval=None,
    )
    chain = finish(make_chain(NORMALS, settings))
    record, counters = chain.record(), chain.process.counters[0]
    assert 60 < len(record.warmup_draws) <= 100
    for name in ("n_gradients", "n_steps", "n_rejected", "n_events"):
        rows = np.concatenate([record.warmup_statistics[name], record.statistics[name]])
        assert rows.min() >= 0
        # Up to the last draw; after it comes at most the event at the step's end. What a stage spends behind its own
        # last draw (the search for a U-turn at the last event) and at the start is in no row.
        total = counters[name]
        n_stages = len(chain.stages)
        assert 0 <= total - rows.sum() <= 1 + n_stages * (40 if name == "n_gradients" else 1)
    assert record.statistics["n_gradients"].sum() <= counters.n_gradients - record.tuning["n_gradients"]


def test_process_times_are_equally_spaced_and_draws_lie_on_the_path():
    settings = run_settings(dim=3, draws=400, sample_interval=0.01, event_rate=1e-9, name="rkn64", tolerance=1e-8)
    record = finish(make_chain(NORMALS, settings, init=START)).record()
    times = record.statistics["process_time"]
    np.testing.assert_allclose(times, 0.01 * np.arange(1, 401), rtol=1e-12)
    # With unit scale an orbit of frequency 1/sd, fixed by two points.
    for k, sd in enumerate(SD):
        deviation = record.draws[:, k] - [100.0, 0.0, -5.0][k]
        basis = np.column_stack([np.cos(times / sd), np.sin(times / sd)])
        coefficients = np.linalg.lstsq(basis, deviation, rcond=None)[0]
        np.testing.assert_allclose(basis @ coefficients, deviation, atol=1e-6)
        assert coefficients[0] == pytest.approx(START[k] - [100.0, 0.0, -5.0][k], abs=1e-6)


@EACH_INTEGRATOR
def test_log_density_and_energy_belong_to_the_draw(integrator):
    settings = run_settings(dim=3, draws=200, sample_interval=0.37, name=integrator, tolerance=1e-4)
    record = finish(make_chain(NORMALS, settings, init=START)).record()
    exact = [NORMALS.evaluate(draw)[0] for draw in record.draws]
    np.testing.assert_allclose(record.statistics["lp"], exact, rtol=1e-12)
    kinetic = record.statistics["energy"] + record.statistics["lp"]
    assert kinetic.min() >= 0.0


def test_a_draw_where_the_density_cannot_be_computed_says_so():
    # Fails at every seventh call, be that for a step, which is tried again, or for a draw.
    evaluations = []

    def unlucky(q):
        evaluations.append(q[0])
        return (-math.inf if len(evaluations) % 7 == 0 else -0.5 * q[0] ** 2), -q

    chain = finish(make_chain(from_python(unlucky, 1), run_settings(draws=100, sample_interval=0.3), init=np.ones(1)))
    log_density = chain.record().statistics["lp"]
    assert np.all(np.isfinite(chain.record().draws))
    assert 0 < np.isinf(log_density).sum() < 50
    assert np.all(np.isfinite(chain.record().statistics["energy"]))


def values(q, output):
    output[0] = q[0]
    output[1] = q[2] * q[2]


def test_time_averages_agree_with_a_fine_sampling_of_the_same_path():
    spacing, n_draws = 0.02, 5000
    functions = path_functions_from_numba(values, 3, ["first", "third squared"])
    # Errors so small that no path is rejected: draws of a rejected one are not those that the averages see.
    settings = run_settings(dim=3, draws=n_draws, sample_interval=spacing, n_time_averages=10, tolerance=1e-4)
    chain = finish(make_chain(NORMALS, settings, init=START, path_functions=functions))
    record = chain.record()
    assert record.tuning["n_rejected_paths"] == 0
    averages = record.time_average
    assert averages["position"].shape == (10, 3)
    np.testing.assert_allclose(averages["duration"], n_draws / 10 * spacing, rtol=1e-12)
    # Draws at the interval's edges and all between them: the trapezoidal rule.
    points = np.concatenate([START[np.newaxis], record.draws]).reshape(-1, 3)
    for interval in range(10):
        rows = points[500 * interval : 500 * (interval + 1) + 1]
        weights = np.full(501, 1.0 / 500.0)
        weights[[0, -1]] *= 0.5
        np.testing.assert_allclose(averages["position"][interval], weights @ rows, atol=2e-4)
        np.testing.assert_allclose(averages["position_squared"][interval], weights @ rows**2, rtol=2e-4)
    # Functions are averaged by another rule than q and q²; both are good to h⁷, with steps h of about one.
    np.testing.assert_allclose(averages["functions"][:, 0], averages["position"][:, 0], rtol=1e-6)
    np.testing.assert_allclose(averages["functions"][:, 1], averages["position_squared"][:, 2], rtol=2e-4)


@pytest.mark.parametrize(("draws", "kept", "intervals", "each"), [(100, 50, 50, 2), (101, 50, 33, 3), (3, 50, 3, 1)])
def test_intervals_of_time_averages_span_whole_draws(draws, kept, intervals, each):
    settings = run_settings(dim=3, draws=draws, sample_interval=0.5, n_time_averages=kept)
    averages = finish(make_chain(NORMALS, settings, init=START)).record().time_average
    assert averages["position"].shape == (intervals, 3)
    np.testing.assert_allclose(averages["duration"], 0.5 * each, rtol=1e-12)


def test_an_unfinished_chain_reports_what_it_has():
    settings = run_settings(dim=3, draws=500, sample_interval=2.0)
    chain = make_chain(NORMALS, settings, init=START)
    assert len(chain.record().draws) == 0
    while chain.draws_done < 123:
        chain.advance(1)
    record = chain.record()
    assert record.draws.shape == (123, 3)
    assert record.time_average["position"].shape == (12, 3)
    assert all(len(rows) == 123 for rows in record.statistics.values())
    assert np.all(record.draws.any(axis=1))
    whole = finish(make_chain(NORMALS, settings, init=START)).record()
    np.testing.assert_array_equal(record.draws, whole.draws[:123])


def test_the_tuning_history_leads_to_the_tuned_values():
    warmup = PracticalWarmup(
        n_tune=200, tuner=3, tune_event_rate=True, u_turn_factor=1.0, draw_spacing=None, u_turns_per_draw=1.0
    ).stages()
    settings = run_settings(dim=3, draws=10, scale="geo", event_rate="tuned", sample_interval=None)
    chain = finish(make_chain(NORMALS, settings, warmup=warmup))
    tuning = chain.record().tuning
    times = tuning["history_time"]
    assert 150 < len(times) <= 60 * len(warmup) + 1  # short stages have fewer steps than rows
    assert np.all(np.diff(times) > 0.0)
    assert np.all(np.diff(tuning["history_n_gradients"]) >= 0)
    np.testing.assert_array_equal(tuning["history_scale"][-1], tuning["scale"])
    np.testing.assert_array_equal(tuning["history_centre"][-1], tuning["centre"])
    np.testing.assert_allclose(tuning["history_event_rate"][-1], tuning["event_rate"], rtol=0.1)
    np.testing.assert_allclose(tuning["scale"], SD, rtol=0.5)


# A round keeps at most 400 draws for the directions of the metric. Both lengths of warm-up fill these: 396 of them.
@pytest.mark.parametrize(("name", "few", "many"), [("draws", 500, 5000), ("tune", 4800, 14_400)])
def test_advancing_allocates_nothing_that_grows(name, few, many):
    peaks = []
    finish(make_chain(NORMALS, run_settings(dim=3, draws=10, tune=1000, scale="isg", event_rate="tuned")))  # loads all
    for length in (few, many):
        lengths: dict[str, Any] = {"draws": 10, "tune": 50, name: length}
        settings = run_settings(dim=3, scale="isg", event_rate="tuned", **lengths)
        chain = make_chain(NORMALS, settings)
        chain.advance(50)
        tracemalloc.start()
        finish(chain, lambda: 500)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # All records were allocated before; the rest is Python's own small change.
    assert max(peaks) < 300_000
    assert peaks[1] < peaks[0] + 50_000
    bytes_recorded = sum(array.nbytes for array in chain.to_arrays().values())
    assert bytes_recorded < (5050 if name == "draws" else 50) * 8 * (3 + 10) + 200_000
