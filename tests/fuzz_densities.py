"""Densities of known answer for the fuzz: of a coordinate the marginal is known, and integrated numerically."""

from __future__ import annotations

import math
from typing import NamedTuple

import numba
import numpy as np

import grhmc

# Kinds of one-dimensional densities.
NORMAL, LOGISTIC, STUDENT, GUMBEL, POWER, TWO_MODES, SCALES, COSINE, EXPONENTIAL, HALF_NORMAL, UNIFORM = range(11)
LOG_GAMMA, SKEW_NORMAL, SMOOTH_LAPLACE, JUMP, LAPLACE, STRETCHED, SHELL, NOISY = range(11, 19)
# Kinds of joint densities.
CORRELATED, FUNNEL, BANANA, JOINT_STUDENT, FAR_MODES, MANY_SCALES = range(6)


@numba.njit(error_model="numpy")
def _log_mixture(first, second):
    """log(exp(first) + exp(second)), and the share of the first."""
    log_density = max(first, second) + math.log1p(math.exp(-abs(first - second)))
    return log_density, math.exp(first - log_density)


@numba.njit(error_model="numpy")
def one_dimensional(x, kind, a, b):
    """A log density up to a constant, and its derivative."""
    value, slope = -0.5 * x * x, -x
    if kind == NORMAL:
        value, slope = -0.5 * (x / a) ** 2, -x / (a * a)
    elif kind == LOGISTIC:
        value, slope = -abs(x) - 2.0 * math.log1p(math.exp(-abs(x))), -math.tanh(0.5 * x)
    elif kind == STUDENT:
        value, slope = -0.5 * (a + 1.0) * math.log1p(x * x / a), -(a + 1.0) * x / (a + x * x)
    elif kind == GUMBEL:
        value, slope = -x - math.exp(-x), -1.0 + math.exp(-x)
    elif kind == POWER:
        value, slope = -(abs(x) ** a), -a * math.copysign(abs(x) ** (a - 1.0), x)
    elif kind == TWO_MODES:
        value, share = _log_mixture(math.log(a) - 0.5 * (x + b) ** 2, math.log(1.0 - a) - 0.5 * (x - b) ** 2)
        slope = -share * (x + b) - (1.0 - share) * (x - b)
    elif kind == SCALES:
        value, share = _log_mixture(math.log(a / b) - 0.5 * (x / b) ** 2, math.log(1.0 - a) - 0.5 * x * x)
        slope = -x * (share / (b * b) + 1.0 - share)
    elif kind == COSINE:
        value, slope = a * math.cos(4.0 * x) - 0.5 * x * x, -4.0 * a * math.sin(4.0 * x) - x
    elif kind == EXPONENTIAL:
        value, slope = (-x, -1.0) if x >= 0.0 else (-math.inf, 0.0)
    elif kind == HALF_NORMAL:
        value, slope = (-0.5 * x * x, -x) if x >= 0.0 else (-math.inf, 0.0)
    elif kind == UNIFORM:
        value, slope = (0.0, 0.0) if abs(x) <= a else (-math.inf, 0.0)
    elif kind == LOG_GAMMA:
        value, slope = a * x - math.exp(x), a - math.exp(x)
    elif kind == SKEW_NORMAL:
        below = 0.5 * math.erfc(-a * x / math.sqrt(2.0))
        value = -0.5 * x * x + math.log(below)
        slope = -x + a * math.exp(-0.5 * a * a * x * x) / (below * math.sqrt(2.0 * math.pi))
    elif kind == SMOOTH_LAPLACE:
        value, slope = -math.sqrt(1.0 + x * x), -x / math.sqrt(1.0 + x * x)
    elif kind == JUMP:
        value, slope = -0.5 * x * x + (a if x > 0.0 else 0.0), -x
    elif kind == LAPLACE:
        value, slope = -abs(x), -math.copysign(1.0, x)
    elif kind == STRETCHED:
        value, slope = -((1.0 + x * x) ** 0.25), -0.5 * x * (1.0 + x * x) ** -0.75
    elif kind == SHELL and a < abs(x) < a + b:
        value, slope = math.nan, math.nan
    elif kind == NOISY:  # as good as random from one point to the next, but repeatable
        value += a * math.sqrt(2.0) * math.sin(1e9 * x)
    return value, slope


@numba.njit(error_model="numpy")
def _log_densities(points, kind, a, b):
    """Of many points."""
    values = np.empty(points.size)
    for i in range(points.size):
        values[i] = one_dimensional(points[i], kind, a, b)[0]
    return values


@numba.njit(error_model="numpy")
def product(q, gradient, kind, a, b):
    """Independent coordinates, all of one kind."""
    log_density = 0.0
    for j in range(q.size):
        value, gradient[j] = one_dimensional(q[j], kind, a, b)
        log_density += value
    return log_density


@numba.njit(error_model="numpy")
def joint(q, gradient, kind, a, b):
    """The first coordinate's marginal is one-dimensional of a known kind; see `DENSITIES`."""
    dim = q.size
    gradient[:] = 0.0
    if kind == CORRELATED:  # an autoregression of N(0, 1), correlation a
        gradient[0], log_density, variance = -q[0], -0.5 * q[0] * q[0], 1.0 - a * a
        for j in range(1, dim):
            z = q[j] - a * q[j - 1]
            log_density -= 0.5 * z * z / variance
            gradient[j] -= z / variance
            gradient[j - 1] += a * z / variance
    elif kind == FUNNEL:
        weight, log_density = math.exp(-q[0]), -0.5 * (q[0] / a) ** 2 - 0.5 * (dim - 1) * q[0]
        gradient[0] = -q[0] / (a * a) - 0.5 * (dim - 1)
        for j in range(1, dim):
            log_density -= 0.5 * weight * q[j] * q[j]
            gradient[0] += 0.5 * weight * q[j] * q[j]
            gradient[j] = -weight * q[j]
    elif kind == BANANA:
        log_density, gradient[0] = -0.5 * q[0] * q[0], -q[0]
        for j in range(1, dim):
            z = q[j] - a * (q[0] * q[0] - 1.0)
            log_density -= 0.5 * z * z
            gradient[j] = -z
            gradient[0] += 2.0 * a * q[0] * z
    elif kind == JOINT_STUDENT:
        radius = 0.0
        for j in range(dim):
            radius += q[j] * q[j]
        log_density = -0.5 * (a + dim) * math.log1p(radius / a)
        for j in range(dim):
            gradient[j] = -(a + dim) * q[j] / (a + radius)
    elif kind == FAR_MODES:
        log_density, gradient[0] = one_dimensional(q[0], TWO_MODES, a, b)
        for j in range(1, dim):
            log_density -= 0.5 * q[j] * q[j]
            gradient[j] = -q[j]
    else:  # MANY_SCALES, sds from a to b
        log_density = 0.0
        for j in range(dim):
            sd = a * (b / a) ** (j / (dim - 1.0))
            log_density -= 0.5 * (q[j] / sd) ** 2
            gradient[j] = -q[j] / (sd * sd)
    return log_density


class Density(NamedTuple):
    """A log density, and the kind and figures of its first coordinate's marginal."""

    function: object
    dim: int
    data: tuple[int, float, float]
    marginal: tuple[int, float, float]

    def model(self) -> grhmc.LogDensity:
        return grhmc.from_numba(self.function, self.dim, data=self.data)  # pyright: ignore[reportArgumentType]


def _product(dim: int, kind: int, a: float = 1.0, b: float = 1.0) -> Density:
    return Density(product, dim, (kind, a, b), (kind, a, b))


def _joint(dim: int, kind: int, a: float, b: float, marginal: tuple[int, float, float]) -> Density:
    return Density(joint, dim, (kind, a, b), marginal)


_STANDARD = (NORMAL, 1.0, 1.0)

DENSITIES: dict[str, Density] = {
    "normal, 1-d": _product(1, NORMAL),
    "normal, 30-d": _product(30, NORMAL),
    "logistic": _product(5, LOGISTIC),
    "quartic": _product(5, POWER, 4.0),
    "eighth power": _product(3, POWER, 8.0),
    "Gumbel": _product(3, GUMBEL),
    "log gamma(0.5)": _product(3, LOG_GAMMA, 0.5),
    "skew normal": _product(5, SKEW_NORMAL, 5.0),
    "smooth Laplace": _product(5, SMOOTH_LAPLACE),
    "autoregression 0.9": _joint(20, CORRELATED, 0.9, 0.0, _STANDARD),
    "autoregression 0.999": _joint(10, CORRELATED, 0.999, 0.0, _STANDARD),
    "sds 1e-3 to 1e3": _joint(20, MANY_SCALES, 1e-3, 1e3, (NORMAL, 1e-3, 1.0)),
    "exponential, 1-d": _product(1, EXPONENTIAL),
    "exponential, 3-d": _product(3, EXPONENTIAL),
    "half normal": _product(2, HALF_NORMAL),
    "box": _product(2, UNIFORM, 1.0),
    "two modes, near": _product(3, TWO_MODES, 0.5, 1.5),
    "two modes, unequal": _product(1, TWO_MODES, 0.7, 2.5),
    "two modes, far": _joint(3, FAR_MODES, 0.5, 4.0, (TWO_MODES, 0.5, 4.0)),
    "mixture of scales": _product(10, SCALES, 0.8, 0.1),
    "mixture of scales, rare": _product(3, SCALES, 0.98, 0.03),
    "cosine": _product(5, COSINE, 1.5),
    "cosine, deep": _product(1, COSINE, 3.0),
    "funnel, mild": _joint(5, FUNNEL, 1.0, 0.0, _STANDARD),
    "funnel": _joint(10, FUNNEL, 3.0, 0.0, (NORMAL, 3.0, 1.0)),
    "banana": _joint(3, BANANA, 1.0, 0.0, _STANDARD),
    "banana, thin": _joint(2, BANANA, 5.0, 0.0, _STANDARD),
    "Cauchy": _product(1, STUDENT, 1.0),
    "t(2)": _product(5, STUDENT, 2.0),
    "t(5)": _product(5, STUDENT, 5.0),
    "multivariate t(3)": _joint(5, JOINT_STUDENT, 3.0, 0.0, (STUDENT, 3.0, 1.0)),
    "stretched exponential": _product(3, STRETCHED),
    "jump of 0.5": _product(2, JUMP, 0.5),
    "jump of 3": _product(1, JUMP, 3.0),
    "Laplace": _product(3, LAPLACE),
    "shell of NaN": _product(2, SHELL, 2.0, 0.2),
    "thin shell of NaN": _product(2, SHELL, 2.5, 0.01),
    "noise of 1e-6": _product(3, NOISY, 1e-6),
    "noise of 0.01": _product(3, NOISY, 0.01),
    "noise of 0.3": _product(1, NOISY, 0.3),
}
"""By name."""


def expectations(density: Density) -> tuple[float, float, float]:
    """Of the first coordinate: a width, and the means of tanh(x / width) and x² / (width² + x²), which always exist."""
    kind, a, b = density.marginal
    width = a if kind == NORMAL else 1.0
    u = np.linspace(-30.0, 30.0, 600_001)
    x = width * np.sinh(u)
    values = _log_densities(x, kind, a, b)
    with np.errstate(over="ignore", invalid="ignore"):
        weights = np.nan_to_num(np.exp(values - np.nanmax(values))) * np.cosh(u)
        z = x / width
        first, second = (np.sum(weights * value) / np.sum(weights) for value in (np.tanh(z), z * z / (1.0 + z * z)))
    return width, float(first), float(second)
