"""MCT: what counts as a crossing, how it moves a scale, and that the centre follows the medians."""

from __future__ import annotations

import numpy as np
import pytest

import grhmc
from grhmc.adaptation.paper_schedule import paper_stages
from grhmc.adaptation.tuners.mct import (
    earliest_crossing,
    follow_sides,
    init_crossing_time_tuner,
    observe_crossing,
    observe_crossings,
    observe_own_crossing,
    observe_own_crossings,
    start_observing,
    write_medians,
    write_scales,
)
from grhmc.adaptation.tuners.p_square import observe_sample
from grhmc.adaptation.tuners.scale_from_moments import MCT
from grhmc.events.root_search import NO_ROOT
from grhmc.models.analytic import independent_normals
from kernel_helpers import Oscillator, finish, make_chain, orbit_step, polynomial_step, run_settings

TARGET = np.pi


def tuner_at(position, **settings):
    """A tuner that has begun to observe at a standardized position, from unit scales."""
    tuner = init_crossing_time_tuner(np.ones(len(position)), **settings)
    start_observing(tuner, np.array(position))
    return tuner


def line(*roots: float, factor: float = 1.0) -> list[float]:
    return list(factor * np.polynomial.polynomial.polyfromroots(roots))


def test_sides_are_those_of_the_start_with_zero_on_the_positive_one():
    assert tuner_at([0.3, -0.2, 0.0]).side.tolist() == [1.0, -1.0, 1.0]


def test_the_first_crossing_only_starts_the_clock():
    tuner = tuner_at([1.0, 1.0])
    assert not observe_crossing(tuner, 0, 5.0, TARGET)
    assert tuner.last_crossing_time[0] == 5.0
    assert np.isnan(tuner.last_crossing_time[1])
    assert tuner.n_crossings.tolist() == [1, 0]
    assert tuner.side.tolist() == [-1.0, 1.0]
    assert tuner.averaging.iteration.tolist() == [1, 1]
    assert not tuner.averaging.log_value_average.any()


def test_later_crossings_follow_the_published_dual_averaging():
    tuner = tuner_at([1.0, 1.0], gamma=25.0, anchor=np.array([0.3, 0.0]))
    times = np.cumsum(np.random.default_rng(1).exponential(3.0, 40))
    sum_error, average, k, previous = 0.0, 0.0, 1, times[0]
    observe_crossing(tuner, 0, times[0], TARGET)
    for time in times[1:]:
        assert observe_crossing(tuner, 0, time, TARGET)
        sum_error += TARGET - (time - previous)
        value = 0.3 - np.sqrt(k) / 25.0 * sum_error / (k + 10.0)
        average = k**-0.75 * value + (1.0 - k**-0.75) * average
        k, previous = k + 1, time
        assert tuner.averaging.log_value_average[0] == pytest.approx(average, rel=1e-12)
    assert tuner.n_crossings.tolist() == [40, 0]
    assert not tuner.averaging.log_value_average[1]


@pytest.mark.parametrize(("interval", "sign"), [(2.0 * TARGET, 1.0), (0.5 * TARGET, -1.0)])
def test_late_crossings_raise_the_scale_and_early_ones_lower_it(interval, sign):
    tuner = tuner_at([1.0])
    for n in range(6):
        observe_crossing(tuner, 0, n * interval, TARGET)
    assert sign * tuner.averaging.log_value_average[0] > 0.0


def test_scales_change_from_the_second_crossing_on():
    tuner = tuner_at([1.0, 1.0, 1.0])
    tuner.averaging.log_value_average[:] = 0.5, -0.5, 2.0
    tuner.n_crossings[:] = 2, 1, 0
    scale = np.empty(3)
    write_scales(tuner, np.array([10.0, 20.0, 30.0]), scale)
    assert scale == pytest.approx([np.exp(0.5), 20.0, 30.0], rel=1e-15)


def test_the_centre_is_the_median_of_the_samples():
    tuner = tuner_at([1.0, 1.0])
    for sample in ([1.0, 9.0], [5.0, -1.0], [2.0, 4.0]):
        observe_sample(tuner.medians, np.array(sample))
    centre = np.empty(2)
    write_medians(tuner, centre)
    assert centre.tolist() == [2.0, 4.0]


def test_the_earliest_crossing_of_a_step_is_found():
    step = polynomial_step(line(0.8, factor=-1.0), line(0.3), line(-1.0), duration=1.0)
    coordinate, fraction = earliest_crossing(tuner_at([0.8, -0.3, 1.0]), step, 1.0)
    assert coordinate == 1
    assert fraction == pytest.approx(0.3, abs=1e-11)
    step = polynomial_step(line(-0.8), line(1.3), line(-1.0), duration=1.0)
    assert earliest_crossing(tuner_at([0.8, -1.3, 1.0]), step, 1.0) == (-1, NO_ROOT)


def test_all_crossings_of_a_step_are_observed_at_their_times():
    # Coordinates: one crossing, two of them, none.
    duration, start_time = 2.0, 100.0
    step = polynomial_step(line(0.5, factor=-1.0), line(0.4, 1.4), line(3.0), duration=duration)
    tuner = tuner_at([0.5, 0.56, -3.0])
    observe_crossings(tuner, step, duration, start_time, TARGET)
    assert tuner.n_crossings.tolist() == [1, 2, 0]
    assert tuner.last_crossing_time[:2] == pytest.approx([100.5, 101.4], abs=1e-8)
    assert tuner.side.tolist() == [-1.0, 1.0, -1.0]
    # The second coordinate's interval of 1.0 has gone into its scale.
    assert tuner.averaging.sum_error.tolist() == pytest.approx([0.0, TARGET - 1.0, 0.0], abs=1e-8)


def test_a_crossing_at_a_step_edge_is_counted_once():
    # cos t in steps that end exactly on, just before and just after its zero.
    orbit = Oscillator(np.array([1.0]), np.array([0.0]))
    for edge in (np.pi / 2, np.pi / 2 - 1e-13, np.pi / 2 + 1e-13):
        tuner = tuner_at([1.0])
        for low, high in ((0.0, 1.0), (1.0, edge), (edge, 2.0), (2.0, 3.0)):
            observe_crossings(tuner, orbit_step(orbit, low, high), high - low, low, TARGET)
        assert tuner.n_crossings[0] == 1
        assert tuner.last_crossing_time[0] == pytest.approx(np.pi / 2, abs=1e-6)


def test_a_coordinate_that_a_new_centre_put_on_the_other_side_has_not_crossed():
    # The tuner remembers the positive side; the whole step lies on the negative one.
    step = polynomial_step(line(2.0), duration=1.0)
    tuner = tuner_at([1.0])
    observe_crossings(tuner, step, 1.0, 0.0, TARGET)
    assert tuner.n_crossings[0] == 0
    assert tuner.side[0] == -1.0
    # From then on a crossing counts again.
    observe_crossings(tuner, polynomial_step(line(0.5), duration=1.0), 1.0, 1.0, TARGET)
    assert tuner.n_crossings[0] == 1
    assert tuner.side[0] == 1.0


def test_a_step_back_to_the_remembered_side_leaves_it():
    # A new centre put the start on the other side, and the step leads back.
    step = polynomial_step(line(0.5), duration=1.0)
    tuner = tuner_at([1.0])
    follow_sides(tuner, step)
    assert tuner.side[0] == 1.0
    observe_crossings(tuner, step, 1.0, 0.0, TARGET)
    assert tuner.n_crossings[0] == 0


@pytest.mark.statistical
@pytest.mark.parametrize("at_crossing", [True, False], ids=["crossing", "refreshment"])
def test_crossing_times_of_a_gaussian_settle_at_the_target(at_crossing):
    # Independent normals cross their medians every π when S_j = σ_j.
    sd = np.array([0.01, 1.0, 30.0])
    chain = make_chain(
        independent_normals(sd, mean=5.0).log_density(),
        run_settings(dim=3, draws=8000, event_rate=0.2),
        warmup=paper_stages(MCT, tune_event_rate=False, apply_at_crossing=at_crossing),
        init=np.full(3, 5.0),
    )
    tuning = finish(chain).record().tuning
    # A crossing time's spread is about its size; 8000/π of them: 2 % a standard error.
    np.testing.assert_allclose(tuning["crossing_time"], TARGET, rtol=0.08)
    np.testing.assert_allclose(tuning["scale"], sd, rtol=0.15)


def test_every_coordinate_has_its_own_target():
    tuner = tuner_at([1.0, 1.0], target_time=(1.0, 4.0))
    for coordinate in (0, 1):
        for n in range(6):
            observe_own_crossing(tuner, coordinate, 2.0 * n)
    assert tuner.averaging.sum_error.tolist() == [5 * (1.0 - 2.0), 5 * (4.0 - 2.0)]
    tuner = tuner_at([0.56, 0.56], target_time=(1.0, 4.0))
    observe_own_crossings(tuner, polynomial_step(*2 * [line(0.4, 1.4)], duration=2.0), 2.0, 100.0)
    assert tuner.averaging.sum_error.tolist() == pytest.approx([0.0, 3.0], abs=1e-8)


@pytest.mark.statistical
def test_a_target_of_ones_own_gives_scales_in_proportion():
    # A normal coordinate moves at S p and has the density 1/(σ √(2π)) at its median, so it crosses that
    # S E|p|/(σ √(2π)) = S/(π σ) times per process time (Rice): T̃ = π σ/S, hence S = π σ/T̃.
    sd = np.array([1.0, 5.0])
    model = independent_normals(sd).log_density()
    ratios = []
    for target in (np.pi, 0.5 * np.pi, (0.5 * np.pi, 2.0 * np.pi)):
        result = grhmc.sample(
            model,
            scale=grhmc.MCT(target_crossing_time=target),
            draws=1,
            chains=2,
            seed=1,
            process=grhmc.Continuous("rkn64", 1e-4, warmup="paper", event_rate=0.2, sample_interval=1.0),
            progress_bar=False,
            diagnose=False,
        )
        scale = result["tuning"]["scale"].to_numpy().mean(axis=0)
        np.testing.assert_allclose(scale, sd * np.pi / np.array(target), rtol=0.15)
        ratios.append(scale[0] / scale[1])
    # One target for all coordinates leaves the ratio of the scales as it is; two of them change it by a factor of four.
    np.testing.assert_allclose(ratios, [0.2, 0.2, 0.8], rtol=0.2)
