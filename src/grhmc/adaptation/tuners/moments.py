"""Time-weighted running moments of the position and of the gradient along the path, for the scale tuners.

Sums are kept about running means (West's update), never as raw sums: a posterior far from zero loses no digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from grhmc._jit import array_kernel, kernel
from grhmc.dynamics.dense_output import position_at
from grhmc.dynamics.phase import Step, copy_to
from grhmc.dynamics.standardization import Standardization, gradient_of_force, to_parameters
from grhmc.dynamics.time_averages import GAUSS_NODES, GAUSS_WEIGHTS


class RunningMoments(NamedTuple):
    """Integrals over process time, in the units of the parameters.

    Attributes
    ----------
    weights : ndarray, shape (2,)
        Process time seen so far, by the position and by the gradient.
    position_mean, position_spread : ndarray, shape (dim,)
        Time average of q, and the integral of (q − mean)².
    gradient_mean, gradient_spread : ndarray, shape (dim,)
        The same for the gradient of the log density.
    """

    weights: np.ndarray
    position_mean: np.ndarray
    position_spread: np.ndarray
    gradient_mean: np.ndarray
    gradient_spread: np.ndarray


def init_moments(dim: int) -> RunningMoments:
    """Moments of nothing yet."""
    return RunningMoments(np.zeros(2), np.zeros(dim), np.zeros(dim), np.zeros(dim), np.zeros(dim))


@kernel
def forget(moments: RunningMoments) -> None:
    """Start over; updates `moments`."""
    moments.weights[:] = 0.0
    moments.position_mean[:] = 0.0
    moments.position_spread[:] = 0.0
    moments.gradient_mean[:] = 0.0
    moments.gradient_spread[:] = 0.0


@kernel
def begin_window(previous: RunningMoments, current: RunningMoments) -> None:
    """Keep the window that ends as the previous one and start a new one; updates both."""
    copy_to(current.weights, previous.weights)
    copy_to(current.position_mean, previous.position_mean)
    copy_to(current.position_spread, previous.position_spread)
    copy_to(current.gradient_mean, previous.gradient_mean)
    copy_to(current.gradient_spread, previous.gradient_spread)
    forget(current)


@kernel
def observe_path(
    moments: RunningMoments,
    step: Step,
    standardization: Standardization,
    quadrature_weights: np.ndarray,
    duration: float,
    scratch: np.ndarray,
) -> None:
    """Add one step: positions from dense output, gradients from the stages; updates `moments`, overwrites `scratch`.

    The stages' quadrature weights integrate any function of q to the order of the method, so the gradients that the
    step has used anyway are enough.
    """
    for node in range(3):
        weight = GAUSS_WEIGHTS[node] * duration
        moments.weights[0] += weight
        share = weight / moments.weights[0]
        position_at(step, duration, GAUSS_NODES[node], scratch)
        to_parameters(standardization, scratch, scratch)
        _add_values(scratch, weight, share, moments.position_mean, moments.position_spread)
    for stage in range(quadrature_weights.shape[0]):
        weight = quadrature_weights[stage] * duration
        moments.weights[1] += weight
        share = weight / moments.weights[1]
        gradient_of_force(standardization, step.stage_forces[stage], scratch)
        _add_values(scratch, weight, share, moments.gradient_mean, moments.gradient_spread)


@kernel
def observe_draw(
    moments: RunningMoments, step: Step, standardization: Standardization, weight: float, scratch: np.ndarray
) -> None:
    """Add the point at the start of `step`, which is the present state; updates `moments`, overwrites `scratch`.

    `scratch` has shape (2, dim).
    """
    moments.weights[0] += weight
    moments.weights[1] += weight
    share = weight / moments.weights[0], weight / moments.weights[1]
    point, gradient = scratch[0], scratch[1]
    to_parameters(standardization, step.position, point)
    gradient_of_force(standardization, step.stage_forces[0], gradient)
    _add_values(point, weight, share[0], moments.position_mean, moments.position_spread)
    _add_values(gradient, weight, share[1], moments.gradient_mean, moments.gradient_spread)


@array_kernel
def _add_values(values: np.ndarray, weight: float, share: float, mean: np.ndarray, spread: np.ndarray) -> None:
    """Add one point of the weight `weight`, which is `share` of all so far; updates `mean` and `spread`."""
    for k in range(values.shape[0]):
        deviation = values[k] - mean[k]
        mean[k] += share * deviation
        spread[k] += weight * deviation * (values[k] - mean[k])


def moments_of_draws(positions: np.ndarray, gradients: np.ndarray) -> RunningMoments:
    """Of rows of each, shape (n, dim); each counts as a unit of time."""
    n_draws = len(positions)
    return RunningMoments(
        weights=np.full(2, float(n_draws)),
        position_mean=positions.mean(axis=0),
        position_spread=n_draws * positions.var(axis=0),
        gradient_mean=gradients.mean(axis=0),
        gradient_spread=n_draws * gradients.var(axis=0),
    )


def merge_moments(parts: Sequence[RunningMoments]) -> RunningMoments:
    """Moments of several stretches of path together, each about its own mean."""
    merged = init_moments(len(parts[0].position_mean))
    for which, (mean_name, spread_name) in enumerate(
        (("position_mean", "position_spread"), ("gradient_mean", "gradient_spread"))
    ):
        merged.weights[which], getattr(merged, mean_name)[:], getattr(merged, spread_name)[:] = merge_spreads(
            np.array([part.weights[which] for part in parts]),
            np.array([getattr(part, mean_name) for part in parts]),
            np.array([getattr(part, spread_name) for part in parts]),
        )
    return merged


def merge_spreads(weights: np.ndarray, means: np.ndarray, spreads: np.ndarray) -> tuple[float, Any, Any]:
    """Weight, mean and spread (the sum of squared deviations) of several parts together, along the first axis.

    0 of parts without weight.
    """
    total = weights.sum()
    mean = weights @ means / (total or 1.0)
    return total, mean, sum(spreads) + weights @ (means - mean) ** 2


@kernel
def merged_mean_and_variance(
    weight: float,
    mean: float,
    spread: float,
    other_weight: float,
    other_mean: float,
    other_spread: float,
) -> tuple[float, float]:
    """Mean and variance of two stretches of path together."""
    total = weight + other_weight
    difference = mean - other_mean
    merged_mean = (weight * mean + other_weight * other_mean) / total
    merged_spread = spread + other_spread + difference * difference * weight * other_weight / total
    return merged_mean, merged_spread / total
