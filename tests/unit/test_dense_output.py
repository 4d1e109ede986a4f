"""Dense output and the integrals over it, against polynomials and orbits known in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from grhmc import path_functions_from_numba
from grhmc.dynamics.dense_output import (
    combine_coordinate,
    momentum_at,
    momentum_weights,
    position_at,
    position_weights,
)
from grhmc.dynamics.standardization import init_standardization
from grhmc.dynamics.time_averages import (
    init_path_functions,
    init_path_integrals,
    integrate_and_move,
    integrate_path,
    move_and_count,
    reset_integrals,
    write_averages,
)
from kernel_helpers import OSCILLATOR, Oscillator, fitted_slope, orbit_step, polynomial_step

QUINTIC = [0.3, -1.0, 0.7, 2.0, -1.5, 0.4]
CUBIC = [1.0, 0.5, -2.0, 1.0]
NO_FUNCTIONS = init_path_functions(0, 0, 0)
UNIT = init_standardization(np.zeros(2), np.ones(2))


def interpolate(step, duration, fraction):
    position, momentum = np.empty(2), np.empty(2)
    position_at(step, duration, fraction, position)
    momentum_at(step, duration, fraction, momentum)
    return position, momentum


def test_the_ends_are_met_exactly():
    step = orbit_step(OSCILLATOR, 0.3, 1.6)
    np.testing.assert_array_equal(interpolate(step, 1.3, 0.0), (step.position, step.momentum))
    np.testing.assert_array_equal(interpolate(step, 1.3, 1.0), (step.end_position, step.end_momentum))


def test_polynomials_of_degree_five_are_reproduced():
    duration = 1.7
    step = polynomial_step(QUINTIC, CUBIC, duration=duration)
    for fraction in np.linspace(0.0, 1.0, 11):
        position, momentum = interpolate(step, duration, fraction)
        for k, path in enumerate(map(np.polynomial.Polynomial, (QUINTIC, CUBIC))):
            assert position[k] == pytest.approx(path(fraction * duration), rel=1e-13, abs=1e-13)
            assert momentum[k] == pytest.approx(path.deriv()(fraction * duration), rel=1e-13, abs=1e-13)


def test_the_error_between_the_ends_is_of_order_six_and_as_small_as_documented():
    steps = np.array([1.0, 0.7, 0.5, 0.35])
    errors = np.zeros((2, len(steps)))
    for i, duration in enumerate(steps):
        start = 0.9 - 0.5 * duration  # steps about one common midpoint
        step = orbit_step(OSCILLATOR, start, start + duration)
        for fraction in np.linspace(0.0, 1.0, 41):
            exact = OSCILLATOR.at(start + fraction * duration)
            found = interpolate(step, duration, fraction)
            for row in range(2):
                errors[row, i] = max(errors[row, i], np.abs(found[row] - exact[row]).max())
    assert fitted_slope(steps, errors[0]) == pytest.approx(6.0, abs=0.15)
    assert fitted_slope(steps, errors[1]) == pytest.approx(5.0, abs=0.15)
    largest_derivative = np.hypot(OSCILLATOR.start, OSCILLATOR.momentum).max()
    assert np.all(errors[0] <= steps**6 / 46080.0 * largest_derivative)


def test_the_momentum_is_the_derivative_of_the_position():
    duration = 0.9
    step = orbit_step(OSCILLATOR, 0.0, duration)
    # The interpolant is a polynomial of degree five: six points determine it.
    fractions = np.linspace(0.0, 1.0, 6)
    points = np.array([interpolate(step, duration, fraction)[0] for fraction in fractions])
    for k in range(2):
        path = np.polynomial.Polynomial.fit(fractions * duration, points[:, k], 5)
        for fraction in (0.0, 0.123, 0.5, 0.87, 1.0):
            momentum = interpolate(step, duration, fraction)[1]
            assert momentum[k] == pytest.approx(path.deriv()(fraction * duration), abs=1e-12)


def test_a_single_coordinate_is_interpolated_as_in_the_vector():
    step = orbit_step(OSCILLATOR, 0.0, 0.9)
    position, momentum = interpolate(step, 0.9, 0.37)
    for k in range(2):
        assert combine_coordinate(step, position_weights(0.37, 0.9), k) == pytest.approx(position[k], rel=1e-14)
        assert combine_coordinate(step, momentum_weights(0.37, 0.9), k) == pytest.approx(momentum[k], rel=1e-14)


def integrals_of(step, duration, low=0.0, high=1.0):
    integrals = init_path_integrals(2, 0)
    assert integrate_path(integrals, NO_FUNCTIONS, step, UNIT, duration, low, high) == 0
    return integrals


def exact_integrals(orbit: Oscillator, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Of q and q² between two times of an oscillator's orbit."""
    a, b = orbit.start, orbit.momentum

    def antiderivatives(t):
        square = 0.5 * (a * a * (t + np.sin(t) * np.cos(t)) + b * b * (t - np.sin(t) * np.cos(t)))
        return a * np.sin(t) - b * np.cos(t), square + a * b * np.sin(t) ** 2

    return tuple(upper - lower for upper, lower in zip(antiderivatives(high), antiderivatives(low), strict=True))


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.0, 0.4), (0.25, 0.8)])
def test_integrals_over_a_part_of_a_step_have_their_closed_form(low, high):
    start, duration = 0.2, 0.5
    integrals = integrals_of(orbit_step(OSCILLATOR, start, start + duration), duration, low, high)
    position, squared = exact_integrals(OSCILLATOR, start + low * duration, start + high * duration)
    # h⁶/46080 of a sixth derivative of at most 1.2, times the time and, for q², 2 |q|.
    np.testing.assert_allclose(integrals.position, position, atol=2e-7)
    np.testing.assert_allclose(integrals.position_squared, squared, atol=4e-7)
    assert integrals.duration[0] == pytest.approx((high - low) * duration, rel=1e-15)


def test_integrals_converge_with_order_six():
    steps = np.array([1.0, 0.7, 0.5, 0.35])
    errors = np.empty((2, len(steps)))
    for i, duration in enumerate(steps):
        integrals = integrals_of(orbit_step(OSCILLATOR, 0.2, 0.2 + duration), duration)
        position, squared = exact_integrals(OSCILLATOR, 0.2, 0.2 + duration)
        errors[:, i] = np.abs(integrals.position - position).max(), np.abs(integrals.position_squared - squared).max()
    # In one step an error of order six accumulates over the step.
    assert fitted_slope(steps, errors[0]) > 6.5
    assert fitted_slope(steps, errors[1]) > 6.5


def moved(step, duration):
    """Commit a whole step; returns its path integrals and the crossings it counted."""
    integrals, n_crossings = init_path_integrals(2, 0), np.zeros(2)
    integrate_and_move(*ends_of(step), duration, integrals.position, integrals.position_squared, n_crossings)
    return integrals, n_crossings


def ends_of(step):
    """Position, momentum and force at the start of a step and at its end."""
    ends = (step.end_position, step.end_momentum, step.stage_forces[-1])
    return step.position, step.momentum, step.stage_forces[0], *ends


def test_integrals_over_a_whole_step_have_their_closed_form():
    integrals, _ = moved(orbit_step(OSCILLATOR, 0.2, 0.7), 0.5)
    position, squared = exact_integrals(OSCILLATOR, 0.2, 0.7)
    # The rules' errors are h⁷/100800 and h⁷/604800 of a sixth derivative: at most 1.2 for q and 64 · 1.2² / 2 for q².
    np.testing.assert_allclose(integrals.position, position, atol=1e-7)
    np.testing.assert_allclose(integrals.position_squared, squared, atol=1e-6)


def test_integrals_over_whole_steps_converge_with_order_six():
    steps = np.array([1.0, 0.7, 0.5, 0.35])
    errors = np.empty((2, len(steps)))
    for i, duration in enumerate(steps):
        integrals, _ = moved(orbit_step(OSCILLATOR, 0.2, 0.2 + duration), duration)
        position, squared = exact_integrals(OSCILLATOR, 0.2, 0.2 + duration)
        errors[:, i] = np.abs(integrals.position - position).max(), np.abs(integrals.position_squared - squared).max()
    assert fitted_slope(steps, errors[0]) > 6.5
    assert fitted_slope(steps, errors[1]) > 6.5


def test_committing_a_step_makes_its_end_the_start_and_counts_changes_of_side():
    step = orbit_step(OSCILLATOR, 0.0, 1.5)  # of the first coordinate from 1 to 0.27, of the second from -0.3 to 1.08
    expected = [step.end_position.copy(), step.end_momentum.copy(), step.stage_forces[-1].copy()]
    _, n_crossings = moved(step, 1.5)
    np.testing.assert_array_equal([step.position, step.momentum, step.stage_forces[0]], expected)
    np.testing.assert_array_equal(n_crossings, [0.0, 1.0])


def test_a_step_that_crosses_and_returns_counts_twice():
    orbit = Oscillator(np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    step = orbit_step(orbit, -0.2, np.pi + 0.2)
    assert step.position[0] * step.end_position[0] > 0.0
    _, n_crossings = moved(step, np.pi + 0.4)
    np.testing.assert_array_equal(n_crossings, [2.0, 1.0])


@pytest.mark.parametrize("start", [-0.2, 0.0])
def test_a_step_without_integrals_moves_and_counts_the_same(start):
    orbit = Oscillator(np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    with_integrals, without = orbit_step(orbit, start, np.pi + 0.2), orbit_step(orbit, start, np.pi + 0.2)
    duration, n_crossings = np.pi + 0.2 - start, np.zeros(2)
    _, expected = moved(with_integrals, duration)
    move_and_count(*ends_of(without), duration, n_crossings)
    np.testing.assert_array_equal(n_crossings, expected)
    np.testing.assert_array_equal(ends_of(without), ends_of(with_integrals))


def test_integrals_over_parts_add_up_and_start_anew_after_a_reset():
    step = polynomial_step(QUINTIC, CUBIC, duration=1.7)
    integrals = init_path_integrals(2, 0)
    for low, high in ((0.0, 0.3), (0.3, 0.31), (0.31, 1.0)):
        integrate_path(integrals, NO_FUNCTIONS, step, UNIT, 1.7, low, high)
    exact = [np.polynomial.Polynomial(path).integ()(1.7) for path in (QUINTIC, CUBIC)]
    np.testing.assert_allclose(integrals.position, exact, rtol=1e-13)
    assert integrals.duration[0] == pytest.approx(1.7, rel=1e-15)
    reset_integrals(integrals)
    assert not any(array.any() for array in (integrals.position, integrals.position_squared, integrals.duration))


def test_averages_are_those_of_the_parameters():
    standardization = init_standardization(np.array([5.0, -1e6]), np.array([0.1, 2.0]))
    step, time = orbit_step(OSCILLATOR, 0.0, 0.5), 0.5
    integrals = integrals_of(step, time)
    position, squared, functions = np.empty(2), np.empty(2), np.empty(0)
    write_averages(integrals, standardization, position, squared, functions)
    exact_position, exact_squared = (values / time for values in exact_integrals(OSCILLATOR, 0.0, time))
    centre, scale = standardization.centre, standardization.scale
    np.testing.assert_allclose(position, centre + scale * exact_position, rtol=1e-7)
    expected = centre**2 + 2.0 * centre * scale * exact_position + scale**2 * exact_squared
    np.testing.assert_allclose(squared, expected, rtol=1e-7)


def path_values(q, output):
    output[0] = q[0]
    output[1] = q[1] * q[1]
    output[2] = 1.0


def test_functions_are_averaged_in_the_units_of_the_parameters():
    functions = path_functions_from_numba(path_values, 2, ["first", "second squared", "one"])
    standardization = init_standardization(np.array([5.0, -3.0]), np.array([0.1, 2.0]))
    integrals = init_path_integrals(2, 3)
    arguments = init_path_functions(functions.address, functions.user_data, 3)
    step = orbit_step(OSCILLATOR, 0.0, 0.5)
    assert integrate_path(integrals, arguments, step, standardization, 0.5, 0.2, 0.9) == 0
    position, squared, averages = np.empty(2), np.empty(2), np.empty(3)
    write_averages(integrals, standardization, position, squared, averages)
    assert averages == pytest.approx([position[0], squared[1], 1.0], rel=1e-13)


def failing_values(q, output):
    output[0] = q[0]
    if q[0] < 0.0:
        raise ValueError("negative")


def test_an_exception_in_a_function_is_reported():
    functions = path_functions_from_numba(failing_values, 2, ["f"])
    integrals = init_path_integrals(2, 1)
    arguments = init_path_functions(functions.address, functions.user_data, 1)
    step = orbit_step(Oscillator(np.array([-1.0, 0.0]), np.zeros(2)), 0.0, 0.5)
    assert integrate_path(integrals, arguments, step, UNIT, 0.5, 0.0, 1.0) == 3
