"""Marginal distribution functions of the analytic targets, by closed form or quadrature.

The trapezoid rule converges geometrically for smooth integrands that vanish at both ends, so the
fixed grids below are exact to rounding.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np

Distribution = Callable[[np.ndarray], np.ndarray]
"""A cumulative distribution function: from an array of values to an array of probabilities."""

_erfc = np.vectorize(math.erfc, otypes=[np.float64])

# An eigenvalue problem each time, and a distribution function is called many times.
_gauss_legendre = functools.cache(np.polynomial.legendre.leggauss)


def normal_cdf(mean: float, sd: float, x: np.ndarray) -> np.ndarray:
    """Distribution function of N(mean, sd²)."""
    return 0.5 * _erfc((mean - np.asarray(x)) / (sd * math.sqrt(2)))


def student_t_cdf(degrees_of_freedom: float, mean: float, scale: float, x: np.ndarray) -> np.ndarray:
    """Distribution function of Student's t with a location and a scale.

    With z = √ν tan θ the density in θ is proportional to cos(θ)^(ν − 1) on (−π/2, π/2); the
    quadrature needs ν ≥ 1 for that to be smooth.
    """
    z = (np.asarray(x, dtype=np.float64) - mean) / scale
    angle = np.arctan(z / math.sqrt(degrees_of_freedom))
    log_constant = (
        math.lgamma((degrees_of_freedom + 1) / 2) - math.lgamma(degrees_of_freedom / 2) - 0.5 * math.log(math.pi)
    )
    nodes, weights = _gauss_legendre(64)
    at = angle[..., np.newaxis] * (nodes + 1) / 2
    integral = 0.5 * angle * (np.cos(at) ** (degrees_of_freedom - 1) @ weights)
    return 0.5 + math.exp(log_constant) * integral


def normal_mixture_cdf(weights: np.ndarray, means: np.ndarray, sds: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Distribution function of a mixture of normals."""
    z = (means - np.asarray(x)[..., np.newaxis]) / (sds * math.sqrt(2))
    return 0.5 * _erfc(z) @ weights


def standard_normal_nodes() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for expectations over N(0, 1)."""
    nodes = np.linspace(-12, 12, 1201)
    weights = np.exp(-0.5 * nodes**2)
    return nodes, weights / weights.sum()


def double_well_nodes() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for expectations over the density ∝ exp(−(1 − q²)²)."""
    nodes = np.linspace(-4, 4, 801)  # the density at 4 is below 1e-97
    weights = np.exp(-((1 - nodes**2) ** 2))
    return nodes, weights / weights.sum()


def double_well_cdf(x: np.ndarray) -> np.ndarray:
    """Distribution function of the density ∝ exp(−(1 − q²)²)."""
    x = np.clip(np.asarray(x, dtype=np.float64), -4, 4)
    nodes, weights = _gauss_legendre(200)

    def integral(upper: np.ndarray) -> np.ndarray:
        at = upper[..., np.newaxis] * (nodes + 1) / 2
        return 0.5 * upper * (np.exp(-((1 - at**2) ** 2)) @ weights)

    return 0.5 + 0.5 * integral(x) / integral(np.asarray(4.0))
