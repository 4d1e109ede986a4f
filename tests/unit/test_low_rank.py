"""The low-rank factor of the standardization: the map, and its estimate from draws and gradients."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from grhmc.adaptation.directions import (
    SMALLEST_STRETCH,
    find_directions,
    misfit,
    notable_directions,
    renew_directions,
    worthwhile,
)
from grhmc.adaptation.low_rank import LowRank, ScaleAndDirections, no_directions, scale_alone
from grhmc.adaptation.spectrum import geometric_mean, spectrum_of_draws
from grhmc.adaptation.tuners.scale_from_moments import GEO, ISG, VARI
from grhmc.dynamics.density_call import evaluate_force, init_density
from grhmc.dynamics.standardization import (
    change_factor,
    extreme_eigenvalues,
    from_parameters,
    gradient_of_force,
    init_standardization,
    set_directions,
    to_parameters,
)
from grhmc.models import from_python


def random_directions(rng: np.random.Generator, k: int, dim: int) -> np.ndarray:
    return np.linalg.qr(rng.normal(size=(dim, k)))[0].T


def random_covariance(rng: np.random.Generator, dim: int, condition: float) -> np.ndarray:
    vectors = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    return (vectors * np.geomspace(1.0, condition, dim)) @ vectors.T


def random_standardization(rng: np.random.Generator, dim: int, k: int):
    standardization = init_standardization(rng.normal(size=dim), 10.0 ** rng.uniform(-3, 3, dim), max_rank=k + 2)
    set_directions(standardization, random_directions(rng, k, dim), 10.0 ** rng.uniform(-4, 4, k))
    return standardization


def dense_factor(standardization) -> np.ndarray:
    """F as a matrix."""
    k = int(standardization.rank[0])
    directions = standardization.directions[:k]
    return np.eye(directions.shape[1]) + (directions.T * standardization.stretch[:k]) @ directions


# Ranks about a multiple of four, which the loops go by.
@pytest.mark.parametrize(("dim", "k"), [(2, 1), (3, 3), (7, 4), (20, 5), (33, 11), (5, 0)])
def test_the_map_its_inverse_and_the_gradient(dim, k):
    rng = np.random.default_rng(dim)
    standardization = random_standardization(rng, dim, k)
    position, force = rng.normal(size=dim), rng.normal(size=dim)
    point, back, gradient = np.empty(dim), np.empty(dim), np.empty(dim)
    factor = dense_factor(standardization)
    to_parameters(standardization, position, point)
    expected = standardization.centre + standardization.scale * (factor @ position)
    np.testing.assert_allclose(point, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    from_parameters(standardization, point, back)
    np.testing.assert_allclose(back, position, rtol=1e-7, atol=1e-7)
    gradient_of_force(standardization, force, gradient)
    np.testing.assert_allclose(factor @ (standardization.scale * gradient), force, rtol=1e-9, atol=1e-9)


def test_directions_that_are_not_orthonormal_have_no_such_inverse():
    # Negative control for the test above, and why the estimate's are tested to be orthonormal.
    rng = np.random.default_rng(0)
    standardization, position, point = random_standardization(rng, 6, 3), rng.normal(size=6), np.empty(6)
    standardization.directions[1] += 0.1 * standardization.directions[0]
    to_parameters(standardization, position, point)
    from_parameters(standardization, point, point)
    assert np.abs(point - position).max() > 0.01


def test_more_directions_than_there_is_room_for_are_an_error():
    with pytest.raises(ValueError, match="room for 1 directions, not for 2"):
        set_directions(init_standardization(np.zeros(3), np.ones(3), max_rank=1), np.eye(3)[:2], np.ones(2))


def test_in_place():
    rng = np.random.default_rng(0)
    standardization, position, point = random_standardization(rng, 6, 3), rng.normal(size=6), np.empty(6)
    to_parameters(standardization, position, point)
    to_parameters(standardization, position, position)
    np.testing.assert_array_equal(position, point)


def test_a_changed_factor_keeps_the_point_and_its_force():
    rng = np.random.default_rng(1)
    dim = 8
    model = from_python(lambda q: (np.cos(q).sum() - 0.5 * q @ q, -np.sin(q) - q), dim)
    density = init_density(model.address, model.user_data, dim)
    standardization, position = random_standardization(rng, dim, 5), rng.normal(size=dim)
    force, point, after, anew = np.empty(dim), np.empty(dim), np.empty(dim), np.empty(dim)
    evaluate_force(density, standardization, position, force)
    to_parameters(standardization, position, point)
    other = random_standardization(rng, dim, 2)
    directions, eigenvalues = other.directions[:2], (1.0 + other.stretch[:2]) ** 2
    change_factor(standardization, other.centre, other.scale, directions, eigenvalues, position, force)
    to_parameters(standardization, position, after)
    np.testing.assert_allclose(after, point, rtol=1e-9, atol=1e-9 * np.abs(point).max())
    evaluate_force(density, standardization, position, anew)
    np.testing.assert_allclose(force, anew, rtol=1e-6, atol=1e-6 * np.abs(anew).max())
    assert standardization.rank[0] == 2


def test_extreme_eigenvalues_are_those_of_the_whole_factor():
    standardization = init_standardization(np.zeros(4), np.ones(4), max_rank=2)
    assert extreme_eigenvalues(standardization) == (1.0, 1.0)
    set_directions(standardization, np.eye(4)[:2], np.array([9.0, 4.0]))
    np.testing.assert_allclose(extreme_eigenvalues(standardization), (1.0, 9.0))


@pytest.mark.parametrize("dim", [1, 4, 30])
def test_the_geometric_mean_solves_its_equation(dim):
    rng = np.random.default_rng(dim)
    x, g = rng.normal(size=(2, dim + 5, dim)) @ random_covariance(rng, dim, 1e3)
    mean = geometric_mean(x, g)
    assert mean is not None
    np.testing.assert_allclose(mean @ (g.T @ g) @ mean, x.T @ x, rtol=1e-8, atol=1e-8 * np.abs(x.T @ x).max())
    assert np.all(np.linalg.eigvalsh(mean) > 0.0)


def directions_of(*found: Any, **how: Any) -> ScaleAndDirections:
    """What is found, where enough was seen."""
    metric = find_directions(*found, **how)
    assert metric is not None
    return metric


def renewed_by(*draws: Any, counts_cost: bool) -> ScaleAndDirections:
    """A metric changed by what draws show, where enough was seen."""
    *_, present, tuner = draws
    shown = spectrum_of_draws(*draws)
    assert shown is not None
    renewed = renew_directions(shown, present, tuner, counts_cost=counts_cost)
    assert renewed is not None
    return renewed


def normal_draws(rng: np.random.Generator, covariance: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    draws = rng.multivariate_normal(np.zeros(len(covariance)), covariance, size=n)
    return draws, -np.linalg.solve(covariance, draws.T).T


def condition_left(found: ScaleAndDirections, covariance: np.ndarray) -> float:
    """Of the covariance in the new coordinates."""
    transform = np.linalg.inv(found.factor.stretched(np.eye(len(found.scale))).T * found.scale[:, np.newaxis])
    return float(np.linalg.cond(transform @ covariance @ transform.T))


@pytest.mark.parametrize("condition", [1e2, 1e5, 1e8])
@pytest.mark.parametrize("dim", [2, 20])
def test_geo_is_exact_for_a_normal_from_few_and_dependent_draws(dim, condition):
    """Twice as many draws as dimensions, on a random walk with steps of a tenth of an sd."""
    rng = np.random.default_rng(dim)
    covariance = random_covariance(rng, dim, condition)
    steps, _ = normal_draws(rng, covariance, max(2 * dim, 12))
    draws = np.cumsum(0.1 * steps, axis=0)
    gradients = -np.linalg.solve(covariance, draws.T).T
    scale = np.sqrt(draws.std(axis=0) / gradients.std(axis=0))
    found = directions_of(draws, gradients, scale, GEO, dim, counts_cost=False)
    left = condition_left(found, covariance)
    assert left < 1.01 * SMALLEST_STRETCH
    assert np.linalg.cond(covariance / np.outer(scale, scale)) > left


@pytest.mark.parametrize("tuner", [VARI, ISG])
def test_covariances_alone_need_many_independent_draws(tuner):
    rng = np.random.default_rng(3)
    covariance = random_covariance(rng, 10, 1e4)
    left = {}
    for n in (20, 20_000):
        draws, gradients = normal_draws(rng, covariance, n)
        found = directions_of(draws, gradients, np.ones(10), tuner, 10, counts_cost=False)
        left[n] = condition_left(found, covariance)
    assert left[20_000] < 3.0 < 5.0 < left[20]


def test_a_path_in_a_plane_tells_nothing_of_the_other_dimensions():
    """Between two refreshments a path of independent normals is a circle; elsewhere there is rounding."""
    rng = np.random.default_rng(9)
    time = np.linspace(0.0, 5.0, 40)[:, np.newaxis]
    draws = np.cos(time) * rng.normal(size=10) + np.sin(time) * rng.normal(size=10)
    scale = rng.uniform(0.9, 1.1, 10)
    assert find_directions(draws, -draws, scale, GEO, 10, counts_cost=False) is None


def test_no_directions_for_independent_normals_however_few_the_draws():
    rng = np.random.default_rng(4)
    for n in (12, 100, 400):
        draws, gradients = normal_draws(rng, np.eye(50), n)
        assert directions_of(draws, gradients, np.ones(50), GEO, 50, counts_cost=False).factor.rank == 0


def test_fewer_draws_than_dimensions_find_the_leading_directions():
    rng = np.random.default_rng(5)
    dim, width = 1000, 50.0
    direction = np.ones(dim) / np.sqrt(dim)
    draws = rng.normal(size=(200, dim))
    draws += np.outer(draws @ direction * (width - 1.0), direction)
    gradients = -(draws + np.outer(draws @ direction * (1.0 / width**2 - 1.0), direction))
    found = directions_of(draws, gradients, np.ones(dim), GEO, 30, counts_cost=True).factor
    assert found.rank == 1
    assert abs(found.directions[0] @ direction) > 0.99
    assert found.eigenvalues[0] == pytest.approx(width**2, rel=0.85)


@pytest.mark.parametrize(("n", "dim"), [(60, 20), (30, 20), (200, 500)])
def test_directions_are_orthonormal(n, dim):
    rng = np.random.default_rng(n)
    draws, gradients = normal_draws(rng, random_covariance(rng, dim, 1e6), n)
    gradients += 0.1 * np.abs(gradients) * rng.normal(size=gradients.shape)
    found = directions_of(draws, gradients, np.ones(dim), GEO, dim, counts_cost=False).factor
    assert found.rank > 0
    np.testing.assert_allclose(found.directions @ found.directions.T, np.eye(found.rank), atol=1e-8)
    assert np.all(found.eigenvalues > 0.0)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_draws_that_are_not_finite_are_left_out(value):
    rng = np.random.default_rng(6)
    draws, gradients = normal_draws(rng, random_covariance(rng, 5, 1e4), 40)
    expected = directions_of(draws, gradients, np.ones(5), GEO, 5, counts_cost=False)
    gradients = np.vstack([gradients, np.full(5, value)])
    draws = np.vstack([draws, draws.mean(axis=0)])
    found = directions_of(draws, gradients, np.ones(5), GEO, 5, counts_cost=False)
    np.testing.assert_allclose(found.factor.eigenvalues, expected.factor.eigenvalues)


def test_too_few_draws_and_constant_ones_tell_nothing():
    rng = np.random.default_rng(7)
    few = rng.normal(size=(5, 3))
    assert find_directions(few, -few, np.ones(3), GEO, 3, counts_cost=False) is None
    same = np.ones((50, 3))
    assert find_directions(same, same, np.ones(3), GEO, 3, counts_cost=False) is None


def test_the_most_extreme_directions_are_kept():
    found = LowRank(np.eye(4), np.array([1.2, 100.0, 0.001, 3.0]))
    kept = worthwhile(found, np.ones(4), 2, counts_cost=False)
    np.testing.assert_array_equal(kept.factor.directions, np.eye(4)[[2, 1]])
    np.testing.assert_allclose(kept.factor.eigenvalues * kept.scale[0] ** 2, [0.001, 100.0])
    assert worthwhile(found, np.ones(4), 4, counts_cost=False).factor.rank == 3


@pytest.mark.parametrize("counts_cost", [False, True])
def test_one_wide_direction_among_equally_narrow_ones_is_enough(counts_cost):
    """The scale takes over what all others have in common."""
    found = LowRank(np.eye(20), np.append(np.full(19, 0.1), 40.0))
    kept = worthwhile(found, np.full(20, 3.0), 20, counts_cost=counts_cost)
    np.testing.assert_array_equal(kept.factor.directions, np.eye(20)[[19]])
    np.testing.assert_allclose(kept.scale, 3.0 * np.sqrt(0.1))
    np.testing.assert_allclose(kept.factor.eigenvalues, 400.0)


def test_directions_that_were_not_seen_are_left_as_they_are():
    found = LowRank(np.eye(20)[:10], np.append(np.full(9, 0.1), 40.0))
    assert worthwhile(found, np.ones(20), 20, counts_cost=False).factor.rank == 10
    assert worthwhile(found, np.ones(20), 5, counts_cost=False).factor.rank == 1  # the middle of 0.1 and 1 is left
    np.testing.assert_allclose(worthwhile(found, np.ones(20), 5, counts_cost=False).scale, 0.1**0.25)


def test_the_choice_is_the_best_of_all_choices():
    rng = np.random.default_rng(2)
    for most in range(5):
        logs = rng.normal(scale=3.0, size=7)
        kept = worthwhile(LowRank(np.eye(7), np.exp(logs)), np.ones(7), most, counts_cost=False).factor
        left = [np.ptp(np.delete(logs, chosen)) for chosen in itertools.combinations(range(7), most)]
        is_left = ~kept.directions.any(axis=0)
        assert kept.rank == most
        assert np.ptp(logs[is_left]) == pytest.approx(min(left))


def test_directions_that_cost_more_than_they_save_are_left_out():
    dim = 2000
    few = LowRank(np.eye(dim)[:3], np.array([100.0, 1e-2, 1.3]))
    assert worthwhile(few, np.ones(dim), dim, counts_cost=True).factor.rank == 2
    many = LowRank(np.eye(dim), np.full(dim, 2.0) ** np.where(np.arange(dim) % 2, 1.0, -1.0))
    kept = worthwhile(many, np.ones(dim), dim, counts_cost=True)
    assert kept.factor.rank == 0
    np.testing.assert_array_equal(kept.scale, 1.0)
    assert worthwhile(many, np.ones(dim), dim, counts_cost=False).factor.rank == dim // 2


def present_metric(rng: np.random.Generator, covariance: np.ndarray) -> ScaleAndDirections:
    """The metric with which a normal has independent coordinates."""
    scale = rng.uniform(0.5, 2.0, len(covariance))
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    return ScaleAndDirections(scale, LowRank(vectors.T, values))


@pytest.mark.parametrize("tuner", [VARI, ISG, GEO])
def test_what_draws_do_not_tell_of_stays(tuner):
    """A path in a plane of the right coordinates: found from nothing it loses the other directions."""
    rng = np.random.default_rng(11)
    covariance = random_covariance(rng, 12, 1e4)
    present = present_metric(rng, covariance)
    factor = present.scale[:, np.newaxis] * present.factor.stretched(np.eye(12)).T
    time = np.linspace(0.0, 6.0, 20)[:, np.newaxis]
    circle = np.sqrt(2.0) * (np.cos(time) * np.eye(12)[0] + np.sin(time) * np.eye(12)[1])
    draws = (circle + 1e-3 * rng.normal(size=circle.shape)) @ factor.T
    gradients = -np.linalg.solve(covariance, draws.T).T
    renewed = renewed_by(draws, gradients, present, tuner, counts_cost=False)
    assert condition_left(renewed, covariance) < 1.01 * SMALLEST_STRETCH
    anew = directions_of(draws, gradients, present.scale, tuner, 12, counts_cost=False)
    assert condition_left(anew, covariance) > 10.0


def test_the_present_metric_is_corrected_by_what_draws_tell():
    rng = np.random.default_rng(12)
    covariance, wrong = random_covariance(rng, 6, 1e6), random_covariance(rng, 6, 1e3)
    draws, gradients = normal_draws(rng, covariance, 40)
    renewed = renewed_by(draws, gradients, present_metric(rng, wrong), GEO, counts_cost=True)
    assert condition_left(renewed, covariance) < 1.01 * SMALLEST_STRETCH
    assert spectrum_of_draws(draws[:5], gradients[:5], present_metric(rng, wrong), GEO) is None


@pytest.mark.parametrize("tuner", [VARI, ISG, GEO])
def test_the_new_scale_is_that_of_the_tuner_but_for_a_factor(tuner):
    rng = np.random.default_rng(13)
    covariance = random_covariance(rng, 4, 1e3)
    draws, gradients = normal_draws(rng, covariance, 20_000)
    renewed = renewed_by(draws, gradients, present_metric(rng, np.eye(4)), tuner, counts_cost=False)
    sds, score_sds = np.sqrt(np.diag(covariance)), np.sqrt(np.diag(np.linalg.inv(covariance)))
    expected = {VARI: sds, ISG: 1.0 / score_sds, GEO: np.sqrt(sds / score_sds)}[tuner]
    ratio = renewed.scale / expected
    np.testing.assert_allclose(ratio, ratio[0], rtol=0.1)


def test_a_direction_that_looks_wide_is_believed_where_little_of_it_was_seen_and_a_narrow_one_is_not():
    """Both have moved a hundredth of the way, with scores that are noise."""
    rng = np.random.default_rng(14)
    x = rng.normal(size=(80, 2)) * [1.0, 1e-2]
    g = rng.normal(size=(80, 2)) * [1e-2, 1.0]
    found = spectrum_of_draws(x, g, scale_alone(np.ones(2)), GEO)
    assert found is not None
    np.testing.assert_allclose(np.sort(found.eigenvalues), [1.0, 100.0], rtol=0.5)


def test_a_score_that_hardly_varies_beside_its_mean_says_little_of_the_width():
    rng = np.random.default_rng(15)
    x, noise = rng.normal(size=(80, 1)), rng.normal(size=(80, 1))
    for size, mean, widest in ((1e-3, 0.0, 1500.0), (1e-3, 0.3, 10.0), (1e-14, 0.3, 1.0)):
        found = spectrum_of_draws(x, size * noise + mean, scale_alone(np.ones(1)), GEO)
        assert found is not None
        assert widest / 3.0 < found.eigenvalues[0] <= widest


def test_notable_directions_are_those_that_differ_much_however_many():
    rng = np.random.default_rng(16)
    covariance = np.diag([1e4, 1.1, 1e-4, 1.0])
    draws, gradients = normal_draws(rng, covariance, 50)
    assert notable_directions(draws, gradients, np.ones(4), GEO).rank == 2
    assert notable_directions(draws[:5], gradients[:5], np.ones(4), GEO).rank == 0


def test_a_spectrum_is_all_ones_in_the_right_coordinates():
    rng = np.random.default_rng(17)
    covariance = random_covariance(rng, 5, 1e4)
    draws, gradients = normal_draws(rng, covariance, 30)
    found = spectrum_of_draws(draws, gradients, present_metric(rng, covariance), GEO)
    assert found is not None
    np.testing.assert_allclose(found.eigenvalues, 1.0, rtol=1e-6)


def test_misfit_is_zero_in_the_right_coordinates_and_large_in_the_wrong_ones():
    rng = np.random.default_rng(8)
    covariance = random_covariance(rng, 6, 1e4)
    draws, gradients = normal_draws(rng, covariance, 100)
    none, right = scale_alone(np.ones(6)), present_metric(rng, covariance)
    assert misfit(spectrum_of_draws(draws, gradients, none, GEO)) == pytest.approx(np.log(1e4), rel=1e-3)
    assert misfit(spectrum_of_draws(draws, gradients, right, GEO)) == pytest.approx(0.0, abs=1e-6)
    assert misfit(spectrum_of_draws(draws[:3], gradients[:3], right, GEO)) == 0.0


def test_no_directions_has_the_shapes_of_none():
    assert no_directions(3).directions.shape == (0, 3)
    assert no_directions(3).rank == 0
