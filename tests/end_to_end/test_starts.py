"""Where chains start, and that they get away from there: opposite pairs, modes, and points very near to modes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import grhmc
from grhmc.outcomes import InitializationError
from grhmc.run.start_search import BUDGET
from grhmc.run.starting_points import MAX_TRIES, find_start


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


def flat_where(inside: Callable[[np.ndarray], bool]) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    return lambda q: (0.0 if inside(q) else -np.inf, np.zeros(len(q)))


SUPPORTS = {
    "box": (5, lambda q: bool(np.all((q > 10.0) & (q < 11.0)))),
    "box far below": (30, lambda q: bool(np.all((q > -300.0) & (q < -250.0)))),
    "large and positive": (4, lambda q: bool(np.all(q > 100.0))),
    "simplex": (20, lambda q: bool(np.all(q > 0.0) and q.sum() < 1.0)),
    "shell": (10, lambda q: 50.0 < float(np.sqrt(q @ q)) < 60.0),
    "lopsided": (2, lambda q: bool(5.0 < q[0] < 20.0 and -100.0 < q[1] < -20.0)),
    "small ball": (50, lambda q: float(q @ q) < 0.1),
}


@pytest.mark.parametrize("name", SUPPORTS)
def test_a_start_inside_a_bounded_support_is_found(name: str) -> None:
    dim, inside = SUPPORTS[name]
    model = grhmc.from_python(flat_where(inside), dim)
    points = [find_start(model, np.random.default_rng(seed), None)[0] for seed in range(4)]
    assert all(inside(point) for point in points)
    assert not np.array_equal(points[0], points[1])
    again, _ = find_start(model, np.random.default_rng(0), None)
    np.testing.assert_array_equal(again, points[0])


def test_a_normal_in_a_box_is_sampled_from_a_start_that_was_found() -> None:
    def in_box(q: np.ndarray) -> tuple[float, np.ndarray]:
        if not 10.0 < np.min(q) <= np.max(q) < 11.0:
            return -np.inf, q
        return -200.0 * float((q - 10.5) @ (q - 10.5)), -400.0 * (q - 10.5)

    result = grhmc.sample(grhmc.from_python(in_box, 3), draws=300, tune=300, seed=1, progress_bar=False)
    draws = result["posterior"]["x"].to_numpy()
    assert np.all((draws > 10.0) & (draws < 11.0))
    assert draws.std() == pytest.approx(0.05, rel=0.2)


def test_the_usual_tries_come_first_and_draw_from_the_generator_as_ever() -> None:
    rng, expected = np.random.default_rng(3), np.random.default_rng(3)
    point, _ = find_start(grhmc.from_python(flat_where(lambda q: q[0] > 1.9), 2), rng, None)
    wanted = next(q for q in (expected.uniform(-2.0, 2.0, 2) for _ in range(MAX_TRIES)) if q[0] > 1.9)
    np.testing.assert_array_equal(point, wanted)
    assert rng.bit_generator.state == expected.bit_generator.state


def test_an_error_says_what_was_tried_and_what_was_wrong() -> None:
    points = []

    def never(q: np.ndarray) -> tuple[float, np.ndarray]:
        points.append(q)
        if q[0] > 0.0:
            return 0.0, np.array([0.0, np.nan, 0.0])
        return (-np.inf if q[1] > 0.0 else np.nan), q

    model = grhmc.from_python(never, 3, {"a": (), "{b}": (2,)})
    with pytest.raises(InitializationError) as error:
        find_start(model, np.random.default_rng(1), None)
    assert len(points) == MAX_TRIES + BUDGET <= 2100
    bad = sum(q[0] > 0.0 for q in points)
    infinite = sum(q[0] <= 0.0 < q[1] for q in points)
    for words in (
        f"none of {MAX_TRIES} random",
        f"{BUDGET} more",
        f"-inf at {infinite}",
        f"NaN at {len(points) - bad - infinite}",
        f"not finite at {bad} (in {{b}}[0])",
        "Give a point inside the model's support as init",
    ):
        assert words in str(error.value)


def test_an_exception_of_the_search_is_the_user_s_with_a_note() -> None:
    def small_only(q: np.ndarray) -> tuple[float, np.ndarray]:
        if np.max(np.abs(q)) > 2.0:
            raise OverflowError("too large for me")
        return -np.inf, q

    with pytest.raises(OverflowError, match="too large for me") as error:
        find_start(grhmc.from_python(small_only, 1), np.random.default_rng(1), None)
    assert "looked for farther away" in error.value.__notes__[0]
