"""Dual averaging: the formulas of Hoffman & Gelman (2014), and convergence to a noisy root."""

from __future__ import annotations

import numpy as np
import pytest

from grhmc.adaptation.tuners.dual_averaging import init_dual_averaging, observe


def transcription(errors, start, mu, gamma, kappa, k0):
    """The update of one coordinate as published: all iterates x and averages x̄."""
    sum_error, average, k = 0.0, start, 1
    values, averages = [], []
    for error in errors:
        sum_error += error
        value = mu - (k**0.5 / gamma) * sum_error / (k + k0)
        average = k ** (-kappa) * value + (1 - k ** (-kappa)) * average
        k += 1
        values.append(value)
        averages.append(average)
    return values, averages


def test_observe_follows_the_published_update_coordinate_by_coordinate():
    rng = np.random.default_rng(1)
    start, anchor = np.array([0.3, -1.0, 2.0]), np.array([0.0, -1.1, 2.2])
    state = init_dual_averaging(start, anchor, gamma=25.0, kappa=0.75, k0=10.0)
    errors: list[list[float]] = [[], [], []]
    for _ in range(300):
        coordinate = int(rng.integers(3))
        error = float(rng.normal(0.5))
        errors[coordinate].append(error)
        returned = observe(state, coordinate, error)
        assert returned == state.log_value_average[coordinate]
    for coordinate in range(3):
        values, averages = transcription(errors[coordinate], start[coordinate], anchor[coordinate], 25.0, 0.75, 10.0)
        assert state.iteration[coordinate] == len(errors[coordinate]) + 1
        assert state.sum_error[coordinate] == pytest.approx(sum(errors[coordinate]), rel=1e-12)
        assert state.log_value[coordinate] == pytest.approx(values[-1], rel=1e-12)
        assert state.log_value_average[coordinate] == pytest.approx(averages[-1], rel=1e-12)
    assert state.anchor.tolist() == anchor.tolist()


def test_first_observation_replaces_the_initial_average():
    state = init_dual_averaging(np.array([5.0]), np.array([1.0]), gamma=10.0)
    observe(state, 0, 0.0)
    assert state.log_value_average[0] == 1.0


def test_only_the_observed_coordinate_changes():
    state = init_dual_averaging(np.array([0.1, 0.2]), np.zeros(2), gamma=10.0)
    observe(state, 1, 1.0)
    assert [field[0] for field in state[:5]] == [0.0, 0.1, 0.1, 1, 0.0]


def test_average_converges_to_the_root_of_a_noisy_increasing_function():
    # H = T - T exp(root - x) times exponential noise: crossing times of a scale exp(x), as in the
    # MCT tuner.
    rng = np.random.default_rng(2)
    roots = np.array([-1.5, 0.0, 2.0])
    state = init_dual_averaging(np.zeros(3), 1.1 * roots, gamma=25.0)
    for _ in range(4000):
        for coordinate in range(3):
            time = np.pi * np.exp(roots[coordinate] - state.log_value_average[coordinate])
            observe(state, coordinate, np.pi - time * rng.exponential())
    np.testing.assert_allclose(state.log_value_average, roots, atol=0.05)


def test_the_wrong_sign_of_the_error_diverges_from_the_root():
    # Negative control for the test above.
    rng = np.random.default_rng(2)
    state = init_dual_averaging(np.zeros(1), np.zeros(1), gamma=25.0)
    for _ in range(4000):
        observe(state, 0, -(state.log_value[0] - 0.5 + rng.normal()))
    assert abs(state.log_value_average[0] - 0.5) > 0.5


def test_init_copies_its_arguments():
    start, anchor = np.zeros(2), np.zeros(2)
    state = init_dual_averaging(start, anchor, gamma=10.0)
    observe(state, 0, 1.0)
    assert not start.any()
    assert not anchor.any()
    assert not np.shares_memory(state.log_value, state.log_value_average)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gamma": 0.0}, "gamma is 0.0"),
        ({"gamma": np.nan}, "gamma is nan"),
        ({"gamma": 1.0, "kappa": 0.5}, "kappa is 0.5"),
        ({"gamma": 1.0, "k0": -1.0}, "k0 is -1.0"),
    ],
)
def test_settings_out_of_range_are_rejected(settings, message):
    with pytest.raises(ValueError, match=message):
        init_dual_averaging(np.zeros(2), np.zeros(2), **settings)


def test_shapes_that_disagree_are_rejected():
    with pytest.raises(ValueError, match=r"shape \(2,\) and anchor \(3,\)"):
        init_dual_averaging(np.zeros(2), np.zeros(3), gamma=1.0)
