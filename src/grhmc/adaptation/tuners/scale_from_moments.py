"""The scale tuners by number and name, and what those from moments of position and gradient have in common."""

from __future__ import annotations

import numpy as np

from grhmc._jit import kernel
from grhmc.adaptation.tuners.geo import geo_scale
from grhmc.adaptation.tuners.isg import isg_scale
from grhmc.adaptation.tuners.moments import RunningMoments, init_moments, merged_mean_and_variance
from grhmc.adaptation.tuners.vari import vari_scale

FIXED = 0
VARI = 1
ISG = 2
GEO = 3
MCT = 4

SCALE_TUNERS = {"vari": VARI, "isg": ISG, "geo": GEO, "mct": MCT}
"""Tuners by the name a user gives."""

_ROUNDING = 1e-12
# A gradient that varies by less than a millionth of its mean varies by rounding alone: a log density linear in that
# coordinate, with an edge to hold it (an exponential, say). Its variance then says nothing about the scale.

LARGEST_MEAN_GRADIENT = 3.0
"""In standard deviations of the gradient. One that varies by less beside its mean is that of a log density that is
nearly linear where the chain has been, as in the left tail of the logarithm of a standard deviation. How little it
varies there says nothing about how far the mass reaches."""


@kernel
def scale_from_moments(kind: int, position_variance: float, squared_gradient: float) -> float:
    """One coordinate's scale by one of the tuners from moments, each of which has a file of its own."""
    if kind == VARI:
        return vari_scale(position_variance, squared_gradient)
    if kind == ISG:
        return isg_scale(position_variance, squared_gradient)
    return geo_scale(position_variance, squared_gradient)


@kernel
def propose_from_moments(
    kind: int,
    centred_gradient: bool,
    previous: RunningMoments,
    current: RunningMoments,
    new_centre: np.ndarray,
    new_scale: np.ndarray,
) -> None:
    """Write the centre and scale that two windows suggest together.

    With `centred_gradient` the mean gradient is subtracted. It is zero under the target, but far from zero while a
    chain is still on its way into the bulk, where it would make the scales far too small. What is left is taken to be
    at least the mean over `LARGEST_MEAN_GRADIENT`. Where it is nothing but rounding, the coordinate's variance decides
    alone.
    """
    for k in range(new_centre.shape[0]):
        mean, variance = merged_mean_and_variance(
            previous.weights[0],
            previous.position_mean[k],
            previous.position_spread[k],
            current.weights[0],
            current.position_mean[k],
            current.position_spread[k],
        )
        gradient_mean, gradient_variance = merged_mean_and_variance(
            previous.weights[1],
            previous.gradient_mean[k],
            previous.gradient_spread[k],
            current.weights[1],
            current.gradient_mean[k],
            current.gradient_spread[k],
        )
        squared_mean = gradient_mean * gradient_mean
        is_flat = gradient_variance <= _ROUNDING * squared_mean
        if centred_gradient:
            squared_gradient = max(gradient_variance, squared_mean / LARGEST_MEAN_GRADIENT**2)
        else:
            squared_gradient = gradient_variance + squared_mean
        new_centre[k] = mean
        new_scale[k] = scale_from_moments(VARI if centred_gradient and is_flat else kind, variance, squared_gradient)


def proposal(kind: int, centred_gradient: bool, moments: RunningMoments) -> tuple[np.ndarray, np.ndarray]:
    """The centre and scale that one window suggests alone, shape (dim,) each."""
    centre, scale = np.zeros_like(moments.position_mean), np.zeros_like(moments.position_mean)
    propose_from_moments(kind, centred_gradient, init_moments(len(centre)), moments, centre, scale)
    return centre, scale


@kernel
def clamp_scale(scale: np.ndarray, largest_change: float, new_scale: np.ndarray) -> None:
    """Keep each new scale within a factor `largest_change` of the present one; updates `new_scale`.

    A scale that is not a positive number (a coordinate whose gradient vanishes, say) stays as it is.
    """
    for k in range(scale.shape[0]):
        if np.isfinite(new_scale[k]) and new_scale[k] > 0.0:
            new_scale[k] = min(max(new_scale[k], scale[k] / largest_change), scale[k] * largest_change)
        else:
            new_scale[k] = scale[k]
