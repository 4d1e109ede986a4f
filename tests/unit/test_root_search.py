"""Roots on dense output: crossings of zero, two of them in one step, and U-turns."""

from __future__ import annotations

import numpy as np
import pytest

from grhmc.events.root_search import (
    MOMENTUM,
    NO_ROOT,
    POSITION,
    Bracket,
    coordinate_root,
    false_position,
    first_crossing,
    narrowed,
)
from grhmc.events.u_turn import find_u_turn, outward_speed
from kernel_helpers import OSCILLATOR, Oscillator, orbit_step, polynomial_step


def from_roots(*roots: float, factor: float = 1.0) -> list[float]:
    return list(factor * np.polynomial.polynomial.polyfromroots(roots))


def crossing(roots, duration=1.0, *, start=0.0, side=1.0, factor=1.0):
    """First crossing, as a time, of a polynomial path with the given roots."""
    step = polynomial_step([1.0], from_roots(*roots, factor=factor), duration=duration)
    fraction = first_crossing(step, duration, 1, start, side)
    return fraction if fraction == NO_ROOT else fraction * duration


@pytest.mark.parametrize("root", [1e-9, 0.2, 0.5, 0.999])
def test_a_root_of_the_position_is_found_to_rounding(root):
    step = polynomial_step(from_roots(root, -2.0, 7.0), duration=1.0)
    assert coordinate_root(POSITION, step, 1.0, 0, 0.0, 1.0) == pytest.approx(root, abs=2e-12)


def test_a_root_of_the_momentum_is_the_turning_point():
    step = polynomial_step(from_roots(0.3, 1.1), duration=2.0)
    assert 2.0 * coordinate_root(MOMENTUM, step, 2.0, 0, 0.0, 1.0) == pytest.approx(0.7, abs=4e-12)


def test_a_root_where_the_path_is_flat_is_found():
    # A triple root, where Newton's method and plain false position are slow.
    step = polynomial_step(from_roots(0.4, 0.4, 0.4), duration=1.0)
    assert coordinate_root(POSITION, step, 1.0, 0, 0.0, 1.0) == pytest.approx(0.4, abs=1e-4)


@pytest.mark.parametrize("ends", [(1.0, -1.0), (1e-300, -1.0), (1.0, -1e-300), (0.0, 1.0), (-1e300, 1e300)])
def test_false_position_stays_strictly_inside_the_bracket(ends):
    assert 2.0 < false_position(Bracket(2.0, ends[0], 3.0, ends[1], 0)) < 3.0


def test_an_end_that_stays_twice_counts_half():
    bracket = narrowed(Bracket(0.0, -8.0, 1.0, 1.0, 0), 0.9, 0.5)
    assert bracket == (0.0, -8.0, 0.9, 0.5, 1)
    bracket = narrowed(bracket, 0.8, 0.25)
    assert bracket == (0.0, -4.0, 0.8, 0.25, 1)
    assert narrowed(bracket, 0.4, -1.0) == (0.4, -1.0, 0.8, 0.25, -1)


def test_first_crossing_finds_the_only_one_from_either_side():
    assert crossing([0.3], factor=-1.0, side=1.0) == pytest.approx(0.3, abs=1e-11)
    assert crossing([0.3], factor=1.0, side=-1.0) == pytest.approx(0.3, abs=1e-11)


def test_first_crossing_is_that_of_an_orbit():
    step = orbit_step(OSCILLATOR, 2.0, 3.0)
    exact = np.pi - np.arctan2(OSCILLATOR.start[0], OSCILLATOR.momentum[0])  # of the first coordinate
    exact = exact if exact > 2.0 else exact + np.pi
    fraction = first_crossing(step, 1.0, 0, 0.0, np.sign(step.position[0]))
    if 2.0 < exact < 3.0:
        assert 2.0 + fraction == pytest.approx(exact, abs=1e-5)
    else:
        assert fraction == NO_ROOT


def test_there_is_none_where_the_path_stays_on_its_side():
    assert crossing([-0.5], side=1.0) == NO_ROOT
    assert crossing([1.5], side=-1.0) == NO_ROOT
    # It turns around before it gets there: (t - 1/2)² + 1/100.
    step = polynomial_step([0.26, -1.0, 1.0], duration=1.0)
    assert first_crossing(step, 1.0, 0, 0.0, 1.0) == NO_ROOT


def test_a_coordinate_that_is_on_the_other_side_from_the_start_does_not_cross():
    # A shifted centre, not a crossing.
    assert crossing([0.3], side=1.0) == NO_ROOT
    assert crossing([0.3], factor=-1.0, side=-1.0) == NO_ROOT


def test_both_crossings_in_one_step_are_found_one_after_the_other():
    roots = (0.31, 0.62)
    first = crossing(roots, side=1.0)
    assert first == pytest.approx(roots[0], abs=1e-11)
    second = crossing(roots, start=first + 1e-9, side=-1.0)
    assert second == pytest.approx(roots[1], abs=1e-11)
    assert crossing(roots, start=second + 1e-9, side=1.0) == NO_ROOT


def test_both_crossings_are_found_from_the_negative_side():
    roots = (0.45, 0.55)
    first = crossing(roots, side=-1.0, factor=-1.0)
    assert first == pytest.approx(roots[0], abs=1e-11)
    assert crossing(roots, start=first + 1e-9, side=1.0, factor=-1.0) == pytest.approx(roots[1], abs=1e-11)


def u_turn(step, duration, anchor):
    position, momentum = np.empty_like(anchor), np.empty_like(anchor)
    return duration * find_u_turn(step, duration, anchor, position, momentum)


def test_outward_speed_is_half_the_growth_of_the_squared_distance():
    anchor = np.array([0.4, 1.0])
    width = 1e-5

    def squared_distance(time):
        return np.sum((OSCILLATOR.at(time)[0] - anchor) ** 2)

    growth = (squared_distance(0.7 + width) - squared_distance(0.7 - width)) / (2.0 * width)
    position, momentum = OSCILLATOR.at(0.7)
    assert outward_speed(position, anchor, momentum) == pytest.approx(0.5 * growth, abs=1e-9)


# Momentum orthogonal to the position and as long: a circle, which turns back after half a period. As good as certain
# in many dimensions. On a line through the centre, from the centre: after a quarter.
CIRCLE = Oscillator(np.array([0.6, -0.8]), np.array([0.8, 0.6])), np.pi
LINE = Oscillator(np.zeros(2), np.array([0.3, -1.0])), np.pi / 2


@pytest.mark.parametrize(("orbit", "exact"), [CIRCLE, LINE], ids=["circle", "line"])
@pytest.mark.parametrize("offset", [0.02, 0.15, 0.28])
def test_the_u_turn_of_an_orbit_has_its_closed_form(orbit, exact, offset):
    start, duration = exact - offset, 0.3
    time = start + u_turn(orbit_step(orbit, start, start + duration), duration, orbit.start)
    # A millionth of a step, and about h⁵/46080 for the interpolated momentum.
    assert time == pytest.approx(exact, abs=1e-6)


def test_a_u_turn_within_the_first_step_is_found():
    orbit, exact = LINE
    # One step of 2 time units: dense output is off by up to 2⁶/46080 in position.
    assert u_turn(orbit_step(orbit, 0.0, 2.0), 2.0, orbit.start) == pytest.approx(exact, abs=0.01)


def test_a_path_that_is_already_on_its_way_back_turns_at_the_start_of_the_step():
    orbit, exact = LINE
    step = orbit_step(orbit, exact + 0.1, exact + 0.4)
    assert u_turn(step, 0.3, orbit.start) <= 1e-3 * 0.3
