"""Analytic targets against SciPy, quadrature of their densities, and finite differences."""

import math
import pickle
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import expit, ndtr

from grhmc import datasets
from grhmc.density_pointer import DENSITY_PROTOTYPE
from grhmc.models import analytic, analytic_densities

COVARIANCE = np.array([[2.0, 0.3, -0.5], [0.3, 1.0, 0.2], [-0.5, 0.2, 3.0]])


def normal_grid(target):
    """The plane in units of the target's sd."""
    return lambda a, z: (target.mean[0] + target.sd[0] * a, target.mean[1] + target.sd[1] * z, 1.0)


def heavy_tailed_grid(target):
    """The plane, with points out to 1e5 sd."""
    return lambda a, z: (
        target.mean[0] + target.sd[0] * math.sinh(a),
        target.mean[1] + target.sd[1] * math.sinh(z),
        math.cosh(a) * math.cosh(z),
    )


# Coordinates (a, z) in which the target is about standard normal, with the Jacobian.
GRIDS = {
    "G1": (normal_grid, 8.0, 1e-10),
    "G2": (normal_grid, 8.0, 1e-10),
    "G3": (normal_grid, 8.0, 1e-10),
    "NG1": (heavy_tailed_grid, 12.0, 1e-6),
    "NG2": (lambda _: lambda a, z: (a, a * a + z, 1.0), 9.0, 1e-10),
    "NG3": (lambda _: lambda a, z: (a, a + z, 1.0), 9.0, 1e-10),
    "F1": (lambda _: lambda a, z: (a, z * math.exp(0.75 * a), math.exp(0.75 * a)), 13.0, 1e-10),
    "F2": (lambda _: lambda a, z: (a, z * math.exp(a), math.exp(a)), 13.0, 1e-10),
}


def brute_force_moments(target, grid, half_width, n=241):
    """Mean, E[q²] and E[g²] by the trapezoid rule on the density as the sampler sees it."""
    model = target.log_density()
    function = DENSITY_PROTOTYPE(model.address)
    q, gradient, log_density = np.zeros(2), np.zeros(2), np.zeros(1)
    pointers = (q.ctypes.data, gradient.ctypes.data, log_density.ctypes.data, model.user_data)
    nodes = np.linspace(-half_width, half_width, n)
    sums = np.zeros(7)
    for a in nodes:
        for z in nodes:
            q[0], q[1], jacobian = grid(a, z)
            function(2, *pointers)
            weight = math.exp(log_density[0]) * jacobian
            sums += weight * np.array([1.0, *q, *q**2, *gradient**2])
    return np.split(sums[1:] / sums[0], 3)


@pytest.mark.parametrize("name", GRIDS)
def test_moments_agree_with_brute_force(name):
    target = analytic.paper_target(name)
    make_grid, half_width, tolerance = GRIDS[name]
    mean, mean_square, mean_squared_gradient = brute_force_moments(target, make_grid(target), half_width)
    assert mean == pytest.approx(target.mean, rel=tolerance, abs=tolerance)
    assert mean_square == pytest.approx(target.mean_square, rel=tolerance)
    assert np.sqrt(mean_square - mean**2) == pytest.approx(target.sd, rel=tolerance)
    assert mean_squared_gradient == pytest.approx(target.mean_squared_gradient, rel=tolerance)


def test_the_ten_normals_are_standard():
    target = analytic.paper_target("G4")
    for values in (target.sd, target.mean_square, target.mean_squared_gradient):
        assert np.array_equal(values, np.ones(10))


@pytest.mark.parametrize("name", analytic.PAPER_TARGETS)
def test_gradients_agree_with_finite_differences(name):
    target = analytic.paper_target(name)
    model = target.log_density()
    rng = np.random.default_rng(1)
    for _ in range(10):
        model.check_gradient(target.mean + target.sd * rng.normal(size=target.dim), tolerance=1e-6)


def log_densities(target, q):
    model = target.log_density()
    return np.array([model.evaluate(point)[0] for point in q])


def test_log_densities_agree_with_scipy():
    rng = np.random.default_rng(1)
    mean = np.array([1.0, 2.0, 3.0])
    q = mean + rng.normal(size=(20, 3))

    def differs_by_a_constant(target, expected, q=q):
        return np.ptp(log_densities(target, q) - expected) < 1e-9

    normal: Any = stats.multivariate_normal
    t: Any = stats.multivariate_t
    assert differs_by_a_constant(analytic.gaussian(mean, COVARIANCE), normal.logpdf(q, mean, COVARIANCE))
    assert differs_by_a_constant(analytic.student_t(3.5, mean, COVARIANCE), t.logpdf(q, mean, COVARIANCE, df=3.5))
    sd = np.array([1e-6, 1.0, 1e6])
    q = mean + sd * rng.normal(size=(20, 3))
    assert differs_by_a_constant(analytic.independent_normals(sd, mean), stats.norm.logpdf(q, mean, sd).sum(axis=1), q)


def conditional_cdf(first_density, mean, sd, x):
    """P(q2 <= x) where q2 | q1 ~ N(mean(q1), sd(q1)²), by adaptive quadrature."""
    limits = {"a": -10, "b": 10, "limit": 400, "epsabs": 1e-12}
    joint = integrate.quad(lambda a: first_density(a) * ndtr((x - mean(a)) / sd(a)), **limits)
    return joint[0] / integrate.quad(first_density, **limits)[0]


def double_well(q):
    return math.exp(-((1 - q * q) ** 2))


def normal_density(q):
    return math.exp(-q * q / 2)


def marginal_references(name):
    """Both coordinates' distribution functions, from SciPy."""
    target = analytic.paper_target(name)
    if name.startswith("G"):
        return [stats.norm(m, s).cdf for m, s in zip(target.mean, target.sd, strict=True)]
    if name == "NG1":
        return [stats.t(4, m, s).cdf for m, s in ((1, 2), (2, 3))]
    if name == "NG2":
        return [ndtr, lambda x: conditional_cdf(normal_density, lambda a: a * a, lambda _: 1, x)]
    if name == "NG3":
        total = integrate.quad(double_well, -6, 6)[0]
        return [
            lambda x: integrate.quad(double_well, -6, x)[0] / total,
            lambda x: conditional_cdf(double_well, lambda a: a, lambda _: 1, x),
        ]
    omega = {"F1": 1.5, "F2": 2.0}[name]
    sd = lambda a: math.exp(omega * a / 2)  # noqa: E731
    return [ndtr, lambda x: conditional_cdf(normal_density, lambda _: 0, sd, x)]


@pytest.mark.parametrize("name", analytic.PAPER_TARGETS)
def test_marginal_distributions_agree_with_scipy(name):
    target = analytic.paper_target(name)
    for j, reference in enumerate(marginal_references(name)):
        x = target.mean[j] + target.sd[j] * np.array([-3.0, -1.0, -0.1, 0.0, 0.7, 2.0])
        expected = [reference(value) for value in x]
        assert target.marginals[j](x) == pytest.approx(expected, abs=1e-9)


def test_student_t_without_moments_says_so():
    cauchy = analytic.student_t(1, [0], [[1]])
    assert np.isnan(cauchy.mean[0])
    assert np.isnan(cauchy.sd[0])
    assert np.isinf(analytic.student_t(2, [0], [[1]]).sd[0])
    assert not analytic.student_t(4, [0], [[1]]).finite_fourth_moments


def logistic_reference(design, response, prior_variance, beta):
    margin = np.where(response == 1, 1, -1) * (design @ beta)
    log_density = -np.logaddexp(0, -margin).sum() - 0.5 * beta @ beta / prior_variance
    residual = response - expit(design @ beta)
    return log_density, residual @ design - beta / prior_variance


@pytest.mark.parametrize("n_rows", [0, 1, 127, 128, 129, 532])
@pytest.mark.parametrize("size", [0.0, 1e-3, 1.0, 100.0, 1e4, 1e8])
def test_logistic_regression_is_exact_and_stable(n_rows, size):
    rng = np.random.default_rng(n_rows)
    design = rng.normal(size=(n_rows, 3))
    response = rng.integers(0, 2, n_rows)
    beta = size * rng.normal(size=3)
    model = analytic.logistic_regression(design, response, prior_variance=10.0)
    log_density, gradient, code = model.evaluate(beta)
    expected = logistic_reference(design, response, 10.0, beta)
    assert code == 0
    assert log_density == pytest.approx(expected[0], rel=1e-13, abs=1e-13)
    assert gradient == pytest.approx(expected[1], rel=1e-12, abs=1e-12 * max(1.0, n_rows))


@pytest.mark.parametrize("load", [datasets.pima, datasets.german_credit])
def test_the_papers_regressions_are_right(load):
    data = load()
    model = analytic.logistic_regression(data.design_matrix, data.response, names=data.names)
    assert model.coordinate_names == data.names
    rng = np.random.default_rng(0)
    for _ in range(5):
        beta = rng.normal(size=model.dim)
        expected = logistic_reference(data.design_matrix, data.response, 100.0, beta)
        log_density, gradient, _ = model.evaluate(beta)
        assert log_density == pytest.approx(expected[0], rel=1e-13)
        assert gradient == pytest.approx(expected[1], rel=1e-11, abs=1e-11)
        model.check_gradient(beta)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_logistic_regression_far_out_is_outside_the_support(value):
    model = analytic.logistic_regression(np.ones((5, 2)), np.ones(5))
    assert model.evaluate([value, 0.0])[2] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones(3), [0, 1, 1]), "design_matrix must be a matrix"),
        ((np.full((3, 2), np.nan), [0, 1, 1]), "design_matrix must be a matrix of finite numbers"),
        ((np.ones((3, 2)), [0, 1]), "response must be a vector of 3 zeros and ones"),
        ((np.ones((3, 2)), [0, 1, 2]), "response must be a vector of 3 zeros and ones"),
        ((np.ones((3, 2)), [0, 1, 1], 0.0), "prior_variance must be positive"),
    ],
)
def test_bad_regressions_are_rejected(arguments, message):
    with pytest.raises(ValueError, match=message):
        analytic.logistic_regression(*arguments)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: analytic.gaussian([0, 0], [[1, 2], [2, 1]]), "covariance must be symmetric and"),
        (lambda: analytic.gaussian([0, 0], [[1, 0.5], [0, 1]]), "covariance must be symmetric and"),
        (lambda: analytic.gaussian([0], [[1, 0], [0, 1]]), r"covariance must have shape \(1, 1\)"),
        (lambda: analytic.gaussian([[0]], [[1]]), "mean must be a vector"),
        (lambda: analytic.independent_normals([1, 0]), "sd must be a vector of positive numbers"),
        (lambda: analytic.student_t(0, [0], [[1]]), "degrees_of_freedom must be positive"),
        (lambda: analytic.funnel(math.nan), "omega must be finite"),
        (lambda: analytic.paper_target("G5"), "name must be one of G1, G2"),
    ],
)
def test_bad_targets_are_rejected(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_compiled_densities_come_from_the_disk_cache():
    compile_density = analytic_densities.compile_density.__wrapped__
    compile_density(analytic_densities.smiley)
    assert compile_density(analytic_densities.smiley).cache_hits == 1


def test_targets_and_their_models_pickle():
    target = pickle.loads(pickle.dumps(analytic.paper_target("F1")))
    model = pickle.loads(pickle.dumps(target.log_density()))
    expected = analytic.paper_target("F1").log_density().evaluate([0.3, 0.4])
    assert model.evaluate([0.3, 0.4])[0] == expected[0]
    assert target.marginals[1](np.array([0.0])) == pytest.approx(0.5)
