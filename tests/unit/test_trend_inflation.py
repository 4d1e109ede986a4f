"""The trend inflation model against a dense reference, in each of its parameterizations."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from grhmc import datasets
from grhmc.models.trend_inflation import trend_inflation

PARAMETERIZATIONS = ("rescaled", "noncentred", "centred")


@pytest.fixture(scope="module")
def short():
    """Twelve quarters, or 36 coordinates."""
    return datasets.us_inflation()[40:52]


def walk_precision(n: int, p: float) -> np.ndarray:
    difference = np.diff(np.eye(n), axis=0)
    return p * difference.T @ difference + 0.5 * np.eye(n)


def posterior(log_p: float, z: np.ndarray, x: np.ndarray, tau: np.ndarray, y: np.ndarray) -> float:
    """Of the model as it stands, term by term."""

    def log_normal(values: np.ndarray, log_variance: np.ndarray | float) -> float:
        return float(np.sum(-0.5 * log_variance - 0.5 * values**2 * np.exp(-log_variance)))

    walks = log_normal(np.diff(z), -log_p) + log_normal(np.diff(x), -log_p)
    return 5 * log_p - 0.5 * np.exp(log_p) + walks + log_normal(np.diff(tau), z) + log_normal(y - tau, x)


def dense(q: np.ndarray, y: np.ndarray, parameterization: str) -> tuple[float, tuple[np.ndarray, ...]]:
    """Log density and (log_p, z, x, τ) by dense matrices, with the Jacobian of each map."""
    n = len(y)
    log_p, z, x, tau = q[0], q[1:n], q[n : 2 * n], q[2 * n :]
    jacobian = 0.0
    if parameterization == "noncentred":
        s = np.exp(-0.5 * log_p)
        z = np.cumsum(np.r_[z[0], s * z[1:]])
        x = np.cumsum(np.r_[x[0], s * x[1:]])
        tau = np.cumsum(np.r_[tau[0], np.exp(0.5 * z) * tau[1:]])
        jacobian = (2 * n - 3) * np.log(s) + 0.5 * z.sum()
    elif parameterization == "rescaled":
        log_p = log_p / np.sqrt(n + 3.5)
        z_factor, x_factor = (np.linalg.cholesky(walk_precision(k, np.exp(log_p))) for k in (n - 1, n))
        z, x = np.linalg.solve(z_factor.T, z), np.linalg.solve(x_factor.T, x)
        difference = np.diff(np.eye(n), axis=0)
        precision = np.diag(np.exp(-x)) + difference.T @ np.diag(np.exp(-z)) @ difference
        factor = np.linalg.cholesky(precision)
        tau = np.linalg.solve(factor.T, tau) + np.linalg.solve(precision, y * np.exp(-x))
        jacobian = -sum(np.log(np.diag(one)).sum() for one in (z_factor, x_factor, factor))
    return posterior(log_p, z, x, tau, y) + jacobian, (np.array(log_p), z, x, tau)


@pytest.mark.parametrize("parameterization", PARAMETERIZATIONS)
@pytest.mark.parametrize("spread", [0.3, 1.0])
def test_the_density_is_that_of_the_model_with_its_jacobian(short, parameterization, spread):
    model = trend_inflation(short, parameterization)
    points = spread * np.random.default_rng(4).standard_normal((6, model.dim))
    found = np.array([model.evaluate(q)[0] for q in points])
    expected = np.array([dense(q, short, parameterization)[0] for q in points])
    np.testing.assert_allclose(found - found[0], expected - expected[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("parameterization", PARAMETERIZATIONS)
def test_the_variables_are_those_of_the_model(short, parameterization):
    model = trend_inflation(short, parameterization)
    points = np.random.default_rng(5).standard_normal((3, model.dim))
    found = model.constrain(points)
    assert [variable.name for variable in model.variables] == list(found)
    for k, q in enumerate(points):
        for values, expected in zip(found.values(), dense(q, short, parameterization)[1], strict=True):
            np.testing.assert_allclose(values[k], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("parameterization", PARAMETERIZATIONS)
def test_the_gradient_is_that_of_the_density(short, parameterization):
    # Against central differences of the dense reference, so that neither shares a line with the other.
    model = trend_inflation(short, parameterization)
    q = np.random.default_rng(6).standard_normal(model.dim)
    step = 1e-5 * np.eye(model.dim)
    numeric = [
        (dense(q + e, short, parameterization)[0] - dense(q - e, short, parameterization)[0]) / 2e-5 for e in step
    ]
    np.testing.assert_allclose(model.evaluate(q)[1], numeric, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("parameterization", PARAMETERIZATIONS)
def test_gradients_at_full_length_pass_the_check(parameterization):
    model = trend_inflation(datasets.us_inflation(), parameterization)
    assert model.dim == 756
    model.check_gradient(0.3 * np.random.default_rng(7).standard_normal(756))


def test_large_variances_and_precisions_neither_overflow_nor_cancel(short):
    model = trend_inflation(short)
    for first in (-40.0, 40.0):
        q = 0.1 * np.ones(model.dim)
        q[0] = first  # e^l from 4e-5 to 3e4
        log_density, gradient, code = model.evaluate(q)
        assert code == 0
        assert log_density - dense(q, short, "rescaled")[0] == pytest.approx(
            model.evaluate(0 * q)[0] - dense(0 * q, short, "rescaled")[0], abs=1e-6
        )
        assert np.all(np.isfinite(gradient))


def test_a_pickled_copy_is_the_same_model(short):
    for parameterization in PARAMETERIZATIONS:
        model = trend_inflation(short, parameterization)
        copy = pickle.loads(pickle.dumps(model))
        q = np.full(model.dim, 0.2)
        assert copy.evaluate(q)[0] == model.evaluate(q)[0]
        assert copy.coordinate_names == model.coordinate_names


@pytest.mark.parametrize(
    ("y", "parameterization", "message"),
    [
        (np.ones(3), "rescaled", "at least four"),
        (np.array([1.0, 2.0, np.nan, 1.0]), "rescaled", "finite"),
        (np.ones(5), "whitened", "rescaled, noncentred, centred"),
    ],
)
def test_bad_input_is_an_error_with_what_is_accepted(y, parameterization, message):
    with pytest.raises(ValueError, match=message):
        trend_inflation(y, parameterization)
