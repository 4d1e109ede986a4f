"""Paths of the splitting are tested by Metropolis while sampling: what it removes is there without it."""

from __future__ import annotations

import numpy as np
import pytest

import grhmc
from grhmc.settings import RunSettings

pytestmark = [pytest.mark.statistical, pytest.mark.filterwarnings("ignore::grhmc.SamplingWarning")]

N_EFFECTS = 8


def normal_with_a_step(q, gradient):
    """A standard normal, e times as dense above 0 as below: the gradient does not show it."""
    gradient[0] = -q[0]
    return -0.5 * q[0] * q[0] + (1.0 if q[0] > 0.0 else 0.0)


def scale_of_many(q, gradient):
    """A normal s ~ N(0, 1), and eight effects N(0, exp(s/2)²): all of them are stiff, or none is."""
    precision = np.exp(-q[0])
    gradient[0] = -q[0] - 0.5 * N_EFFECTS
    log_density = -0.5 * q[0] * q[0] - 0.5 * N_EFFECTS * q[0]
    for k in range(1, q.shape[0]):
        gradient[k] = -precision * q[k]
        square = 0.5 * precision * q[k] * q[k]
        gradient[0] += square
        log_density -= square
    return log_density


STEP = grhmc.from_numba(normal_with_a_step, 1)
SCALE = grhmc.from_numba(scale_of_many, 1 + N_EFFECTS)


def draws_of_first(model, draws, **arguments):
    """Chains by draws of the first coordinate, and how many paths were rejected."""
    settings = {"process": "continuous", "draws": draws, "cores": 2, "progress_bar": False, "check_gradient": False}
    result = grhmc.sample(model, **(settings | arguments))
    first = result["unconstrained_posterior"]["position"].to_numpy()[:, :, 0]
    return first, int(result["tuning"]["n_rejected_paths"].to_numpy().sum())


def mean_and_error(values, n_batches=20):
    """Of all draws together; from the means of long batches within chains."""
    means = np.array([batch.mean() for chain in values for batch in np.array_split(chain, n_batches)])
    return means.mean(), means.std(ddof=1) / np.sqrt(len(means))


def without_test(monkeypatch):
    monkeypatch.setattr(RunSettings, "tests_paths", False)


def test_a_step_of_the_density_that_the_gradient_does_not_show_is_sampled_all_the_same():
    draws, n_non_finite = draws_of_first(STEP, 10_000, seed=1)
    share, error = mean_and_error(draws > 0.0)
    # A draw within the very step that crosses is tested by an energy between those of the step's ends.
    assert share == pytest.approx(np.e / (1.0 + np.e), abs=0.03 + 4.0 * error)
    assert error < 0.005
    assert n_non_finite > 0


def test_without_the_test_of_paths_such_a_step_is_not_seen(monkeypatch):
    without_test(monkeypatch)
    draws, n_non_finite = draws_of_first(STEP, 10_000, seed=1)
    share, error = mean_and_error(draws > 0.0)
    assert share == pytest.approx(0.5, abs=4.0 * error)
    assert n_non_finite == 0


def test_the_scale_of_many_effects_is_right_even_at_a_loose_tolerance():
    draws, _ = draws_of_first(SCALE, 150_000, seed=5, process=grhmc.Continuous(tolerance=0.1))
    mean, error = mean_and_error(draws)
    assert error < 0.0075
    assert abs(mean) < 0.02 + 4.0 * error


def test_without_the_test_of_paths_the_scale_of_many_effects_is_too_large(monkeypatch):
    without_test(monkeypatch)
    draws, _ = draws_of_first(SCALE, 150_000, seed=5, process=grhmc.Continuous(tolerance=0.1))
    mean, error = mean_and_error(draws)
    assert mean > 0.05 + 4.0 * error


@pytest.mark.parametrize(
    "arguments",
    [
        {"integrator": "rkn43"},
        {"refreshment": 0.5},
        {"event_rate_kind": "arc_length"},
        {"warmup": grhmc.PaperWarmup(time_factor=0.02)},
    ],
)
def test_paths_are_not_tested_where_that_would_not_be_right_or_not_as_published(arguments):
    _, n_non_finite = draws_of_first(STEP, 200, tune=100, seed=3, process=grhmc.Continuous(**arguments))
    assert n_non_finite == 0
