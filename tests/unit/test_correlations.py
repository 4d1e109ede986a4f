"""The note on correlations that are left in the coordinates that were sampled in."""

from __future__ import annotations

import numpy as np
import pytest
import xarray

from grhmc.diagnosis.correlations import LARGEST_RATIO, find_correlations


def tuning(
    scale: np.ndarray, directions: np.ndarray | None = None, eigenvalues: np.ndarray | None = None
) -> xarray.Dataset:
    variables: dict = {"scale": (("chain", "unconstrained"), scale[np.newaxis])}
    variables["metric_rank"] = (("chain",), [0 if eigenvalues is None else len(eigenvalues)])
    if directions is not None and eigenvalues is not None:
        variables["metric_directions"] = (("chain", "direction", "unconstrained"), directions[np.newaxis])
        variables["metric_eigenvalues"] = (("chain", "direction"), eigenvalues[np.newaxis])
    return xarray.Dataset(variables)


def draws_of(covariance: np.ndarray, n: int = 500) -> np.ndarray:
    return np.random.default_rng(1).multivariate_normal(np.zeros(len(covariance)), covariance, size=(4, n))


def equicorrelated(dim: int, correlation: float) -> np.ndarray:
    return np.full((dim, dim), correlation) + (1.0 - correlation) * np.eye(dim)


@pytest.mark.parametrize("dim", [2, 20, 100])
def test_independent_coordinates_of_any_scale_are_not_noted(dim):
    sd = np.geomspace(1e-3, 1e3, dim)
    assert find_correlations(draws_of(np.diag(sd**2)), tuning(np.ones(dim)), "auto", "geo") == []


def test_heavy_tails_and_funnels_are_not_noted():
    rng = np.random.default_rng(2)
    neck = 3.0 * rng.standard_normal((4, 1000))
    draws = np.stack([neck, np.exp(0.5 * neck) * rng.standard_normal((4, 1000))], axis=-1)
    assert find_correlations(draws, tuning(np.ones(2)), "auto", "geo") == []


def test_strong_correlations_are_noted_and_not_those_that_the_metric_takes_out():
    covariance = equicorrelated(5, 0.999)
    draws = draws_of(covariance)
    (finding,) = find_correlations(draws, tuning(np.ones(5)), "diagonal", "geo")
    assert finding.code == "correlations"
    assert finding.value is not None
    assert finding.value > LARGEST_RATIO
    assert finding.severity == "note"
    values, vectors = np.linalg.eigh(covariance)
    assert find_correlations(draws, tuning(np.ones(5), vectors.T, values), "auto", "geo") == []


@pytest.mark.parametrize(
    ("metric", "scale", "rank", "said"),
    [
        ("diagonal", "geo", 0, "default"),
        ("auto", "mct", 0, "scale='geo'"),
        ("auto", "geo", 1, "max_rank"),
        ("auto", "geo", 0, "metric='low_rank'"),
        ("", "", 0, "scale='geo'"),
    ],
)
def test_what_to_do_depends_on_the_run(metric, scale, rank, said):
    directions = np.eye(5)[:rank] if rank else None
    of_run = tuning(np.ones(5), directions, np.full(rank, 1.1) if rank else None)
    (finding,) = find_correlations(draws_of(equicorrelated(5, 0.999)), of_run, metric, scale)
    assert said in finding.message


def test_too_few_or_constant_draws_say_nothing():
    assert find_correlations(draws_of(equicorrelated(5, 0.999), 4), tuning(np.ones(5)), "auto", "geo") == []
    assert find_correlations(np.ones((4, 100, 5)), tuning(np.ones(5)), "auto", "geo") == []
    assert find_correlations(draws_of(np.eye(1)), tuning(np.ones(1)), "auto", "geo") == []
