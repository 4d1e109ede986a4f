"""Draws with directions on top of the scale are exact: normals of random rotation, in the coordinates that undo it.

See monte_carlo.py for what counts as wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import grhmc
from exact_expectations import seed_for
from grhmc import Outcome
from grhmc.dynamics.standardization import change_factor, to_parameters
from grhmc.models.analytic import AnalyticTarget, gaussian
from kernel_helpers import make_chains, run_settings
from monte_carlo import Comparison, Expectation, assert_expectations, compare

pytestmark = [pytest.mark.statistical, pytest.mark.filterwarnings("ignore::grhmc.SamplingWarning")]


def rotated(dim: int, condition: float, seed: int = 0) -> AnalyticTarget:
    """A normal whose covariance has eigenvalues from 1 to `condition`, in directions at random."""
    rng = np.random.default_rng([seed, dim])
    vectors = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    covariance = (vectors * np.geomspace(1.0, condition, dim)) @ vectors.T
    return gaussian(rng.normal(size=dim), 0.5 * (covariance + covariance.T), f"rotated{dim}-{condition:g}")


def compare_whitened(positions: np.ndarray, target: AnalyticTarget) -> list[Comparison]:
    """Means, variances and distribution functions along the principal axes, each at its own size."""
    mean, precision = target.parameters
    values, vectors = np.linalg.eigh(precision)
    white = (positions - mean) @ (vectors * np.sqrt(values))
    found = []
    for j in range(target.dim):
        found += [
            Expectation(f"E[w{j}]", lambda w, j=j: w[..., j], 0.0),
            Expectation(f"E[w{j}²]", lambda w, j=j: w[..., j] ** 2, 1.0),
            Expectation(f"E[w{j} w{j + 1}]", lambda w, j=j: w[..., j] * w[..., (j + 1) % target.dim], 0.0),
            Expectation(f"P(|w{j}| < 0.6745)", lambda w, j=j: np.abs(w[..., j]) < 0.6744897501960817, 0.5),
        ]
    return compare(white, found)


@pytest.mark.parametrize("process", ["discrete", "continuous"])
@pytest.mark.parametrize(("dim", "condition"), [(2, 1e2), (2, 1e8), (20, 1e4), (20, 1e8), (100, 1e2), (100, 1e6)])
def test_normals_of_random_rotation(dim: int, condition: float, process: Any) -> None:
    target = rotated(dim, condition)
    model = target.log_density()

    def run(draws: int, seed: int) -> Any:
        return grhmc.sample(
            model, draws=draws, metric="low_rank", process=process, seed=seed, cores=2, progress_bar=False
        )

    def compare_run(result: Any) -> list[Comparison]:
        assert result["tuning"]["metric_rank"].to_numpy().min() > 0
        return compare_whitened(result["unconstrained_posterior"]["position"].to_numpy(), target)

    assert_expectations(
        run,
        compare_run,
        draws=8000 if dim < 100 else 3000,
        seed=seed_for(target.name, process),
        largest_standard_error=0.03,
    )


@pytest.mark.parametrize("scale", ["vari", "isg"])
def test_the_other_tuners_have_directions_too(scale: Any) -> None:
    target = rotated(5, 1e3)
    model = target.log_density()

    def run(draws: int, seed: int) -> Any:
        return grhmc.sample(model, draws=draws, scale=scale, metric="low_rank", seed=seed, cores=2, progress_bar=False)

    def compare_run(result: Any) -> list[Comparison]:
        assert result["tuning"]["metric_rank"].to_numpy().min() > 0
        return compare_whitened(result["unconstrained_posterior"]["position"].to_numpy(), target)

    assert_expectations(run, compare_run, draws=8000, seed=seed_for(target.name, scale), largest_standard_error=0.03)


def sampled_while_the_metric_follows_the_position(target: AnalyticTarget, draws: int, seed: int) -> np.ndarray:
    """After every trajectory Λ depends on where the chain is, though q stays where it is. Shape (4, draws, dim)."""
    model = target.log_density()
    settings = run_settings(dim=target.dim, draws=draws, tune=200, chains=4, seed=seed, process="discrete", scale="geo")
    directions, centre, scale = np.eye(target.dim)[:1], np.zeros(target.dim), np.ones(target.dim)
    found = []
    for chain in make_chains(model, settings):
        point, process, rows = np.empty(target.dim), chain.process, []
        while chain.stage.is_warmup:
            if chain.advance(10_000) == Outcome.WAITING:
                chain.go_on(chain.stage_index + 1)
        while len(rows) < draws:
            chain.advance(1)
            step, standardization = process.step, process.standardization
            to_parameters(standardization, step.position, point)
            rows.append(point.copy())
            stretched = np.array([100.0 if abs(point[0]) > 1.0 else 0.25])
            change_factor(standardization, centre, scale, directions, stretched, step.position, step.stage_forces[0])
        found.append(rows)
    return np.array(found)


def test_a_metric_that_changes_while_sampling_is_caught() -> None:
    # Negative control.
    target = gaussian(np.zeros(2), np.eye(2), "still")
    with pytest.raises(AssertionError, match="wrong by more than"):
        assert_expectations(
            lambda draws, seed: sampled_while_the_metric_follows_the_position(target, draws, seed),
            lambda positions: compare_whitened(positions, target),
            draws=2000,
            largest_standard_error=0.1,
        )


@pytest.mark.parametrize("cores", [1, 2])
def test_the_same_seed_gives_the_same_draws_on_any_number_of_cores(cores: int) -> None:
    model = rotated(20, 1e4).log_density()

    def draws(cores: int) -> np.ndarray:
        result = grhmc.sample(model, draws=50, seed=3, cores=cores, progress_bar=False)
        assert result["tuning"]["metric_rank"].to_numpy().min() > 0
        return result["unconstrained_posterior"]["position"].to_numpy()

    np.testing.assert_array_equal(draws(cores), draws(1))
