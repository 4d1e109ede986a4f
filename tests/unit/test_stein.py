"""Moments by gradients: right wherever the draws are, where polynomials follow the posterior's shape."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from grhmc.diagnosis.stein import control_variates, highest_degree, moments_by_gradients

BEND, LONG = 0.5, 3.0


def bent(n: int, seed: int = 1) -> np.ndarray:
    """Independent draws of q1 ~ N(0, 3²), q2 ~ N((q1² − 9)/2, 1)."""
    rng = np.random.default_rng(seed)
    first = LONG * rng.standard_normal(n)
    return np.column_stack([first, BEND * (first**2 - LONG**2) + rng.standard_normal(n)])


def bent_scores(points: np.ndarray) -> np.ndarray:
    residual = points[:, 1] - BEND * (points[:, 0] ** 2 - LONG**2)
    return np.column_stack([-points[:, 0] / LONG**2 + 2 * BEND * points[:, 0] * residual, -residual])


def standardized_moments(points: np.ndarray, scores: np.ndarray):
    mean, sd = points.mean(axis=0), points.std(axis=0)
    return moments_by_gradients(
        (points - mean) / sd, scores * sd, np.corrcoef(points, rowvar=False).reshape(-1, len(sd))
    )


@pytest.mark.parametrize("dim", [1, 2, 3, 4])
def test_control_variates_have_mean_zero_under_the_density_they_are_of(dim: int) -> None:
    points = np.random.default_rng(dim).standard_normal((100_000, dim))
    variates = control_variates(points, -points)
    assert variates.shape[1] == dim * comb(dim + highest_degree(dim), dim)
    errors = variates.mean(axis=0) * np.sqrt(len(points))  # columns have a mean square of 1
    assert np.abs(errors).max() < 4.5


def test_control_variates_of_another_density_have_not() -> None:
    """Negative control: a scale of 0.9."""
    points = 0.9 * np.random.default_rng(1).standard_normal((100_000, 1))
    errors = control_variates(points, -points).mean(axis=0) * np.sqrt(len(points))
    assert np.abs(errors).max() > 20.0


@pytest.mark.parametrize("spread", [0.5, 1.0, 1.5])
def test_a_normal_is_known_from_draws_of_any_spread(spread: float) -> None:
    points = 2.0 + spread * np.random.default_rng(2).standard_normal((400, 3))
    moments = standardized_moments(points, -(points - 2.0))
    assert moments is not None
    sd = points.std(axis=0)
    np.testing.assert_allclose(moments.log_sd, -np.log(sd), atol=1e-4)
    np.testing.assert_allclose(moments.mean, (2.0 - points.mean(axis=0)) / sd, atol=1e-4)
    assert moments.square_explained.min() > 0.999


def test_a_bent_normal_is_known_from_draws_of_its_middle() -> None:
    points = bent(4000)
    middle = points[np.abs(points[:, 0]) < 1.3 * LONG][:400]
    moments = standardized_moments(middle, bent_scores(middle))
    assert moments is not None
    exact = np.array([LONG, np.sqrt(1.0 + 2.0 * BEND**2 * LONG**4)])
    assert np.all(middle.std(axis=0) < 0.75 * exact)
    np.testing.assert_allclose(np.exp(moments.log_sd) * middle.std(axis=0), exact, rtol=0.02)
    assert np.all(moments.log_sd > 10.0 * moments.log_sd_error)


def test_what_polynomials_do_not_follow_is_not_explained() -> None:
    """A narrow sine: what the gradients say is worth nothing, and this is known."""
    rng = np.random.default_rng(4)
    first = 3.0 * rng.standard_normal(800)
    points = np.column_stack([first, np.sin(4.0 * first) + 0.1 * rng.standard_normal(800)])
    residual = (points[:, 1] - np.sin(4.0 * first)) / 0.01
    scores = np.column_stack([-first / 9.0 + 4.0 * residual * np.cos(4.0 * first), -residual])
    moments = standardized_moments(points, scores)
    assert moments is not None
    assert moments.square_explained.min() < 0.5


def test_coordinates_that_are_the_same_are_left_alone() -> None:
    points = np.repeat(np.random.default_rng(3).standard_normal((400, 1)), 2, axis=1)
    assert moments_by_gradients(points, -points, np.ones((2, 2))) is None
