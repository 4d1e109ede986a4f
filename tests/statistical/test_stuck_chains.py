"""Time series and differential equations from random starts, far out in whose tails chains of every sampler get stuck.

Data are made here, from known parameters. A run is right (every mean is that of a run started at the truth) or warned
of; a chain that stays far out is never averaged in silence.
"""

from __future__ import annotations

import functools
import math
import warnings
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

import grhmc

LARGEST_DEVIATION = 0.5
"""Standard deviations, of a chain's mean: 500 draws are worth 100 or more, so that 0.5 is five standard errors."""

pytestmark = pytest.mark.statistical


@numba.njit(error_model="numpy")
def arma(q, gradient, y):
    """ARMA(1, 1): mu ~ N(0, 10), phi, theta ~ N(0, 2), sigma ~ half-Cauchy(2.5); in mu, phi, theta, log sigma."""
    mu, phi, theta, variance = q[0], q[1], q[2], math.exp(2.0 * q[3])
    cauchy = variance / 6.25
    log_density = -mu * mu / 200.0 - (phi * phi + theta * theta) / 8.0 - math.log1p(cauchy) + q[3]
    gradient[0], gradient[1], gradient[2] = -mu / 100.0, -phi / 4.0, -theta / 4.0
    gradient[3] = 1.0 - 2.0 * cauchy / (1.0 + cauchy)
    error, by_mu, by_phi, by_theta = y[0] - mu * (1.0 + phi), -1.0 - phi, -mu, 0.0
    for t in range(y.size):
        if t > 0:
            previous, previous_mu, previous_phi, previous_theta = error, by_mu, by_phi, by_theta
            error = y[t] - mu - phi * y[t - 1] - theta * previous
            by_mu = -1.0 - theta * previous_mu
            by_phi = -y[t - 1] - theta * previous_phi
            by_theta = -previous - theta * previous_theta
        weight = error / variance
        log_density -= 0.5 * error * weight + q[3]
        gradient[0] -= weight * by_mu
        gradient[1] -= weight * by_phi
        gradient[2] -= weight * by_theta
        gradient[3] += error * weight - 1.0
    return log_density


@numba.njit(error_model="numpy")
def predator_prey_rates(z, rates, sensitivity, change, sensitivity_change):
    """Lotka-Volterra with log populations u, v: u' = a - b exp(v), v' = -c + d exp(u), and derivatives by log rates."""
    prey, predator = math.exp(z[0]), math.exp(z[1])
    change[0] = rates[0] - rates[1] * predator
    change[1] = -rates[2] + rates[3] * prey
    for k in range(6):
        sensitivity_change[0, k] = -rates[1] * predator * sensitivity[1, k]
        sensitivity_change[1, k] = rates[3] * prey * sensitivity[0, k]
    sensitivity_change[0, 0] += rates[0]
    sensitivity_change[0, 1] -= rates[1] * predator
    sensitivity_change[1, 2] -= rates[2]
    sensitivity_change[1, 3] += rates[3] * prey


N_STEPS = 10
"""Of Runge and Kutta's method, per year."""


@numba.njit(error_model="numpy")
def solve_one_year(z, s, rates, work_z, work_s, k_z, k_s):
    step = 1.0 / N_STEPS
    for _ in range(N_STEPS):
        predator_prey_rates(z, rates, s, k_z[0], k_s[0])
        for stage in range(1, 4):
            part = step if stage == 3 else 0.5 * step
            work_z[:] = z + part * k_z[stage - 1]
            work_s[:] = s + part * k_s[stage - 1]
            predator_prey_rates(work_z, rates, work_s, k_z[stage], k_s[stage])
        z += step / 6.0 * (k_z[0] + 2.0 * k_z[1] + 2.0 * k_z[2] + k_z[3])
        s += step / 6.0 * (k_s[0] + 2.0 * k_s[1] + 2.0 * k_s[2] + k_s[3])


PRIOR_MEANS = np.log([0.5, 0.02, 0.5, 0.02, 20.0, 20.0, 0.3, 0.3])
PRIOR_SDS = np.array([0.5, 0.8, 0.5, 0.8, 1.0, 1.0, 0.8, 0.8])


@numba.njit(error_model="numpy")
def lotka_volterra(q, gradient, y, means, sds):
    """Logarithms of four rates, two populations at the start and two error sds; y: log populations, a row per year."""
    log_density = 0.0
    for j in range(8):
        z_score = (q[j] - means[j]) / sds[j]
        log_density -= 0.5 * z_score * z_score
        gradient[j] = -z_score / sds[j]
    rates = np.exp(q[:4])
    z, s = q[4:6].copy(), np.zeros((2, 6))
    s[0, 4] = s[1, 5] = 1.0
    work_z, work_s, k_z, k_s = np.zeros(2), np.zeros((2, 6)), np.zeros((4, 2)), np.zeros((4, 2, 6))
    for year in range(y.shape[0]):
        if year > 0:
            solve_one_year(z, s, rates, work_z, work_s, k_z, k_s)
        for i in range(2):
            scaled = (y[year, i] - z[i]) * math.exp(-q[6 + i])
            log_density -= 0.5 * scaled * scaled + q[6 + i]
            gradient[6 + i] += scaled * scaled - 1.0
            for k in range(6):
                gradient[k] += scaled * math.exp(-q[6 + i]) * s[i, k]
    return log_density


def arma_model() -> tuple[grhmc.LogDensity, np.ndarray]:
    """200 observations, and the parameters that made them."""
    truth = np.array([0.5, 0.7, 0.4, 0.0])
    errors = np.random.default_rng(1).standard_normal(200)
    y = np.zeros(200)
    y[0] = truth[0] * (1.0 + truth[1]) + errors[0]
    for t in range(1, 200):
        y[t] = truth[0] + truth[1] * y[t - 1] + truth[2] * errors[t - 1] + errors[t]
    return grhmc.from_numba(arma, 4, ["mu", "phi", "theta", "log_sigma"], data=(y,)), truth


def lotka_volterra_model() -> tuple[grhmc.LogDensity, np.ndarray]:
    """Twenty years of two populations, and the parameters that made them."""
    truth = np.log([0.55, 0.028, 0.8, 0.024, 33.0, 6.0, 0.25, 0.25])
    rng, z, s = np.random.default_rng(1), truth[4:6].copy(), np.zeros((2, 6))
    work = (np.zeros(2), np.zeros((2, 6)), np.zeros((4, 2)), np.zeros((4, 2, 6)))
    y = np.zeros((20, 2))
    for year in range(20):
        if year > 0:
            solve_one_year(z, s, np.exp(truth[:4]), *work)
        y[year] = z + 0.25 * rng.standard_normal(2)
    return grhmc.from_numba(lotka_volterra, 8, data=(y, PRIOR_MEANS, PRIOR_SDS)), truth


MODELS = {"ARMA(1, 1)": arma_model, "Lotka-Volterra": lotka_volterra_model}


class Reference(NamedTuple):
    """Of a longer run that starts at the truth."""

    model: grhmc.LogDensity
    mean: np.ndarray
    sd: np.ndarray


@functools.cache
def reference(name: str) -> Reference:
    model, truth = MODELS[name]()
    model.check_gradient(truth)
    result = grhmc.sample(model, process="continuous", init=truth, draws=1500, tune=500, seed=99, progress_bar=False)
    assert grhmc.Report.from_json(result.attrs["diagnosis"]).is_healthy
    draws = result["unconstrained_posterior"]["position"].to_numpy()
    return Reference(model, draws.mean(axis=(0, 1)), draws.std(axis=(0, 1)))


def outcome(name: str, process: Any, seed: int) -> str:
    """Of a run from random starts: "right", "wrong", or what it says of itself."""
    model, mean, sd = reference(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", grhmc.SamplingWarning)
        try:
            result = grhmc.sample(model, process=process, seed=seed, draws=500, tune=500, progress_bar=False)
        except grhmc.SamplingError:
            return "error"
    if not grhmc.Report.from_json(result.attrs["diagnosis"]).is_healthy:
        return "warned of"
    draws = result["unconstrained_posterior"]["position"].to_numpy()
    assert np.all(np.isfinite(draws))
    is_right = np.all(np.abs(draws.mean(axis=1) - mean) < LARGEST_DEVIATION * sd)
    return "right" if is_right else "wrong"


@pytest.mark.parametrize("process", ["continuous", "discrete"])
def test_a_time_series_from_starts_where_its_errors_explode_is_mostly_right_and_never_silently_wrong(
    process: Any,
) -> None:
    outcomes = [outcome("ARMA(1, 1)", process, seed) for seed in range(20)]
    assert "wrong" not in outcomes
    assert outcomes.count("right") >= 14


@pytest.mark.nightly
def test_a_predator_and_its_prey_from_any_start_are_never_silently_wrong() -> None:
    """By the continuous process: four runs take minutes, by the discrete one more than ten."""
    outcomes = [outcome("Lotka-Volterra", "continuous", seed) for seed in range(4)]
    assert "wrong" not in outcomes
    assert outcomes.count("right") >= 2


def test_a_chain_elsewhere_would_be_noticed() -> None:
    """Negative control: a reference that is off by a standard deviation."""
    model, mean, sd = reference("ARMA(1, 1)")
    result = grhmc.sample(model, seed=1, draws=500, tune=500, progress_bar=False)
    draws = result["unconstrained_posterior"]["position"].to_numpy()
    assert not np.all(np.abs(draws.mean(axis=1) - mean - sd) < LARGEST_DEVIATION * sd)
