"""Step sizes: what an error makes of the next step, and steps that end on an event."""

from __future__ import annotations

import numpy as np
import pytest

from grhmc.dynamics.step_control import LARGEST_FACTOR, SAFETY, SMALLEST_FACTOR, fit_to_event, rough_power, step_factor

ORDERS = [3.0, 4.0, 5.0]
ROUGH = 0.042
"""Relative error of the power in a factor: 4 %, as documented, and a little."""


@pytest.mark.parametrize("order", ORDERS)
def test_rough_powers_are_as_good_as_documented_over_the_whole_range_of_doubles(order):
    for base in 10.0 ** np.arange(-300.0, 300.0, 0.37):
        assert rough_power(base, -1.0 / order) == pytest.approx(base ** (-1.0 / order), rel=ROUGH)


@pytest.mark.parametrize("order", ORDERS)
def test_the_factor_aims_at_the_tolerance_with_some_safety(order):
    # A step scaled by the factor has SAFETY**order of the tolerance, where no bound interferes.
    for ratio in (0.3, 1.0, 5.0):
        assert step_factor(ratio, 0.0, order) == pytest.approx(SAFETY * ratio ** (-1.0 / order), rel=ROUGH)


@pytest.mark.parametrize("order", ORDERS)
def test_the_factor_stays_within_its_bounds(order):
    ratios = 10.0 ** np.arange(-300.0, 301.0, 20.0)
    factors = np.array([step_factor(ratio, 0.0, order) for ratio in ratios])
    assert factors.max() == LARGEST_FACTOR
    assert factors.min() == SMALLEST_FACTOR
    assert np.all(np.diff(factors) <= 0.0)


def test_a_step_without_error_grows_by_the_largest_factor():
    # The error estimate vanishes where the force is constant or the dimension's orbit passes through zero.
    assert step_factor(0.0, 0.0, 3.0) == LARGEST_FACTOR


@pytest.mark.parametrize("ratio", [1.0 + 1e-9, 2.0, 100.0])
def test_a_rejected_step_shrinks_whatever_was_before(ratio):
    assert step_factor(ratio, 0.0, 3.0) < 1.0
    assert step_factor(ratio, 0.0, 3.0) == step_factor(ratio, 50.0, 3.0)


def test_a_large_error_in_the_step_before_holds_growth_back():
    assert step_factor(0.01, 0.9, 3.0) < step_factor(0.01, 0.1, 3.0)
    assert step_factor(0.9, 0.01, 3.0) == step_factor(0.9, 0.5, 3.0)


def test_controlled_steps_settle_where_the_error_is_below_the_tolerance():
    # A constant problem: error = (step / 0.3)**3.
    step, previous = 1e-3, 0.0
    for _ in range(40):
        ratio = (step / 0.3) ** 3
        step, previous = step * step_factor(ratio, previous, 3.0), ratio
    assert step == pytest.approx(SAFETY * 0.3, rel=ROUGH)


@pytest.mark.parametrize("step_size", [0.1, 0.37, 1.0])
@pytest.mark.parametrize("until_event", [1e-9, 0.05, 0.41, 1.0, 1.05, 1.5, 1.999, 2.0, 7.3])
def test_steps_fitted_to_an_event_end_on_it(step_size, until_event):
    remaining, steps = until_event, []
    while remaining > 0.0:
        steps.append(fit_to_event(step_size, remaining))
        remaining -= steps[-1]
    assert remaining == 0.0
    assert sum(steps) == pytest.approx(until_event, rel=1e-14)
    assert max(steps) <= 1.1 * step_size * (1.0 + 1e-15)
    # No more steps than are needed, and no sliver at the end.
    assert len(steps) <= np.ceil(until_event / step_size)
    assert min(steps) >= min(until_event, 0.5 * step_size * (1.0 - 1e-12))


def test_a_step_far_from_the_event_is_taken_as_proposed():
    assert fit_to_event(0.3, 10.0) == 0.3


def test_a_step_stretches_a_little_to_reach_the_event():
    assert fit_to_event(1.0, 1.09) == 1.09
    assert fit_to_event(1.0, 1.11) == pytest.approx(0.555, rel=1e-15)
