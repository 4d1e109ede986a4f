"""Moments along the path, the scales that follow from them, and the bound on a scale's change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from grhmc.adaptation.tuners.moments import (
    RunningMoments,
    begin_window,
    forget,
    init_moments,
    merged_mean_and_variance,
    observe_path,
)
from grhmc.adaptation.tuners.scale_from_moments import (
    GEO,
    ISG,
    LARGEST_MEAN_GRADIENT,
    VARI,
    clamp_scale,
    propose_from_moments,
    scale_from_moments,
)
from grhmc.dynamics.phase import move_to_end
from grhmc.dynamics.standardization import init_standardization
from grhmc.dynamics.time_averages import GAUSS_NODES, GAUSS_WEIGHTS
from grhmc.models import from_python
from kernel_helpers import OSCILLATOR, Dynamics, Oscillator

DIM = 2


def follow_orbit(
    moments: RunningMoments, *, centre, scale, n_steps, duration=0.1, integrator="rkn64", start=OSCILLATOR
) -> tuple[np.ndarray, np.ndarray]:
    """Feed the moments with steps on an oscillator in standardized units; returns q at all quadrature nodes.

    The nodes are those of the Gauss rule, on the exact orbit, with their weights.
    """
    standardization = init_standardization(np.array(centre), np.array(scale))
    model = from_python(
        lambda q: (
            -0.5 * np.sum(((q - standardization.centre) / standardization.scale) ** 2),
            -(q - standardization.centre) / standardization.scale**2,
        ),
        DIM,
    )
    dynamics = Dynamics(integrator, model, *start.at(0.0), standardization)
    points, weights = [], []
    for n in range(n_steps):
        dynamics.attempt(duration)
        observe_path(
            moments,
            dynamics.step,
            standardization,
            dynamics.tableau.quadrature_weights,
            duration,
            np.empty(DIM),
        )
        for node, weight in zip(GAUSS_NODES, GAUSS_WEIGHTS, strict=True):
            points.append(standardization.centre + standardization.scale * start.at((n + node) * duration)[0])
            weights.append(weight * duration)
        move_to_end(dynamics.step)
    return np.array(points), np.array(weights)


@pytest.mark.parametrize("integrator", ["splitting", "rkn43", "rkn64"])
def test_running_moments_are_those_of_the_path(integrator):
    centre, scale, moments = [1.0, -5.0], [0.5, 20.0], init_moments(DIM)
    duration = 0.02 if integrator == "splitting" else 0.1
    n_steps = round(8.0 / duration)
    points, weights = follow_orbit(
        moments, centre=centre, scale=scale, n_steps=n_steps, duration=duration, integrator=integrator
    )
    # The integrator's own error: order two for the splitting.
    tolerance = 1e-4 if integrator == "splitting" else 1e-5
    mean = np.average(points, axis=0, weights=weights)
    variance = np.average((points - mean) ** 2, axis=0, weights=weights)
    assert moments.weights == pytest.approx([8.0, 8.0], rel=1e-12)
    np.testing.assert_allclose((moments.position_mean - mean) / scale, 0.0, atol=tolerance)
    np.testing.assert_allclose(moments.position_spread / 8.0, variance, rtol=10.0 * tolerance)
    gradients = -(points - centre) / np.square(scale)
    gradient_mean = np.average(gradients, axis=0, weights=weights)
    gradient_variance = np.average((gradients - gradient_mean) ** 2, axis=0, weights=weights)
    np.testing.assert_allclose((moments.gradient_mean - gradient_mean) * scale, 0.0, atol=tolerance)
    np.testing.assert_allclose(moments.gradient_spread / 8.0, gradient_variance, rtol=10.0 * tolerance)


def test_moments_far_from_zero_keep_their_digits():
    near, far = init_moments(DIM), init_moments(DIM)
    follow_orbit(near, centre=[0.0, 0.0], scale=[1.0, 1.0], n_steps=80)
    points, weights = follow_orbit(far, centre=[1e8, -1e7], scale=[1.0, 1.0], n_steps=80)
    np.testing.assert_allclose(far.position_spread, near.position_spread, rtol=1e-6)
    np.testing.assert_allclose(far.position_mean - [1e8, -1e7], near.position_mean, atol=1e-7)
    # Negative control: the raw difference of two large numbers has no digit left.
    raw = weights @ points**2 - weights @ points * (weights @ points) / weights.sum()
    assert np.abs(raw[0] / near.position_spread[0] - 1.0) > 0.01


def filled(seed):
    """Moments with arbitrary contents."""
    rng = np.random.default_rng(seed)
    return RunningMoments(rng.uniform(1, 9, 2), rng.normal(size=2), rng.uniform(1, 9, 2), *rng.uniform(1, 9, (2, 2)))


def test_forget_starts_over():
    moments = filled(1)
    forget(moments)
    for found, expected in zip(moments, init_moments(DIM), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_new_window_keeps_the_one_that_ends():
    previous, current, before = filled(1), filled(2), filled(2)
    begin_window(previous, current)
    for found, expected in zip(previous, before, strict=True):
        np.testing.assert_array_equal(found, expected)
    assert not any(array.any() for array in current)
    assert not any(np.shares_memory(a, b) for a, b in zip(previous, current, strict=True))


def test_two_windows_together_are_one_long_one():
    first, second, whole = init_moments(DIM), init_moments(DIM), init_moments(DIM)
    late = Oscillator(*OSCILLATOR.at(3.0))
    common: dict[str, Any] = {"centre": [3.0, 0.0], "scale": [1.0, 2.0]}
    follow_orbit(first, n_steps=30, **common)
    follow_orbit(second, n_steps=50, start=late, **common)
    follow_orbit(whole, n_steps=80, **common)
    for k in range(DIM):
        mean, variance = merged_mean_and_variance(
            first.weights[0],
            first.position_mean[k],
            first.position_spread[k],
            second.weights[0],
            second.position_mean[k],
            second.position_spread[k],
        )
        # The second window continues the first up to the integrator's error.
        assert mean == pytest.approx(whole.position_mean[k], abs=1e-7)
        assert variance == pytest.approx(whole.position_spread[k] / whole.weights[0], rel=1e-6)


def test_merging_with_nothing_changes_nothing():
    assert merged_mean_and_variance(0.0, 0.0, 0.0, 4.0, 1.5, 8.0) == pytest.approx((1.5, 2.0), rel=1e-15)
    assert merged_mean_and_variance(4.0, 1.5, 8.0, 0.0, 0.0, 0.0) == pytest.approx((1.5, 2.0), rel=1e-15)


def test_scales_follow_their_formulas():
    variance, squared_gradient = 9.0, 0.25
    assert scale_from_moments(VARI, variance, squared_gradient) == 3.0
    assert scale_from_moments(ISG, variance, squared_gradient) == 2.0
    # GEO is the geometric mean of the two: S⁴ = Var(q) / E[g²].
    assert scale_from_moments(GEO, variance, squared_gradient) == pytest.approx(np.sqrt(6.0), rel=1e-15)
    assert scale_from_moments(GEO, variance, squared_gradient) ** 4 == pytest.approx(36.0, rel=1e-14)


@pytest.mark.parametrize("kind", [VARI, ISG, GEO])
def test_a_gaussian_with_independent_coordinates_gets_its_standard_deviations(kind):
    sd = np.array([1e-3, 40.0])
    scales = [scale_from_moments(kind, variance, 1.0 / variance) for variance in sd**2]
    np.testing.assert_allclose(scales, sd, rtol=1e-14)


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("kind", [VARI, ISG, GEO])
def test_a_proposal_combines_both_windows(kind, centred):
    previous, current = filled(3), filled(4)
    centre, scale = np.empty(DIM), np.empty(DIM)
    propose_from_moments(kind, centred, previous, current, centre, scale)
    for k in range(DIM):
        weights = np.array([previous.weights, current.weights])
        means = np.array([previous.position_mean[k], current.position_mean[k]])
        gradients = np.array([previous.gradient_mean[k], current.gradient_mean[k]])
        # E[q²] and E[g²] of the two stretches together.
        square = previous.position_spread[k] + current.position_spread[k] + weights[:, 0] @ means**2
        gradient_square = previous.gradient_spread[k] + current.gradient_spread[k] + weights[:, 1] @ gradients**2
        time, gradient_time = weights.sum(axis=0)
        mean, gradient_mean = weights[:, 0] @ means / time, weights[:, 1] @ gradients / gradient_time
        variance = square / time - mean**2
        squared_gradient = gradient_square / gradient_time
        if centred:
            least = (gradient_mean / LARGEST_MEAN_GRADIENT) ** 2
            squared_gradient = max(squared_gradient - gradient_mean**2, least)
        assert centre[k] == pytest.approx(mean, rel=1e-13)
        assert scale[k] == pytest.approx(scale_from_moments(kind, variance, squared_gradient), rel=1e-12)


@pytest.mark.parametrize("slope_varies", [1e-10, 0.0])
def test_where_the_log_density_is_nearly_linear_a_scale_is_hardly_longer_than_was_seen(slope_varies):
    """Far out in the left tail of the logarithm of a standard deviation: the slope is 1 but for 1e-5."""
    seen = RunningMoments(np.ones(2), np.zeros(1), np.array([3.0]), np.ones(1), np.array([slope_varies]))
    centre, scale = np.empty(1), np.empty(1)
    propose_from_moments(GEO, True, init_moments(1), seen, centre, scale)
    assert 1.0 < scale[0] < 3.0


def test_a_mean_gradient_on_the_way_into_a_normal_does_not_shorten_its_scale():
    """A path from 1 to 4 standard deviations."""
    sd = 10.0
    position, gradient = sd * np.linspace(1.0, 4.0, 100), -np.linspace(1.0, 4.0, 100) / sd
    seen = RunningMoments(
        np.ones(2), *(np.array([value]) for of in (position, gradient) for value in (of.mean(), of.var()))
    )
    centre, scale = np.empty(1), np.empty(1)
    propose_from_moments(GEO, True, init_moments(1), seen, centre, scale)
    assert scale[0] == pytest.approx(sd, rel=1e-12)


@pytest.mark.parametrize(
    ("proposed", "expected"),
    [
        (3.0, 3.0),
        (3.9, 3.9),
        (100.0, 4.0),
        (1.0, 1.0),
        (0.01, 1.0),
        (np.nan, 2.0),
        (np.inf, 2.0),
        (0.0, 2.0),
        (-1.0, 2.0),
    ],
)
def test_a_scale_changes_by_a_factor_of_two_at_most(proposed, expected):
    # From 2. What is not a positive number leaves the scale as it is.
    new_scale = np.array([proposed])
    clamp_scale(np.array([2.0]), 2.0, new_scale)
    assert new_scale[0] == expected
