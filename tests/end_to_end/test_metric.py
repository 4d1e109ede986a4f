"""Directions on top of the scale, as a user meets them: arguments, results, time averages, other samplers."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest

import grhmc
from grhmc.models.analytic import gaussian, independent_normals
from grhmc.run.cross_chain import adapt_across_chains
from kernel_helpers import make_chains, run_settings

RNG = np.random.default_rng(11)
VECTORS = np.linalg.qr(RNG.normal(size=(4, 4)))[0]
COVARIANCE = (VECTORS * np.geomspace(1.0, 1e4, 4)) @ VECTORS.T
TARGET = gaussian([1.0, -2.0, 0.0, 5.0], 0.5 * (COVARIANCE + COVARIANCE.T), "rotated")
MODEL = TARGET.log_density()


def sample(model: Any = MODEL, **settings: Any) -> Any:
    return grhmc.sample(model, **{"draws": 500, "seed": 4, "progress_bar": False, **settings})


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"metric": "dense"}, "metric must be one of 'auto', 'diagonal', 'low_rank'"),
        ({"metric": "low_rank", "scale": "mct"}, "scale is 'mct'"),
        ({"metric": "low_rank", "scale": [1.0, 1.0, 1.0, 1.0]}, "needs a scale that is tuned from moments"),
        ({"max_rank": 0}, "max_rank must be at least 1|max_rank must be 1 or more"),
        ({"metric": "diagonal", "max_rank": 3}, "has no directions"),
    ],
)
def test_what_is_not_accepted_is_said(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        sample(**arguments)


def test_what_was_found_is_in_the_result() -> None:
    result = sample()
    tuning = result["tuning"]
    assert result.attrs["metric"] == "auto"
    k = int(tuning["metric_rank"].to_numpy()[0])
    assert k > 0
    assert tuning["metric_eigenvalues"].shape == (4, k)
    assert tuning["metric_directions"].dims == ("chain", "direction", "unconstrained")
    directions = tuning["metric_directions"].to_numpy()[0]
    np.testing.assert_allclose(directions @ directions.T, np.eye(k), atol=1e-8)
    ranks = tuning["history_metric_rank"].to_numpy()[0]
    assert ranks[0] == 0
    assert ranks.max() >= k
    assert float(tuning["history_largest_eigenvalue"].max()) > float(tuning["history_smallest_eigenvalue"].min())
    statistics = result["sample_stats"]
    assert float(statistics["n_gradients"].mean()) < 5.0


def test_a_diagonal_metric_has_none_and_costs_more() -> None:
    diagonal, low_rank = sample(metric="diagonal"), sample(metric="low_rank")
    assert not diagonal["tuning"]["metric_rank"].to_numpy().any()
    assert "metric_directions" not in diagonal["tuning"]
    n_gradients = [int(result["sample_stats"]["n_gradients"].sum()) for result in (diagonal, low_rank)]
    assert n_gradients[0] > 3 * n_gradients[1]


def test_max_rank_is_the_most() -> None:
    assert sample(max_rank=1)["tuning"]["metric_rank"].to_numpy().max() == 1


@pytest.mark.parametrize("scale", ["mct", "identity"])
def test_auto_stays_diagonal_with_scales_that_have_no_directions(scale: Any) -> None:
    assert not sample(scale=scale, draws=20, diagnose=False)["tuning"]["metric_rank"].to_numpy().any()


def test_independent_parameters_get_no_directions() -> None:
    result = sample(independent_normals([1.0, 0.01, 100.0]).log_density())
    assert not result["tuning"]["metric_rank"].to_numpy().any()


def test_tune_gives_the_covariance_to_other_samplers() -> None:
    tuned = grhmc.tune(MODEL, metric="low_rank", seed=2, progress_bar=False)
    assert tuned.directions.shape == (len(tuned.eigenvalues), 4)
    ratio = np.linalg.eigvals(np.linalg.solve(TARGET.parameters[1], np.linalg.inv(tuned.covariance()))).real
    assert ratio.max() / ratio.min() < 2.5  # what is left to the scale alone is less than 3/2 on either side
    diagonal = grhmc.tune(MODEL, metric="diagonal", seed=2, progress_bar=False)
    np.testing.assert_allclose(diagonal.covariance(), np.diag(diagonal.scale**2))


def product(q, output):
    output[0] = q[0] * q[1]


@pytest.mark.parametrize("process", ["discrete", "continuous"])
def test_time_averages_are_those_of_the_parameters(process: Any) -> None:
    functions = grhmc.path_functions_from_numba(numba.njit(product), 4, ["product"])
    result = sample(process=process, draws=4000, path_functions=functions)
    assert result["tuning"]["metric_rank"].to_numpy().min() > 0
    mean, covariance = TARGET.mean, np.linalg.inv(TARGET.parameters[1])
    exact = {
        "position": mean,
        "position_squared": mean**2 + np.diag(covariance),
        "functions": np.array([mean[0] * mean[1] + covariance[0, 1]]),
    }
    for name, value in exact.items():
        averages = result["time_average"][name].to_numpy()
        averages = averages.reshape(-1, averages.shape[-1])
        error = averages.std(axis=0, ddof=1) / np.sqrt(len(averages))
        assert np.all(np.abs(averages.mean(axis=0) - value) < 4.5 * error), name


def test_a_saved_chain_goes_on_with_its_directions() -> None:
    settings = run_settings(dim=4, draws=200, tune=200, chains=1, scale="geo", process="discrete", seed=5)
    (chain,) = make_chains(MODEL, settings)
    while chain.stage.is_warmup:
        if chain.advance(1000) == grhmc.Outcome.WAITING:
            adapt_across_chains([chain])
    assert chain.process.standardization.rank[0] > 0
    (other,) = make_chains(MODEL, settings)
    other.restore(chain.to_arrays())
    for one in (chain, other):
        while one.advance(1000) == grhmc.Outcome.RUNNING:
            pass
    np.testing.assert_array_equal(chain.record().draws, other.record().draws)
