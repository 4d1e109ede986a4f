"""Find tails so heavy that means and standard deviations may not exist.

With the model at hand its density decides: how it falls off where the draws furthest out are, and several times further
out. No draw has been there, but a density that is light ends there, and one that is heavy goes on as it did. Draws
alone cannot tell a heavy tail from a light one that is much wider than the bulk (several modes, a mixture of scales).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grhmc.diagnosis.report import NOTE, WARNING, Finding, listed
from grhmc.diagnosis.screening import Scalar, suspicious_scalars

if TYPE_CHECKING:
    import xarray

TAIL_SHAPE_LIMIT = 0.4
"""Of a generalized Pareto distribution fitted to a tail: at 0.5 the variance ceases to exist, at 1 the mean."""

FAR = 8.0
"""Robust standard deviations from the median (interquartile range / 1.35)."""

FAR_SHARE_LIMIT = 0.015
"""Of draws that far out: an exponential has 0.001, the square of a normal 0.006, Student's t with 2 degrees of freedom
0.01, with 1 degree 0.05; but a mixture of normals with sds 0.1 and 1 has 0.06."""

DECAY_LIMIT = 3.5
"""Of −(q − median) ∂ log π/∂q far out, which tends to ν + 1 for Student's t and grows without bound for lighter tails:
in a normal it is 64 already at 8 standard deviations."""

_MULTIPLES = (3.0, 10.0)
# Of the distance of the furthest draws. A normal's decay grows by 9 and 100, an exponential's by 3 and 10.

VARIANCE_ERROR_LIMIT = 0.5
"""Relative standard error of a variance, from means over a tenth of a chain, where draws are far out: it is above this
where four such parts of the run or fewer make up most of the variance, and below 0.1 in healthy runs."""

_N_PARTS = 10
# Of each chain.

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
    variance_error: float

    @property
    def severity(self) -> str | None:
        """How serious it is, None if it is not."""
        if not np.isnan(self.decay):
            return WARNING if self.decay < DECAY_LIMIT else None
        if self.shape > TAIL_SHAPE_LIMIT:
            return WARNING
        return NOTE if self.far_share > FAR_SHARE_LIMIT else None


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
    rare = [tail for tail in tails if tail.variance_error > VARIANCE_ERROR_LIMIT and tail.severity != WARNING]
    return [*_heavy_tails(tails), *_rare_excursions(rare)]


def _heavy_tails(tails: list[_Tail]) -> list[Finding]:
    severities = {tail.severity for tail in tails}
    severity = next((severity for severity in (WARNING, NOTE) if severity in severities), None)
    if severity is None:
        return []
    heavy = sorted((tail for tail in tails if tail.severity == severity), key=lambda tail: -tail.far_share)
    return [_finding(heavy, severity)]


def _finding(heavy: list[_Tail], severity: str) -> Finding:
    names = tuple(tail.label for tail in heavy)
    first, *rest = names
    others = f" (also of {listed(rest)})" if rest else ""
    worst = heavy[0]
    like = f"{worst.far_share:.1%} of the draws are more than {FAR:g} robust standard deviations out"
    if severity == NOTE:
        message = (
            f"the tails of {first}{others} are heavy, or much wider than the bulk: {like}. Draws alone cannot tell "
            "which; grhmc.diagnose(result, model) can."
        )
        return Finding("heavy_tails", NOTE, message, names, (), worst.far_share, FAR_SHARE_LIMIT)
    if worst.decay < DECAY_LIMIT:
        freedom = max(worst.decay - 1.0, 0.0)
        like += f", where the density falls off like Student's t with about {freedom:.1g} degrees of freedom"
    message = (
        f"the tails of {first}{others} are very heavy: {like}. The variance, or even the mean, may not exist, and a "
        "few far excursions, too few to average over, decide what the draws say of them. Trust medians and inner "
        "quantiles only, and no further than two runs agree. A flat or Cauchy-like prior can be made more informative; "
        "the posterior may even be improper."
    )
    return Finding("heavy_tails", WARNING, message, names, (), worst.far_share, FAR_SHARE_LIMIT)


def _rare_excursions(rare: list[_Tail]) -> list[Finding]:
    """Of light tails, but visited so seldom that nothing can be averaged over."""
    if not rare:
        return []
    worst = max(rare, key=lambda tail: tail.variance_error)
    names = tuple(tail.label for tail in sorted(rare, key=lambda tail: -tail.variance_error))
    message = (
        f"a few far excursions make up most of the variance of {listed(names)}: it is known to "
        f"{worst.variance_error:.0%} only, and {worst.far_share:.1%} of the draws are more than {FAR:g} robust "
        "standard deviations out. What lies out there is visited too seldom for its weight to be known; it may be much "
        "more, or more places may not have been found. Take many more draws, or reparameterize so that narrow and wide "
        "parts of the posterior are alike."
    )
    return [Finding("rare_excursions", WARNING, message, names, (), worst.variance_error, VARIANCE_ERROR_LIMIT)]


def _variance_error(values: np.ndarray) -> float:
    """The relative standard error of the variance of draws of shape (chains, draws), from parts of the chains."""
    n_chains, n_draws = values.shape
    size = n_draws // _N_PARTS
    squares = ((values - values.mean()) / values.std())[:, : size * _N_PARTS] ** 2
    parts = squares.reshape(n_chains * _N_PARTS, size).mean(axis=1)
    return float(parts.std(ddof=1) / np.sqrt(parts.size) / parts.mean())


def _examine(scalar: Scalar, unconstrained: xarray.Dataset, gradient: Gradient | None) -> _Tail | None:
    """A coordinate's tails, or None if no draw is far out."""
    median, lower, upper = np.quantile(scalar.values, (0.5, 0.25, 0.75))
    width = (upper - lower) / 1.35
    if not (width > 0.0 and np.isfinite(width)):
        return None
    distance = np.abs(scalar.values - median) / width
    if distance.max() <= FAR:
        return None
    decay = np.nan
    if gradient is not None and scalar.index >= 0:
        decay = _decay(scalar.index, unconstrained, distance, gradient)
    shape = _shape(scalar.values) if np.isnan(decay) else np.nan
    is_coordinate = scalar.label.startswith("position[")
    label = scalar.label.removeprefix("position[").removesuffix("]") if is_coordinate else scalar.label
    return _Tail(label, shape, float(np.mean(distance > FAR)), decay, _variance_error(scalar.values))


def _shape(values: np.ndarray) -> float:
    """Of a generalized Pareto distribution fitted to the heavier tail; 0 where a tail is a single value."""
    from arviz_stats.base import array_stats

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            return float(np.nan_to_num(array_stats.pareto_khat(values, chain_axis=0, draw_axis=1)))
        except ValueError:  # "All tail values are the same": a chain that is stuck far out
            return 0.0


def _decay(index: int, unconstrained: xarray.Dataset, distance: np.ndarray, gradient: Gradient) -> float:
    """−(q − median) ∂ log π/∂q beyond the draws furthest out, its median; nan where no gradient could be had.

    A tail is heavy along a coordinate with the others left where they are (independent ones), or along the ray from
    the centre, less 1 for each of the others (a multivariate t): whichever falls off more slowly. The largest over the
    multiples counts: a density that is light ends at one of them.
    """
    positions = unconstrained["position"].transpose("chain", "draw", ...).to_numpy()
    # Of one coordinate at a time: of all at once would be a copy of all draws.
    centre = np.array([np.median(positions[:, :, j]) for j in range(positions.shape[2])])
    furthest = np.argsort(-distance.ravel())[:_N_EXTREME]
    furthest = furthest[distance.ravel()[furthest] > FAR]
    points = positions[np.unravel_index(furthest, distance.shape)]
    return max(_decay_at(multiple, index, points, centre, gradient) for multiple in _MULTIPLES)


def _decay_at(multiple: float, index: int, points: np.ndarray, centre: np.ndarray, gradient: Gradient) -> float:
    """The median over the points, moved out by a multiple; infinite where the density ends on the way."""
    alone, together = [], []
    for point in points:
        offset = multiple * (point - centre)
        beyond = point.copy()
        beyond[index] = centre[index] + offset[index]
        along, outwards = gradient(beyond), gradient(centre + offset)
        alone.append(np.inf if along is None else -offset[index] * along[index])
        together.append(np.inf if outwards is None else -float(offset @ outwards) - (len(centre) - 1))
    return float(min(np.median(alone), np.median(together)))
