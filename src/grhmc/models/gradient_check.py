"""Finite differences against a model's gradient: a wrong one would bias the draws unnoticed.

A slope is measured at several step sizes, because the right one depends on the coordinate's scale
(anything from 1e-6 to 1e6) and on the rounding error of the log density. It counts against the
gradient only where it stands out from that rounding error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grhmc.density_pointer import EXCEPTION, FINE, NON_FINITE_DENSITY

if TYPE_CHECKING:
    from grhmc.models.log_density import LogDensity

MAX_FULL_CHECK_DIM = 50
"""Up to this dimension every coordinate is checked on its own."""
N_DIRECTIONS = 6
"""Beyond it: so many random directions through all coordinates,"""
N_RANDOM_COORDINATES = 20
"""and so many random coordinates."""

_BASE_STEP = float(np.cbrt(np.finfo(np.float64).eps))
_STEP_FACTORS = (1.0, 1e-2, 1e2, 1e-4, 1e4, 1e6, 1e8)
_ROUNDING = 16 * float(np.finfo(np.float64).eps)
_MAX_RELATIVE_NOISE = 0.1  # a slope known less well than this says nothing
REPEATABLE = 1e-8  # multi-threaded libraries may sum in another order each time
_MAX_LISTED = 8


class GradientError(ValueError):
    """The gradient is not that of the log density.

    Attributes
    ----------
    coordinates : tuple of str
        Names of the coordinates at fault.
    gradient, finite_differences : ndarray, shape (len(coordinates),)
        What the model says and what its log density says. (nan where neither is known.)
    """

    def __init__(
        self,
        message: str,
        coordinates: tuple[str, ...],
        gradient: np.ndarray,
        finite_differences: np.ndarray,
    ) -> None:
        super().__init__(message)
        self.coordinates = coordinates
        self.gradient = gradient
        self.finite_differences = finite_differences


class _Point(NamedTuple):
    """Where the gradient is checked, and what the model says there."""

    q: np.ndarray
    log_density: float
    gradient: np.ndarray


class _Slope(NamedTuple):
    """A directional derivative: by finite differences, and whether the gradient agrees with it."""

    estimate: float
    agrees: bool


def check_gradient(model: LogDensity, q: np.ndarray, *, tolerance: float, seed: int) -> None:
    """Raise `GradientError` unless the gradient at `q` is that of the log density.

    See `LogDensity.check_gradient`.
    """
    if not 0 < tolerance < 1:
        raise ValueError(f"tolerance must lie between 0 and 1, got {tolerance!r}")
    point = _evaluate_at_start(model, q)
    _check_repeatable(model, point)
    if model.dim <= MAX_FULL_CHECK_DIM:
        suspects = range(model.dim)
    else:
        rng = np.random.default_rng(seed)
        subset = rng.choice(model.dim, N_RANDOM_COORDINATES, replace=False)
        suspects = sorted({*subset, *_search_directions(model, point, tolerance, rng)})
    faults = {}
    for j in suspects:
        slope = _coordinate_slope(model, point, int(j), tolerance)
        if not slope.agrees:
            faults[int(j)] = slope.estimate
    if faults:
        raise _gradient_error(model, point, faults, n_checked=len(suspects))


def find_unused_coordinates(model: LogDensity, q: np.ndarray) -> list[int]:
    """Coordinates whose gradient is 0, and along which neither density nor gradient changes."""
    point = _evaluate_at_start(model, q)
    return [int(j) for j in np.flatnonzero(point.gradient == 0) if _is_unused(model, point, int(j))]


def _is_unused(model: LogDensity, point: _Point, j: int) -> bool:
    for step in (1e-3, -1.0, 1e3):
        moved = point.q.copy()
        moved[j] += step * max(1.0, abs(moved[j]))
        log_density, gradient, code = model.evaluate(moved)
        _raise_stored(model, code)
        if code != FINE or log_density != point.log_density or gradient[j] != 0:
            return False
    return True


def _evaluate_at_start(model: LogDensity, q: np.ndarray) -> _Point:
    log_density, gradient, code = model.evaluate(q)
    _raise_stored(model, code)
    if code == NON_FINITE_DENSITY:
        raise ValueError(f"the log density is {log_density} at q = {q}; check the gradient at a point of the support")
    wrong = np.flatnonzero(~np.isfinite(gradient))
    if code != FINE or wrong.size:
        names = tuple(model.coordinate_names[j] for j in wrong)
        raise GradientError(
            f"the log density is finite at q = {q}, but the gradient is not, at {_listed(names)}. "
            "Does the function write every entry of the gradient, without reading it first (it "
            "is not 0 on entry)?",
            names,
            gradient[wrong],
            np.full(wrong.size, np.nan),
        )
    return _Point(q, log_density, gradient)


def _check_repeatable(model: LogDensity, point: _Point) -> None:
    """Evaluate elsewhere and then here again: what an evaluation leaves behind shows."""
    _raise_stored(model, model.evaluate(point.q + _BASE_STEP)[2])
    log_density, gradient, code = model.evaluate(point.q)
    _raise_stored(model, code)
    same_density = np.isclose(log_density, point.log_density, rtol=REPEATABLE, atol=REPEATABLE)
    largest = np.max(np.abs(point.gradient))
    if not same_density or np.max(np.abs(gradient - point.gradient)) > REPEATABLE * largest:
        raise ValueError(
            f"two evaluations at the same point differ (log density {point.log_density} and "
            f"{log_density}); it must be deterministic: no random numbers, nothing remembered "
            "from call to call"
        )


def _coordinate_slope(model: LogDensity, point: _Point, j: int, tolerance: float) -> _Slope:
    direction = np.zeros(model.dim)
    direction[j] = max(1.0, abs(point.q[j]))
    slope = _measure(model, point, direction, tolerance)
    return slope._replace(estimate=slope.estimate / direction[j])


def _measure(model: LogDensity, point: _Point, direction: np.ndarray, tolerance: float) -> _Slope:
    """Take central differences along `direction` at several steps until the slope is settled."""
    claimed = float(point.gradient @ direction)
    # Of a sum that cancels, the error is measured by its terms.
    typical = 0.3 * float(np.linalg.norm(point.gradient * direction))
    position_noise = float(np.abs(point.q * point.gradient).sum())
    conclusive: list[float] = []
    # How well steps that are too short to measure the slope itself have confirmed it: at a mode it is 0, or 1e-216, and
    # what longer steps then see is the density's curvature and skewness.
    confirmed_to = np.inf
    for factor in _STEP_FACTORS:
        step = _BASE_STEP * factor
        difference = _central_difference(model, point.q, step * direction)
        if difference is None:
            continue
        (higher, lower) = difference
        estimate, magnitude = (higher - lower) / (2 * step), abs(higher) + abs(lower)
        # The ends are rounded too, by a share of the step; what that changes shows in how steep the ends are. Where the
        # slope itself is 0, as at a mode, there is no other noise.
        steepness = max(abs(higher - point.log_density), abs(lower - point.log_density)) / step
        noise = _ROUNDING * (magnitude + abs(point.log_density) + position_noise + steepness) / step
        size = max(abs(estimate), abs(claimed), typical)
        if noise > _MAX_RELATIVE_NOISE * size:
            if abs(estimate - claimed) <= noise:
                confirmed_to = min(confirmed_to, noise)
            continue
        if abs(estimate - claimed) <= tolerance * size + noise:
            return _Slope(estimate, agrees=True)
        if confirmed_to < tolerance * abs(estimate - claimed):
            continue
        # Two steps that agree with each other settle it; but 0 may only mean too few digits.
        if estimate != 0 and any(abs(estimate - other) <= tolerance * size + noise for other in conclusive):
            return _Slope(estimate, agrees=False)
        conclusive.append(estimate)
    if not conclusive:
        return _Slope(np.nan, agrees=True)  # too flat, or too noisy, to tell
    return _Slope(min(conclusive, key=lambda estimate: abs(estimate - claimed)), agrees=False)


def _central_difference(model: LogDensity, q: np.ndarray, step: np.ndarray) -> tuple[float, float] | None:
    """The log density at q + step and at q - step, or None where it is not finite."""
    values = []
    for end in (q + step, q - step):
        log_density, _, code = model.evaluate(end)
        _raise_stored(model, code)
        if not np.isfinite(log_density):
            return None
        values.append(log_density)
    return values[0], values[1]


def _search_directions(model: LogDensity, point: _Point, tolerance: float, rng: np.random.Generator) -> set[int]:
    """Find coordinates with a wrong gradient: random directions, halved where one disagrees."""
    with np.errstate(divide="ignore"):
        # Along these lengths every coordinate changes the log density by about as much.
        lengths = np.minimum(1 / np.abs(point.gradient), np.maximum(1.0, np.abs(point.q)))
    found: set[int] = set()
    for _ in range(N_DIRECTIONS):
        direction = lengths * rng.choice([-1.0, 1.0], model.dim)
        if _measure(model, point, direction, tolerance).agrees:
            continue
        members = rng.permutation(model.dim)
        while len(members) > 1:
            for half in np.array_split(members, 2):
                part = np.zeros(model.dim)
                part[half] = direction[half]
                if not _measure(model, point, part, tolerance).agrees:
                    members = half
                    break
            else:
                break  # too small in each half to see
        found.update(int(j) for j in members[:N_RANDOM_COORDINATES])
    return found


def _gradient_error(model: LogDensity, point: _Point, faults: dict[int, float], *, n_checked: int) -> GradientError:
    indices = list(faults)
    names = tuple(model.coordinate_names[j] for j in indices)
    gradient = point.gradient[indices]
    differences = np.array([faults[j] for j in indices])
    lines = [
        f"  {name}: gradient {claimed:.6g}, finite differences {measured:.6g}"
        for name, claimed, measured in zip(names, gradient, differences, strict=True)
    ]
    if len(lines) > _MAX_LISTED:
        lines[_MAX_LISTED:] = [f"  ... and {len(lines) - _MAX_LISTED} more"]
    message = (
        f"the gradient is not that of the log density at {len(names)} of {n_checked} coordinates "
        f"checked:\n" + "\n".join(lines)
    )
    if np.allclose(gradient, -differences, rtol=0.01, atol=0):
        message += "\nThe sign is reversed: write the gradient of the log density, not its negative."
    elif np.all(gradient == 0):
        message += "\nThe gradient is 0 there: does the function write these entries?"
    return GradientError(message, names, gradient, differences)


def _raise_stored(model: LogDensity, code: int) -> None:
    if code == EXCEPTION:
        raise model.take_exception() or RuntimeError(
            "the log density reported an exception (code 3) without saying which"
        )


def _listed(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    return ", ".join(names[:_MAX_LISTED]) + more
