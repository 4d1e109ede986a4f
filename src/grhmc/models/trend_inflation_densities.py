"""The C functions of the trend inflation model, in three parameterizations; `trend_inflation` makes models of them.

Each reads the observations y_1 .. y_T from the user pointer, T = dim / 3. The posterior, up to a constant:

    5 l − e^l / 2 + (T − 3/2) l − e^l / 2 [Σ (x_t − x_{t−1})² + Σ (z_t − z_{t−1})²]
        − 1/2 Σ [x_t + (y_t − τ_t)² e^{−x_t}] − 1/2 Σ [z_t + (τ_{t+1} − τ_t)² e^{−z_t}]

Like those of `analytic_densities`, each is self-contained, so that it can be cached on disk.
"""

from __future__ import annotations

import math

import numpy as np
from numba.np.numpy_support import carray

SHAPE_OF_PRECISION = 5.0
"""e^l has a gamma prior with this shape and rate 1/2."""


def rescaled(dim, q_pointer, gradient_pointer, log_density_pointer, parameters):
    """Coordinates (l √(T + 7/2), z̄, x̄, τ̄): each vector whitened by the Cholesky factor of an approximate precision.

    With p = e^l: z = L⁻ᵀ z̄, where L Lᵀ = p D'D + I/2 and D takes differences; x likewise. τ given x, z and y is
    normal with a tridiagonal precision P; τ̄ are its residuals, whitened, so that they are standard normal and
    independent of the rest, and what is left is the posterior of (l, z, x) without τ.

    Nothing is subtracted that could cancel: pivots are those of an information filter, u_{t+1} = c + p u_t / (p + u_t),
    and P's quadratic form is a sum of squares at its smoothed means. These minimize it, so that its gradient is the one
    with the means held fixed; the gradient of log det P has the smoothed variances.
    """
    n = dim // 3
    q = carray(q_pointer, (dim,))
    gradient = carray(gradient_pointer, (dim,))
    y = carray(parameters, (n,), np.float64)
    work = np.empty(10 * n)  # the only allocation; the gradient's own memory holds z's and x's direct gradient
    ratio, slope, root = work[:n], work[n : 2 * n], work[2 * n : 3 * n]
    z, x = work[3 * n : 4 * n], work[4 * n : 5 * n]
    weight, precision = work[5 * n : 6 * n], work[6 * n : 7 * n]
    filtered, inverse, complement = work[7 * n : 8 * n], work[8 * n : 9 * n], work[9 * n :]
    z_bar, x_bar, tau_bar = q[1:n], q[n : 2 * n], q[2 * n :]
    z_gradient, x_gradient = gradient[1:n], gradient[n : 2 * n]

    unit = 1.0 / math.sqrt(n + 3.5)
    log_precision = unit * q[0]
    p = math.exp(log_precision)

    # Pivots d = p + u_t of p D'D + I/2: p / d, the derivative of log d in p, and d to the -1/2. A vector's last is u.
    u, du = 0.5, 0.0
    product, log_determinants, log_slope = 1.0, 0.0, 0.0
    last_of_z, slope_of_z = 0.5, 0.0
    for t in range(n - 1):
        if t == n - 2:  # inside x, last of z
            last_of_z, slope_of_z = u, du / u
        d = p + u
        inverse_pivot = 1.0 / d
        ratio[t] = p * inverse_pivot
        slope[t] = (1.0 + du) * inverse_pivot
        root[t] = math.sqrt(inverse_pivot)
        share = u * inverse_pivot
        product *= d * d if t < n - 2 else d * last_of_z
        log_slope += 2.0 * slope[t] if t < n - 2 else slope[t] + slope_of_z
        if not 1e-100 < product < 1e100:
            log_determinants += math.log(product)
            product = 1.0
        u, du = 0.5 + p * share, share * share + ratio[t] * ratio[t] * du
    last_of_x, slope_of_x = u, du / u
    log_slope += slope_of_x
    log_determinants += math.log(product * last_of_x)

    # x and z, from their last entry backwards.
    x[n - 1] = x_bar[n - 1] / math.sqrt(last_of_x)
    for t in range(n - 2, -1, -1):
        x[t] = x_bar[t] * root[t] + ratio[t] * x[t + 1]
    z[n - 2] = z_bar[n - 2] / math.sqrt(last_of_z)
    for t in range(n - 3, -1, -1):
        z[t] = z_bar[t] * root[t] + ratio[t] * z[t + 1]

    # τ's filter: information v and mean.
    total = 0.0
    for t in range(n):
        precision[t] = math.exp(-x[t])
        total += x[t]
    for t in range(n - 1):
        weight[t] = math.exp(-z[t])
        total += z[t]
    log_density = (n + 3.5) * log_precision - 0.5 * (p + total)
    information, filtered[0] = precision[0], y[0]
    product = 1.0
    for t in range(n - 1):
        d = information + weight[t]
        product *= d
        if not 1e-100 < product < 1e100:
            log_determinants += math.log(product)
            product = 1.0
        inverse[t] = 1.0 / d
        complement[t] = information * inverse[t]
        information = precision[t + 1] + weight[t] * complement[t]
        filtered[t + 1] = filtered[t] + precision[t + 1] / information * (y[t + 1] - filtered[t])
    log_determinants += math.log(product * information)
    log_density -= 0.5 * log_determinants

    # τ's smoother, with the gradient that x and z have directly.
    mean, variance, square = filtered[n - 1], 1.0 / information, 0.0
    residual = y[n - 1] - mean
    square += precision[n - 1] * residual * residual
    x_gradient[n - 1] = 0.5 * (precision[n - 1] * (variance + residual * residual) - 1.0)
    for t in range(n - 2, -1, -1):
        gain = weight[t] * inverse[t]
        change = complement[t] * (mean - filtered[t])
        of_change = inverse[t] + complement[t] * complement[t] * variance
        mean = filtered[t] + gain * (mean - filtered[t])
        variance = inverse[t] + gain * gain * variance
        residual = y[t] - mean
        square += weight[t] * change * change + precision[t] * residual * residual
        z_gradient[t] = 0.5 * (weight[t] * (of_change + change * change) - 1.0)
        x_gradient[t] = 0.5 * (precision[t] * (variance + residual * residual) - 1.0)
    for t in range(n):
        square += tau_bar[t] * tau_bar[t]
        gradient[2 * n + t] = -tau_bar[t]

    # The random walks.
    steps = 0.0
    for t in range(n - 1):
        step = x[t + 1] - x[t]
        steps += step * step
        x_gradient[t] += p * step
        x_gradient[t + 1] -= p * step
    for t in range(n - 2):
        step = z[t + 1] - z[t]
        steps += step * step
        z_gradient[t] += p * step
        z_gradient[t + 1] -= p * step
    log_density_pointer[0] = log_density - 0.5 * (square + p * steps)

    # Back through z = L⁻ᵀ z̄ and x = L⁻ᵀ x̄.
    through = -0.5 * log_slope
    adjoint = 0.0
    for t in range(n - 1):
        adjoint = x_gradient[t] + (ratio[t - 1] * adjoint if t > 0 else 0.0)
        of_ratio = root[t] * root[t] - ratio[t] * slope[t]
        through += adjoint * (x[t + 1] * of_ratio - 0.5 * x_bar[t] * root[t] * slope[t])
        x_gradient[t] = adjoint * root[t]
    adjoint = x_gradient[n - 1] + ratio[n - 2] * adjoint
    through -= 0.5 * adjoint * x[n - 1] * slope_of_x
    x_gradient[n - 1] = adjoint / math.sqrt(last_of_x)
    adjoint = 0.0
    for t in range(n - 2):
        adjoint = z_gradient[t] + (ratio[t - 1] * adjoint if t > 0 else 0.0)
        of_ratio = root[t] * root[t] - ratio[t] * slope[t]
        through += adjoint * (z[t + 1] * of_ratio - 0.5 * z_bar[t] * root[t] * slope[t])
        z_gradient[t] = adjoint * root[t]
    adjoint = z_gradient[n - 2] + ratio[n - 3] * adjoint
    through -= 0.5 * adjoint * z[n - 2] * slope_of_z
    z_gradient[n - 2] = adjoint / math.sqrt(last_of_z)
    gradient[0] = unit * (n + 3.5 + p * (through - 0.5 - 0.5 * steps))
    return 0


def noncentred(dim, q_pointer, gradient_pointer, log_density_pointer, parameters):
    """Coordinates (l, z, x, τ), the vectors by their first entry and standard normal increments."""
    n = dim // 3
    q = carray(q_pointer, (dim,))
    gradient = carray(gradient_pointer, (dim,))
    y = carray(parameters, (n,), np.float64)
    work = np.empty(3 * n)
    deviation, residual, scaled = work[:n], work[n : 2 * n], work[2 * n :]
    s = math.exp(-0.5 * q[0])
    square, total = 0.0, 0.0
    z, tau = q[1], q[2 * n]
    for t in range(n):
        if t > 0:
            # z is that of the step from t - 1 to t.
            deviation[t - 1] = math.exp(0.5 * z)
            tau += deviation[t - 1] * q[2 * n + t]
            square += q[2 * n + t] * q[2 * n + t]
            if t < n - 1:
                z += s * q[1 + t]
                square += q[1 + t] * q[1 + t]
        residual[t] = y[t] - tau
    x = q[n]
    for t in range(n):
        if t > 0:
            x += s * q[n + t]
            square += q[n + t] * q[n + t]
        total += x
        scaled[t] = residual[t] * math.exp(-x)
        square += scaled[t] * residual[t]
    log_density_pointer[0] = SHAPE_OF_PRECISION * q[0] - 0.5 * (math.exp(q[0]) + total + square)

    # Backwards: the sums over all later entries.
    of_x, of_z, of_tau, of_s = 0.0, 0.0, 0.0, 0.0
    for t in range(n - 1, -1, -1):
        of_x += 0.5 * (scaled[t] * residual[t] - 1.0)
        if t < n - 1:
            of_z += 0.5 * deviation[t] * q[2 * n + t + 1] * of_tau
            if t > 0:
                of_s += of_z * q[1 + t]
                gradient[1 + t] = s * of_z - q[1 + t]
        of_tau += scaled[t]
        if t > 0:
            of_s += of_x * q[n + t]
            gradient[n + t] = s * of_x - q[n + t]
            gradient[2 * n + t] = deviation[t - 1] * of_tau - q[2 * n + t]
    gradient[1], gradient[n], gradient[2 * n] = of_z, of_x, of_tau
    gradient[0] = SHAPE_OF_PRECISION - 0.5 * math.exp(q[0]) - 0.5 * s * of_s
    return 0


def centred(dim, q_pointer, gradient_pointer, log_density_pointer, parameters):
    """Coordinates (l, z, x, τ) as they stand."""
    n = dim // 3
    q = carray(q_pointer, (dim,))
    gradient = carray(gradient_pointer, (dim,))
    y = carray(parameters, (n,), np.float64)
    z, x, tau = q[1:n], q[n : 2 * n], q[2 * n :]
    z_gradient, x_gradient, tau_gradient = gradient[1:n], gradient[n : 2 * n], gradient[2 * n :]
    p = math.exp(q[0])
    total, square, steps = 0.0, 0.0, 0.0
    for t in range(n):
        scaled = (y[t] - tau[t]) * math.exp(-x[t])
        square += scaled * (y[t] - tau[t])
        total += x[t]
        tau_gradient[t] = scaled
        x_gradient[t] = 0.5 * (scaled * (y[t] - tau[t]) - 1.0)
    for t in range(n - 1):
        change = tau[t + 1] - tau[t]
        scaled = change * math.exp(-z[t])
        square += scaled * change
        total += z[t]
        tau_gradient[t] += scaled
        tau_gradient[t + 1] -= scaled
        z_gradient[t] = 0.5 * (scaled * change - 1.0)
    for t in range(n - 1):
        step = x[t + 1] - x[t]
        steps += step * step
        x_gradient[t] += p * step
        x_gradient[t + 1] -= p * step
    for t in range(n - 2):
        step = z[t + 1] - z[t]
        steps += step * step
        z_gradient[t] += p * step
        z_gradient[t + 1] -= p * step
    log_density_pointer[0] = (n + 3.5) * q[0] - 0.5 * (p * (1.0 + steps) + total + square)
    gradient[0] = n + 3.5 - 0.5 * p * (1.0 + steps)
    return 0
