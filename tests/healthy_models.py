"""Models that the sampler is right on, of the kinds that users have: for tests that nothing is warned of.

All data are made here, from known parameters; log densities are in Numba, up to a constant.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numba
import numpy as np

import grhmc
from healthy_series_models import hidden_markov, one_compartment, susceptible_infected

Model = Callable[[], grhmc.LogDensity]


@numba.njit(error_model="numpy")
def normals(q, gradient, sds):
    """Independent normals."""
    log_density = 0.0
    for j in range(q.size):
        z = q[j] / sds[j]
        log_density -= 0.5 * z * z
        gradient[j] = -z / sds[j]
    return log_density


@numba.njit(error_model="numpy")
def radon(q, gradient, y, floor, county, uranium, n_counties):
    """Varying intercepts, non-centred: a, b_floor, b_uranium, log sd of counties, log sd of houses, county effects."""
    sd_county, sd_house = math.exp(q[3]), math.exp(q[4])
    # Half-normal priors of sd 1 on both sds, N(0, 2) on the coefficients.
    log_density = -0.5 * (sd_county * sd_county + sd_house * sd_house) + q[3] + q[4]
    gradient[3], gradient[4] = 1.0 - sd_county * sd_county, 1.0 - sd_house * sd_house
    for k in range(3):
        log_density -= q[k] * q[k] / 8.0
        gradient[k] = -q[k] / 4.0
    for j in range(n_counties):
        z = q[5 + j]
        log_density -= 0.5 * z * z
        gradient[5 + j] = -z
    for i in range(y.size):
        j = county[i]
        effect = sd_county * q[5 + j]
        z = (y[i] - q[0] - q[1] * floor[i] - q[2] * uranium[j] - effect) / sd_house
        log_density -= 0.5 * z * z + q[4]
        weight = z / sd_house
        gradient[0] += weight
        gradient[1] += weight * floor[i]
        gradient[2] += weight * uranium[j]
        gradient[3] += weight * effect
        gradient[4] += z * z - 1.0
        gradient[5 + j] += weight * sd_county
    return log_density


@numba.njit(error_model="numpy")
def radon_slopes(q, gradient, y, floor, county, uranium, n_counties):
    """Varying intercepts and slopes of `floor`, non-centred: as `radon`, then a log sd of slopes, then slopes."""
    n_before = 5 + n_counties
    sd_slope = math.exp(q[n_before])
    residual = np.empty(y.size)
    for i in range(y.size):
        residual[i] = y[i] - sd_slope * q[n_before + 1 + county[i]] * floor[i]
    log_density = radon(q[:n_before], gradient[:n_before], residual, floor, county, uranium, n_counties)
    log_density += q[n_before] - 0.5 * sd_slope * sd_slope
    gradient[n_before] = 1.0 - sd_slope * sd_slope
    for j in range(n_counties):
        z = q[n_before + 1 + j]
        log_density -= 0.5 * z * z
        gradient[n_before + 1 + j] = -z
    sd_county, variance = math.exp(q[3]), math.exp(2.0 * q[4])
    for i in range(y.size):
        j = county[i]
        mean = q[0] + q[1] * floor[i] + q[2] * uranium[j] + sd_county * q[5 + j]
        weight = (residual[i] - mean) / variance
        gradient[n_before] += weight * sd_slope * q[n_before + 1 + j] * floor[i]
        gradient[n_before + 1 + j] += weight * sd_slope * floor[i]
    return log_density


@numba.njit(error_model="numpy")
def linear(q, gradient, y, x):
    """Coefficients with N(0, 2.5) priors, and a log sd with a half-normal prior."""
    n_coefficients = x.shape[1]
    sd = math.exp(q[n_coefficients])
    log_density = q[n_coefficients] - 0.5 * sd * sd
    gradient[n_coefficients] = 1.0 - sd * sd
    for k in range(n_coefficients):
        log_density -= 0.5 * q[k] * q[k] / 6.25
        gradient[k] = -q[k] / 6.25
    for i in range(y.size):
        mean = 0.0
        for k in range(n_coefficients):
            mean += x[i, k] * q[k]
        z = (y[i] - mean) / sd
        log_density -= 0.5 * z * z + q[n_coefficients]
        gradient[n_coefficients] += z * z - 1.0
        for k in range(n_coefficients):
            gradient[k] += z / sd * x[i, k]
    return log_density


@numba.njit(error_model="numpy")
def logistic(q, gradient, y, x, prior_sd):
    """Logistic regression with normal priors."""
    log_density = 0.0
    for k in range(q.size):
        z = q[k] / prior_sd
        log_density -= 0.5 * z * z
        gradient[k] = -z / prior_sd
    for i in range(y.size):
        eta = 0.0
        for k in range(q.size):
            eta += x[i, k] * q[k]
        log_density += y[i] * eta - max(eta, 0.0) - math.log1p(math.exp(-abs(eta)))
        error = y[i] - 1.0 / (1.0 + math.exp(-eta))
        for k in range(q.size):
            gradient[k] += error * x[i, k]
    return log_density


@numba.njit(error_model="numpy")
def gaussian_process(q, gradient, y, squared_distances):
    """Marginal likelihood of a squared-exponential kernel: log sd, log length, log noise, each with a N(0, 1) prior."""
    n = y.size
    variance, length, noise = math.exp(2.0 * q[0]), math.exp(q[1]), math.exp(2.0 * q[2])
    kernel = variance * np.exp(-0.5 * squared_distances / (length * length))
    covariance = kernel + (noise + 1e-10) * np.eye(n)
    factor = np.linalg.cholesky(covariance)
    inverse = np.linalg.inv(covariance)
    weights = inverse @ y
    log_density = -0.5 * (q @ q) - 0.5 * (y @ weights)
    for i in range(n):
        log_density -= math.log(factor[i, i])
    for k in range(3):
        gradient[k] = -q[k]
    for i in range(n):
        for j in range(n):
            slope = 0.5 * (weights[i] * weights[j] - inverse[i, j])
            gradient[0] += slope * 2.0 * kernel[i, j]
            gradient[1] += slope * kernel[i, j] * squared_distances[i, j] / (length * length)
        gradient[2] += 0.5 * (weights[i] * weights[i] - inverse[i, i]) * 2.0 * noise
    return log_density


def _normals(dim: int) -> grhmc.LogDensity:
    return grhmc.from_numba(normals, dim, data=(np.geomspace(1e-3, 1e3, dim),))


def _radon(function: Callable, dim: int) -> grhmc.LogDensity:
    rng, n_counties = np.random.default_rng(11), 85
    sizes = np.minimum(1 + rng.geometric(0.1, n_counties), 80)
    county = np.repeat(np.arange(n_counties), sizes)
    floor = (rng.random(county.size) < 0.2).astype(float)
    uranium = rng.normal(0.0, 0.4, n_counties)
    mean = 1.5 + 0.7 * uranium[county] - 0.7 * floor + rng.normal(0.0, 0.25, n_counties)[county]
    mean += floor * rng.normal(0.0, 0.3, n_counties)[county]
    y = mean + rng.normal(0.0, 0.75, county.size)
    return grhmc.from_numba(function, dim, data=(y, floor, county, uranium, n_counties))


def _predictors(n_rows: int, n_columns: int, rng: np.random.Generator) -> np.ndarray:
    x = rng.standard_normal((n_rows, n_columns)) + 0.5 * rng.standard_normal((n_rows, 1))
    x[:, 0] = 1.0
    return x


def _linear(n_coefficients: int) -> grhmc.LogDensity:
    rng = np.random.default_rng(n_coefficients)
    x = _predictors(5 * n_coefficients, n_coefficients, rng)
    y = x @ rng.normal(0.0, 0.5, n_coefficients) + rng.standard_normal(len(x))
    return grhmc.from_numba(linear, n_coefficients + 1, data=(y, x))


def _logistic(n_coefficients: int) -> grhmc.LogDensity:
    rng = np.random.default_rng(n_coefficients)
    x = _predictors(10 * n_coefficients, n_coefficients, rng)
    chance = 1.0 / (1.0 + np.exp(-x @ rng.normal(0.0, 0.5, n_coefficients)))
    return grhmc.from_numba(logistic, n_coefficients, data=((rng.random(len(x)) < chance).astype(float), x, 2.5))


def _separated() -> grhmc.LogDensity:
    """All of one kind have a larger first predictor than all of the other: only the prior keeps its coefficient."""
    rng = np.random.default_rng(5)
    x = _predictors(60, 5, rng)
    y = (np.arange(60) < 30).astype(float)
    x[:, 1] = np.abs(x[:, 1]) * np.where(y > 0.0, 1.0, -1.0)
    return grhmc.from_numba(logistic, 5, data=(y, x, 2.5))


def _gaussian_process() -> grhmc.LogDensity:
    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(0.0, 6.0, 25))
    y = np.sin(x) + rng.normal(0.0, 0.3, x.size)
    return grhmc.from_numba(gaussian_process, 3, data=(y, (x[:, None] - x[None, :]) ** 2))


HEALTHY: dict[str, Model] = {
    "N(0, I_100)": lambda: grhmc.from_numba(normals, 100, data=(np.ones(100),)),
    "100 normals, sds 1e-3 to 1e3": lambda: _normals(100),
    "500 normals, sds 1e-3 to 1e3": lambda: _normals(500),
    "radon, varying intercepts": lambda: _radon(radon, 90),
    "radon, varying slopes": lambda: _radon(radon_slopes, 176),
    "linear regression, 10 coefficients": lambda: _linear(10),
    "linear regression, 30 coefficients": lambda: _linear(30),
    "linear regression, 100 coefficients": lambda: _linear(100),
    "logistic regression, 10 coefficients": lambda: _logistic(10),
    "logistic regression, 50 coefficients": lambda: _logistic(50),
    "separated logistic regression": _separated,
    "Gaussian process": _gaussian_process,
    "hidden Markov model": hidden_markov,
    "SIR epidemic": susceptible_infected,
    "one compartment": one_compartment,
}
"""Models by name."""
