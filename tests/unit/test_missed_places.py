"""Places that the draws never went to: told only of those where a chain stays and where there is mass."""

from __future__ import annotations

import math

import numpy as np
import pytest

import grhmc
from grhmc.diagnosis.local_run import run_from
from grhmc.diagnosis.modes import SMALLEST_WEIGHT, judge_places

RNG = np.random.default_rng(1)


def mixture(far: float, sd: float, weight: float, dim: int = 1) -> grhmc.LogDensity:
    """(1 − w) N(0, I) + w N(far, sd² I), far in the first coordinate."""
    mode = np.eye(dim)[0] * far

    def density(q: np.ndarray) -> tuple[float, np.ndarray]:
        z = (q - mode) / sd
        here = math.log1p(-weight) - 0.5 * float(q @ q)
        there = math.log(weight) - dim * math.log(sd) - 0.5 * float(z @ z)
        value = np.logaddexp(here, there)
        share = math.exp(there - value)
        return float(value), -(1.0 - share) * q - share * z / sd

    return grhmc.from_python(density, dim)


def judged(model: grhmc.LogDensity, places: np.ndarray, draws: np.ndarray, **how):
    values = np.array([[model.evaluate(point)[0] for point in chain] for chain in draws])
    return judge_places(model, places, draws, values, draws.std(axis=(0, 1)), **how)


@pytest.mark.parametrize(("dim", "sd", "weight"), [(1, 0.2, 0.3), (1, 1e-3, 0.5), (1, 1.0, 0.01), (10, 0.5, 0.2)])
def test_a_mode_that_no_draw_is_near_is_told_of_with_its_weight(dim: int, sd: float, weight: float) -> None:
    model, draws = mixture(8.0, sd, weight, dim), RNG.standard_normal((4, 250, dim))
    place = np.eye(dim)[0] * 8.0 + 0.3 * sd
    (found,) = judged(model, place[np.newaxis], draws)
    assert abs(found.log_weight - math.log(weight / (1.0 - weight))) < 0.5 + 0.5 * math.sqrt(dim)
    assert found.beyond.argmax() == 0


@pytest.mark.parametrize(("dim", "weight"), [(1, SMALLEST_WEIGHT / 20.0), (20, 1e-10)])
def test_a_spike_without_mass_is_not_told_of_however_high_it_is(dim: int, weight: float) -> None:
    model, draws = mixture(8.0, 1e-2, weight, dim), RNG.standard_normal((4, 250, dim))
    place = np.eye(dim)[0] * 8.0
    if dim > 1:
        assert model.evaluate(place)[0] > model.evaluate(np.zeros(dim))[0]
    assert judged(model, place[np.newaxis], draws) == []


@pytest.mark.parametrize(("weight", "is_told"), [(2.0 * SMALLEST_WEIGHT, False), (0.3, True)])
def test_in_many_dimensions_a_mass_must_be_large_beyond_what_a_short_chain_knows_of_it(
    weight: float, is_told: bool
) -> None:
    model, draws = mixture(12.0, 1.0, weight, 90), RNG.standard_normal((4, 250, 90))
    place = RNG.standard_normal(90) + np.eye(90)[0] * 12.0
    assert bool(judged(model, place[np.newaxis], draws, n_thermal=1)) == is_told


def test_the_middle_of_a_path_on_the_way_in_is_not_a_place() -> None:
    """Of a hundred normals a point ten sds out in one, and at the mean in the others, is as probable as draws."""
    sd = np.logspace(-3, 3, 100)

    def density(q: np.ndarray) -> tuple[float, np.ndarray]:
        return -0.5 * float((q / sd) @ (q / sd)), -q / sd**2

    model, draws = grhmc.from_python(density, 100), sd * RNG.standard_normal((4, 250, 100))
    place = np.zeros(100)
    place[3] = 10.0 * sd[3]
    assert model.evaluate(place)[0] > np.median([model.evaluate(point)[0] for point in draws[0]]) - 10.0
    assert judged(model, place[np.newaxis], draws) == []


def test_places_among_the_draws_cost_nothing_and_the_others_are_bounded() -> None:
    calls = []

    def density(q: np.ndarray) -> tuple[float, np.ndarray]:
        calls.append(1)
        return -0.5 * float(q @ q), -q

    model, draws = grhmc.from_python(density, 3), RNG.standard_normal((4, 250, 3))
    values = -0.5 * (draws**2).sum(axis=2)
    calls.clear()
    assert judge_places(model, 0.5 * RNG.standard_normal((50, 3)), draws, values, np.ones(3)) == []
    assert not calls
    shallow = grhmc.from_python(lambda q: (density(q)[0] * 0.0, 0.0 * q), 3)  # all places are as probable as the draws
    judge_places(shallow, RNG.uniform(-1e3, 1e3, (1000, 3)), draws, 0.0 * values, np.ones(3), most_gradients=300)
    assert len(calls) <= 300 + 100


def test_a_density_that_fails_at_a_place_is_no_place() -> None:
    def density(q: np.ndarray) -> tuple[float, np.ndarray]:
        if q[0] > 5.0:
            raise RuntimeError("too far")
        return -0.5 * float(q @ q), -q

    model, draws = grhmc.from_python(density, 1), RNG.standard_normal((4, 250, 1))
    places = np.array([[9.0], [np.nan], [np.inf]])
    assert judged(model, places, draws) == []
    assert run_from(model, np.array([9.0]), np.ones(1), 100) is None


@pytest.mark.parametrize("sd", [1.0, 1e-3])
def test_a_short_run_finds_the_width_of_where_it_starts(sd: float) -> None:
    model = grhmc.from_python(lambda q: (-0.5 * float(q @ q) / sd**2, -q / sd**2), 2)
    run = run_from(model, np.zeros(2), np.ones(2), 400)
    assert run is not None
    assert np.all(np.abs(np.log(run.positions.std(axis=0) / sd)) < 0.7)
    np.testing.assert_allclose(run.gradients, -run.positions / sd**2)


@pytest.mark.parametrize(("dim", "sd"), [(1, 1e-3), (3, 0.03)])
def test_a_narrow_mode_within_the_draws_is_told_of_by_its_height(dim: int, sd: float) -> None:
    """Half of the mass is in a mode so narrow that no draw is in it."""
    model, draws = mixture(1.0, sd, 0.5, dim), RNG.standard_normal((4, 250, dim))
    place = np.eye(dim)[0] + 0.5 * sd
    (found,) = judged(model, place[np.newaxis], draws, n_thermal=1)
    assert not found.is_beyond
    assert abs(found.log_weight) < 0.5 + 0.5 * math.sqrt(dim)
    assert found.narrowness.min() > 3.0


def test_a_mode_among_its_own_draws_is_not_told_of() -> None:
    model, draws = mixture(0.0, 1.0, 0.5, 50), RNG.standard_normal((4, 250, 50))  # the mode is 25 higher than the draws
    assert judged(model, np.zeros((1, 50)), draws, n_thermal=1) == []


def test_a_wide_mode_of_lower_density_is_told_of_if_a_chain_was_in_it() -> None:
    model, draws = mixture(0.0, 10.0, 0.5, 10), RNG.standard_normal((4, 250, 10))
    place = 10.0 * RNG.standard_normal((1, 10))
    assert judged(model, place, draws) == []  # a centre of such a low density is on the way in
    (found,) = judged(model, place, draws, n_thermal=1)
    assert abs(found.log_weight) < 0.5 + 0.5 * math.sqrt(10)


def test_the_places_of_a_run_are_where_its_windows_ended_and_where_its_density_was_highest() -> None:
    model = grhmc.from_python(lambda q: (-0.5 * float(q @ q), -q), 2)
    result = grhmc.sample(model, draws=50, tune=400, chains=2, seed=1, progress_bar=False)
    places = result["tuning"]["places"].to_numpy()
    assert places.shape == (2, 6, 2)
    assert np.isfinite(places[:, [0, 1, 2, 5]]).all()
    assert np.isnan(places[:, [3, 4]]).all()  # of windows that were left out
    highest = (places[:, -1] ** 2).sum(axis=-1)
    draws = result["unconstrained_posterior"]["position"].to_numpy()
    assert np.all(highest <= (draws**2).sum(axis=-1).min(axis=1))
