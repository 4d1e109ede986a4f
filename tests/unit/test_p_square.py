"""P²: the published example, exactness for few samples, agreement with stored-sample quantiles."""

from __future__ import annotations

import numpy as np
import pytest

from grhmc.adaptation.tuners.p_square import init_median_estimator, median, observe_sample

# Jain & Chlamtac (1985), the example of their table I.
PAPER_SAMPLES = np.array(
    [
        [0.02, 0.15, 0.74, 3.39, 0.83, 22.37, 10.15, 15.43, 38.62, 15.92],
        [34.60, 10.28, 1.47, 0.40, 0.05, 11.39, 0.27, 0.42, 0.09, 11.37],
    ]
).ravel()


def estimate(samples, probability=0.5):
    """The estimator after all rows of `samples`, shape (n, dim)."""
    estimator = init_median_estimator(samples.shape[1], probability)
    for row in samples:
        observe_sample(estimator, row)
    return estimator


def medians(estimator):
    return np.array([median(estimator, j) for j in range(estimator.heights.shape[1])])


def test_worked_example_of_the_paper():
    estimator = estimate(PAPER_SAMPLES[:, np.newaxis])
    assert median(estimator, 0) == pytest.approx(4.44, abs=0.005)
    assert estimator.positions[:, 0].tolist() == [1, 6, 10, 16, 20]
    np.testing.assert_allclose(estimator.heights[:, 0], [0.02, 0.49, 4.44, 17.20, 38.62], atol=0.005)


@pytest.mark.parametrize("probability", [0.5, 0.1, 0.9])
@pytest.mark.parametrize("n_samples", [1, 2, 3, 4, 5])
def test_up_to_five_samples_give_the_sample_quantile(n_samples, probability):
    samples = np.random.default_rng(n_samples).normal(size=(n_samples, 7))
    expected = np.quantile(samples, probability, axis=0)
    np.testing.assert_allclose(medians(estimate(samples, probability)), expected, rtol=1e-14)


def test_no_samples_give_nan():
    assert np.isnan(median(init_median_estimator(1), 0))


@pytest.mark.parametrize("law", ["normal", "exponential"])
def test_median_is_that_of_the_stored_samples(law):
    n_samples = 4000
    samples = getattr(np.random.default_rng(3), f"standard_{law}")(size=(n_samples, 8))
    # One standard error of a sample median: 1 / (2 density √n).
    density = {"normal": 1 / np.sqrt(2 * np.pi), "exponential": 0.5}[law]
    standard_error = 0.5 / (density * np.sqrt(n_samples))
    found = medians(estimate(samples))
    np.testing.assert_allclose(found, np.median(samples, axis=0), rtol=0, atol=standard_error)
    truth = {"normal": 0.0, "exponential": np.log(2.0)}[law]
    np.testing.assert_allclose(found, truth, rtol=0, atol=4 * standard_error)
    # Negative control: the tolerance tells a median from a mean.
    if law == "exponential":
        assert (np.abs(samples.mean(axis=0) - found) > 4 * standard_error).all()


def test_other_quantiles_are_those_of_the_stored_samples():
    samples = np.random.default_rng(4).normal(size=(4000, 4))
    found = medians(estimate(samples, 0.9))
    np.testing.assert_allclose(found, np.quantile(samples, 0.9, axis=0), rtol=0, atol=0.05)


def test_markers_stay_sorted_and_within_the_range_of_the_samples():
    samples = np.random.default_rng(5).standard_cauchy(size=(500, 3))
    estimator = init_median_estimator(3)
    for n_seen, row in enumerate(samples, start=1):
        observe_sample(estimator, row)
        if n_seen >= 5:
            assert (np.diff(estimator.heights, axis=0) >= 0).all()
            assert (np.diff(estimator.positions, axis=0) >= 1).all()
            assert (estimator.heights[0] == samples[:n_seen].min(axis=0)).all()
            assert (estimator.heights[-1] == samples[:n_seen].max(axis=0)).all()
            assert (estimator.positions[-1] == n_seen).all()


def test_median_moves_and_scales_with_the_samples():
    samples = np.random.default_rng(6).normal(size=(300, 1))
    plain = median(estimate(samples), 0)
    assert median(estimate(1e6 * samples), 0) == pytest.approx(1e6 * plain, rel=1e-9)
    assert median(estimate(samples + 64.0), 0) == pytest.approx(plain + 64.0, rel=1e-9)


def test_equal_samples_give_their_common_value():
    estimator = estimate(np.full((50, 1), 2.5))
    assert estimator.heights[:, 0].tolist() == [2.5] * 5


def test_coordinates_do_not_influence_each_other():
    samples = np.random.default_rng(7).normal(size=(100, 3))
    together = medians(estimate(samples))
    apart = [median(estimate(samples[:, [j]]), 0) for j in range(3)]
    assert together.tolist() == apart


@pytest.mark.parametrize("probability", [0.0, 1.0, np.nan])
def test_a_probability_that_is_no_quantile_is_rejected(probability):
    with pytest.raises(ValueError, match="probability is"):
        init_median_estimator(2, probability)


def test_a_negative_dim_is_rejected():
    with pytest.raises(ValueError, match="dim is -1"):
        init_median_estimator(-1)
