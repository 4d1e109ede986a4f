"""Log densities with gradients of the race's simulated posteriors; `programs/` has the same for Stan.

Logarithms of scales are the coordinates, in the Stan programs too, so that all samplers have the same ones.
"""

from __future__ import annotations

import math

import numba
import numpy as np


@numba.njit(cache=True, error_model="numpy", nogil=True)
def linear_regression(q, grad, rows, y, prior_mean, prior_precision, cauchy_scale):
    """Linear regression, y ~ N(rows·beta, sigma²); q = (beta, log sigma).

    beta has independent normal priors (precision 0: flat); sigma is half-Cauchy, or flat where `cauchy_scale` is 0.
    """
    n, k = rows.shape
    sigma = math.exp(q[k])
    for j in range(k):
        grad[j] = 0.0
    square = 0.0
    for i in range(n):
        residual = y[i]
        for j in range(k):
            residual -= rows[i, j] * q[j]
        square += residual * residual
        for j in range(k):
            grad[j] += rows[i, j] * residual
    precision = 1.0 / (sigma * sigma)
    log_density = (1 - n) * q[k] - 0.5 * square * precision
    grad[k] = 1 - n + square * precision
    for j in range(k):
        deviation = q[j] - prior_mean[j]
        log_density -= 0.5 * prior_precision[j] * deviation * deviation
        grad[j] = grad[j] * precision - prior_precision[j] * deviation
    if cauchy_scale > 0:
        ratio = sigma * sigma / (cauchy_scale * cauchy_scale)
        log_density -= math.log1p(ratio)
        grad[k] -= 2.0 * ratio / (1.0 + ratio)
    return log_density


@numba.njit(cache=True, error_model="numpy", nogil=True)
def latent_poisson(q, grad, precision, counts, log_mean):
    """Latent values q ~ N(0, precision⁻¹), counts ~ Poisson(exp(log_mean + q))."""
    log_density = 0.0
    for i in range(q.size):
        total = 0.0
        for j in range(q.size):
            total += precision[i, j] * q[j]
        log_rate = log_mean + q[i]
        rate = math.exp(log_rate)
        grad[i] = counts[i] - rate - total
        log_density += counts[i] * log_rate - rate - 0.5 * total * q[i]
    return log_density


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _half_normal(log_scale):
    """Log density of a scale ~ half-normal(1) over its logarithm, and the derivative."""
    square = math.exp(2.0 * log_scale)
    return log_scale - 0.5 * square, 1.0 - square


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _hierarchical_prior(q, grad, n_coefficients, head):
    """N(0, 5²) for coefficients, half-normal(1) for scales up to `head`, N(0, 1) for the rest; writes `grad`."""
    log_density = 0.0
    for j in range(n_coefficients):
        grad[j] = -q[j] / 25.0
        log_density -= 0.5 * q[j] * q[j] / 25.0
    for j in range(n_coefficients, head):
        value, grad[j] = _half_normal(q[j])
        log_density += value
    for j in range(head, q.size):
        grad[j] = -q[j]
        log_density -= 0.5 * q[j] * q[j]
    return log_density


@numba.njit(cache=True, error_model="numpy", nogil=True)
def varying_intercepts(q, grad, group, x, u, y):
    """Not centred: y ~ N(mu + gamma·u[group] + s_a·z[group] + beta·x, s_y²), z ~ N(0, 1).

    q = (mu, beta, gamma, log s_a, log s_y, z); mu, beta and gamma ~ N(0, 5²), scales half-normal(1).
    """
    head = 5
    intercept_scale, precision = math.exp(q[3]), math.exp(-2.0 * q[4])
    log_density = _hierarchical_prior(q, grad, 3, head)
    square = 0.0
    for i in range(y.size):
        c = group[i]
        z = q[head + c]
        residual = y[i] - q[0] - q[2] * u[c] - intercept_scale * z - q[1] * x[i]
        square += residual * residual
        slope = residual * precision
        grad[0] += slope
        grad[1] += slope * x[i]
        grad[2] += slope * u[c]
        grad[3] += slope * intercept_scale * z
        grad[head + c] += slope * intercept_scale
    grad[4] += square * precision - y.size
    return log_density - y.size * q[4] - 0.5 * square * precision


@numba.njit(cache=True, error_model="numpy", nogil=True)
def varying_slopes(q, grad, group, x, y):
    """Not centred: y ~ N(mu_a + s_a·z_a[group] + (mu_b + s_b·z_b[group])·x, s_y²), z_a and z_b ~ N(0, 1).

    q = (mu_a, mu_b, log s_a, log s_b, log s_y, z_a, z_b); mu_a and mu_b ~ N(0, 5²), scales half-normal(1).
    """
    head = 5
    n_groups = (q.size - head) // 2
    intercept_scale, slope_scale, precision = math.exp(q[2]), math.exp(q[3]), math.exp(-2.0 * q[4])
    log_density = _hierarchical_prior(q, grad, 2, head)
    square = 0.0
    for i in range(y.size):
        a = head + group[i]
        b = a + n_groups
        residual = y[i] - q[0] - intercept_scale * q[a] - (q[1] + slope_scale * q[b]) * x[i]
        square += residual * residual
        slope = residual * precision
        grad[0] += slope
        grad[1] += slope * x[i]
        grad[2] += slope * intercept_scale * q[a]
        grad[3] += slope * slope_scale * q[b] * x[i]
        grad[a] += slope * intercept_scale
        grad[b] += slope * slope_scale * x[i]
    grad[4] += square * precision - y.size
    return log_density - y.size * q[4] - 0.5 * square * precision


@numba.njit(cache=True, error_model="numpy", nogil=True)
def banana(q, grad, sd, bend):
    """q1 ~ N(0, sd²), q2 ~ N(bend·(q1² - sd²), 1)."""
    residual = q[1] - bend * (q[0] * q[0] - sd * sd)
    precision = 1.0 / (sd * sd)
    grad[0] = -q[0] * precision + 2.0 * bend * q[0] * residual
    grad[1] = -residual
    return -0.5 * (q[0] * q[0] * precision + residual * residual)


def banana_moments(sd: float, bend: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean and sd of `banana`, exactly: the variance of q1² is 2 sd⁴."""
    return np.zeros(2), np.array([sd, math.sqrt(1.0 + 2.0 * bend**2 * sd**4)])
