"""Find tails so heavy that means and standard deviations may not exist.

Three signs, because a chain that has not yet been far out does not show by itself how far out there is: how many draws
are far out, how their distances are distributed, and, with the model at hand, how the density falls off out there.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grhmc.diagnosis.report import WARNING, Finding, listed
from grhmc.diagnosis.screening import Scalar, suspicious_scalars

if TYPE_CHECKING:
    import xarray

TAIL_SHAPE_LIMIT = 0.4
"""Of a generalized Pareto distribution fitted to a tail: at 0.5 the variance ceases to exist, at 1 the mean."""

FAR = 8.0
"""Robust standard deviations from the median (interquartile range / 1.35)."""

FAR_SHARE_LIMIT = 0.015
"""Of draws that far out: an exponential has 0.001, the square of a normal 0.006, Student's t with 2 degrees of freedom
0.01, with 1 degree 0.05."""

DECAY_LIMIT = 3.5
"""Of −(q − median) ∂ log π/∂q far out, which tends to ν + 1 for Student's t and grows without bound for a normal and
an exponential: it is 5.5 or more at 8 robust standard deviations in these."""

_FEWEST_DRAWS = 1000
# In all: of fewer the shape is known to no better than 0.2.
_SUSPICIOUS_DEVIATION = 6.0
# Largest deviation over the mean absolute one: a normal's is 5, an exponential's 11.
_N_EXTREME = 10

Gradient = Callable[[np.ndarray], np.ndarray | None]
"""The gradient at a point, or None where it cannot be had."""


class _Tail(NamedTuple):
    """One coordinate's tails; `decay` is nan without a model."""

    label: str
    shape: float
    far_share: float
    decay: float

    @property
    def is_heavy(self) -> bool:
        return self.shape > TAIL_SHAPE_LIMIT or self.far_share > FAR_SHARE_LIMIT or self.decay < DECAY_LIMIT


def largest_deviation_score(standardized: np.ndarray) -> np.ndarray:
    """The largest deviation over the mean absolute one; shape (1, entries)."""
    sizes = np.abs(standardized)
    typical = sizes.mean(axis=(0, 1))
    return (sizes.max(axis=(0, 1)) / np.where(typical > 0.0, typical, np.inf))[np.newaxis]


def find_heavy_tails(unconstrained: xarray.Dataset, gradient: Gradient | None = None) -> list[Finding]:
    """Coordinates whose tails fall off so slowly that moments are in doubt.

    Of the unconstrained coordinates: a normal one with a logarithm in front may have a heavy-tailed exponential, and
    that is no sign of trouble.
    """
    sizes = unconstrained.sizes
    if sizes.get("chain", 0) * sizes.get("draw", 0) < _FEWEST_DRAWS:
        return []
    scalars = suspicious_scalars(unconstrained, largest_deviation_score, _SUSPICIOUS_DEVIATION)
    tails = [tail for scalar in scalars if (tail := _examine(scalar, unconstrained, gradient)) is not None]
    heavy = sorted((tail for tail in tails if tail.is_heavy), key=lambda tail: -tail.far_share)
    if not heavy:
        return []
    names = tuple(tail.label for tail in heavy)
    first, *rest = names
    others = f" (also of {listed(rest)})" if rest else ""
    worst = heavy[0]
    like = f"{worst.far_share:.1%} of the draws are more than {FAR:g} robust standard deviations out"
    if worst.decay < DECAY_LIMIT:
        freedom = max(worst.decay - 1.0, 0.0)
        like += f", where the density falls off like Student's t with about {freedom:.1g} degrees of freedom"
    message = (
        f"the tails of {first}{others} are very heavy: {like}. The variance, or even the mean, may not exist, and a "
        "few far excursions, too few to average over, decide what the draws say of them. Trust medians and inner "
        "quantiles only, and no further than two runs agree. A flat or Cauchy-like prior can be made more informative; "
        "the posterior may even be improper."
    )
    return [Finding("heavy_tails", WARNING, message, names, (), worst.far_share, FAR_SHARE_LIMIT)]


def _examine(scalar: Scalar, unconstrained: xarray.Dataset, gradient: Gradient | None) -> _Tail | None:
    """A coordinate's tails, or None if no draw is far out."""
    median, lower, upper = np.quantile(scalar.values, (0.5, 0.25, 0.75))
    if not upper > lower:
        return None
    distance = np.abs(scalar.values - median) / ((upper - lower) / 1.35)
    if distance.max() <= FAR:
        return None
    from arviz_stats.base import array_stats

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        shape = float(np.nan_to_num(array_stats.pareto_khat(scalar.values, chain_axis=0, draw_axis=1)))
    decay = np.nan
    if gradient is not None and scalar.index >= 0:
        decay = _decay(scalar, unconstrained, float(median), distance, gradient)
    label = scalar.label.removeprefix("position[").removesuffix("]")
    return _Tail(label, shape, float(np.mean(distance > FAR)), decay)


def _decay(
    scalar: Scalar, unconstrained: xarray.Dataset, median: float, distance: np.ndarray, gradient: Gradient
) -> float:
    """−(q − median) ∂ log π/∂q at the draws furthest out, its median.

    Of the coordinate alone, or of all together less 1 for each of the others, whichever is larger: on a ridge (a
    banana) the density does not fall off along the coordinate, but along the ridge.
    """
    positions = unconstrained["position"].transpose("chain", "draw", ...).to_numpy()
    points = positions.reshape(-1, positions.shape[-1])
    centre = np.median(points, axis=0)
    furthest = np.argsort(-distance.ravel())[:_N_EXTREME]
    values = []
    for index in furthest[distance.ravel()[furthest] > FAR]:
        slopes = gradient(points[index])
        if slopes is not None:
            alone = -(points[index, scalar.index] - median) * slopes[scalar.index]
            together = -float((points[index] - centre) @ slopes) - (len(centre) - 1)
            values.append(max(alone, together))
    return float(np.median(values)) if values else np.nan
