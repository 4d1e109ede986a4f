"""Where chains start, and that they get away from there: opposite pairs, modes, and points very near to modes."""

from __future__ import annotations

import numpy as np
import pytest

import grhmc
from grhmc.run.starting_points import find_start


def normal(q: np.ndarray) -> tuple[float, np.ndarray]:
    return -0.5 * float(q @ q), -q


def test_a_chain_starts_opposite_to_its_partner() -> None:
    model = grhmc.from_python(normal, 3)
    first, _ = find_start(model, np.random.default_rng(1), None)
    second, gradient = find_start(model, np.random.default_rng(2), None, partner=first)
    np.testing.assert_array_equal(second, -first)
    np.testing.assert_array_equal(gradient, first)


def test_a_chain_starts_elsewhere_where_the_opposite_point_is_outside_the_support() -> None:
    def positive(q: np.ndarray) -> tuple[float, np.ndarray]:
        return normal(q) if q[0] > 0.0 else (-np.inf, q)

    model = grhmc.from_python(positive, 1)
    point, _ = find_start(model, np.random.default_rng(2), None, partner=np.array([1.0]))
    assert point[0] > 0.0


def test_a_point_that_the_user_gives_is_kept() -> None:
    point, _ = find_start(grhmc.from_python(normal, 1), np.random.default_rng(2), np.array([0.7]), np.array([1.0]))
    assert point[0] == 0.7


def cliff(q: np.ndarray) -> tuple[float, np.ndarray]:
    """A normal, but of a log density without digits left where q is below 1.5."""
    return normal(q) if q[0] > 1.5 else (-1e100 * (2.0 - q[0]), 1e100 * np.ones(1))


def test_a_random_start_of_absurdly_low_density_is_drawn_again() -> None:
    model = grhmc.from_python(cliff, 1)
    for seed in range(5):
        point, gradient = find_start(model, np.random.default_rng(seed), None, partner=np.array([-1.9 * (seed % 2)]))
        assert point[0] > 1.5
        np.testing.assert_array_equal(gradient, -point)


def test_the_best_of_absurd_starts_is_taken_if_there_is_no_other() -> None:
    def steep(q: np.ndarray) -> tuple[float, np.ndarray]:
        return -1e20 * float(q @ q), -2e20 * q

    point, _ = find_start(grhmc.from_python(steep, 1), np.random.default_rng(1), None)
    assert abs(point[0]) < 0.2


def test_an_absurd_start_that_the_user_gives_is_kept() -> None:
    point, _ = find_start(grhmc.from_python(cliff, 1), np.random.default_rng(1), np.array([0.3]))
    assert point[0] == 0.3


@pytest.mark.parametrize("distance", [0.0, 1e-300, 1e-30, 1e-12, 1e-6])
def test_a_start_at_a_mode_or_very_near_one_is_as_good_as_any(distance: float) -> None:
    result = grhmc.sample(
        grhmc.from_python(normal, 2), init=[distance, -distance], draws=300, tune=200, seed=1, progress_bar=False
    )
    assert result["posterior"]["x"].to_numpy().std() == pytest.approx(1.0, abs=0.15)


def test_a_wide_normal_is_still_begun_with_a_wide_scale() -> None:
    """Negative control of the above: where the gradient is small because the scale is large, it must not be cut."""

    def wide(q: np.ndarray) -> tuple[float, np.ndarray]:
        return -0.5e-12 * float(q @ q), -1e-12 * q

    result = grhmc.sample(grhmc.from_python(wide, 2), draws=300, tune=200, seed=1, progress_bar=False)
    assert result["posterior"]["x"].to_numpy().std() == pytest.approx(1e6, rel=0.2)
