"""What a chain begins with before anything is tuned: centre, scale and event rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grhmc.density_pointer import EXCEPTION, FINE
from grhmc.settings import PaperWarmup

if TYPE_CHECKING:
    from grhmc.models.log_density import LogDensity
    from grhmc.settings import RunSettings

INITIAL_EVENT_RATE = 1.0 / np.pi
"""The tuned rate of a standard normal in many dimensions: where a practical run starts."""

_MAX_CURVATURE_TRIES = 20
_LARGEST_CURVATURE = 100.0
# Times scale²: 1 where the scale is right.
_SMALLEST_INITIAL_SCALE, _LARGEST_INITIAL_SCALE = 1e-10, 1e10


def initial_centre(settings: RunSettings, start: np.ndarray) -> np.ndarray:
    """Where the standardization is centred at first: the start, or 0 as published."""
    return np.zeros_like(start) if isinstance(settings.warmup, PaperWarmup) else start


def initial_scale(
    settings: RunSettings, gradient: np.ndarray, model: LogDensity | None = None, start: np.ndarray | None = None
) -> np.ndarray:
    """The user's scale; 1 as published; or |g|^(-1/2) at the start.

    The last is right to within a factor for a normal whose centre is about one unit away. Where `model` and `start` are
    given it is made smaller in coordinates that turn out to be stiffer: at a mode the gradient is 0 or nearly so.
    """
    if settings.scale.fixed is not None:
        return settings.scale.fixed.copy()
    if settings.scale.tuner == "identity" or isinstance(settings.warmup, PaperWarmup):
        return np.ones_like(gradient)
    with np.errstate(divide="ignore"):
        scale = 1.0 / np.sqrt(np.abs(gradient))
    scale[gradient == 0.0] = 1.0
    scale = np.clip(scale, _SMALLEST_INITIAL_SCALE, _LARGEST_INITIAL_SCALE)
    return scale if model is None or start is None else _no_larger_than_curvature_allows(scale, gradient, model, start)


def _no_larger_than_curvature_allows(
    scale: np.ndarray, gradient: np.ndarray, model: LogDensity, start: np.ndarray
) -> np.ndarray:
    """Shrink the scale of coordinates whose gradient changes much within one scale of the start.

    All coordinates are moved at once; one gradient a try. Coordinates of a scale within a factor of ten are left alone.
    """
    scale = scale.copy()
    signs = np.where(np.arange(len(start)) % 2 == 0, 1.0, -1.0)
    for _ in range(_MAX_CURVATURE_TRIES):
        moved = start + signs * scale
        with np.errstate(over="ignore", invalid="ignore"):
            log_density, there, code = model.evaluate(moved)
        if code == EXCEPTION:
            error = model.take_exception()
            if error is not None:
                raise error
        distance = np.abs(moved - start)
        if code != FINE or not np.isfinite(log_density) or not np.all(np.isfinite(there)):
            suspects = scale == scale.max()
            scale[suspects] *= 0.1
            continue
        curvature = np.abs(there - gradient) / np.where(distance > 0.0, distance, np.inf)
        too_large = curvature * scale**2 > _LARGEST_CURVATURE
        if not too_large.any():
            break
        scale[too_large] = 1.0 / np.sqrt(curvature[too_large])
    return np.maximum(scale, _SMALLEST_INITIAL_SCALE)


def initial_event_rate(settings: RunSettings, dim: int) -> float:
    """The user's rate, or what is right for a standard normal in many dimensions."""
    if not isinstance(settings.continuous.event_rate, str):
        return float(settings.continuous.event_rate)
    rate = INITIAL_EVENT_RATE / settings.u_turn_factor
    return rate / settings.continuous.typical_base_rate(dim)
