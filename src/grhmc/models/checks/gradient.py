"""Finite differences against a model's gradient: a wrong one would bias the draws unnoticed.

A slope is measured by one central difference. Where that does not confirm the gradient, changes of the log density are
compared with integrals of the gradient over several steps (`slope_probe`): the right step depends on the coordinate's
scale, anything from 1e-6 to 1e6, and on the noise of the log density, which is measured. A mismatch counts against the
gradient only where it stands out from the noise and grows with the step.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grhmc.argument_checks import check_count
from grhmc.density_pointer import FINE, NON_FINITE_DENSITY
from grhmc.models.checks.gradient_error import GradientError, GradientWarning
from grhmc.models.checks.slope_probe import (
    ROUNDING,
    Point,
    Probe,
    climb,
    displaced,
    estimate_noise,
    probe,
    raise_stored,
)

if TYPE_CHECKING:
    from grhmc.models.protocol import Evaluates

MAX_FULL_CHECK_DIM = 50
"""Up to this dimension every coordinate is checked on its own."""
N_DIRECTIONS = 6
"""Beyond it: so many random directions through all coordinates,"""
N_RANDOM_COORDINATES = 20
"""and so many random coordinates."""

AGREES, IN_DOUBT, WRONG = "agrees", "in doubt", "wrong"

_BASE_STEP = float(np.cbrt(np.finfo(np.float64).eps))
_MAX_RELATIVE_NOISE = 0.1  # a slope known less well than this says nothing
_NOISE_WIDTHS = 6.0
_STEPS = (0.3, 3.0, 0.03, 30.0, 3e-3, 300.0, 3e-4, 3e-5)
"""In lengths over which the log density changes by about 1: the shortest that stands out from noise is tried first."""
_FLATTEST = 1e-12  # slope of what is taken to be flat
_SAME_ERROR = 0.3
_SLOWEST_GROWTH = 0.7  # of a wrong slope's mismatch, as a power of the step; noise does not grow
_N_CLIMBS = 3
_N_OTHER_STARTS = 4
_FAR_BELOW, _FAR_BELOW_PER_COORDINATE = 20.0, 2.0
"""A place so far below another is none that draws go to."""
REPEATABLE = 1e-8  # multi-threaded libraries may sum in another order each time
_MAX_LISTED = 8


class _Slope(NamedTuple):
    """A directional derivative: by finite differences, and whether the gradient agrees with it.

    `step` is where they were last compared by integrals, 0 if the slope at the point itself was enough.
    """

    estimate: float
    verdict: str
    step: float = 0.0


class _Check:
    """One point of one model: what its directions share."""

    def __init__(self, model: Evaluates, point: Point, tolerance: float, seed: int) -> None:
        self.model = model
        self.point = point
        self.tolerance = tolerance
        self.seed = seed
        # The ends are rounded, too, by a share of q.
        self.position_noise = float(np.abs(point.q * point.gradient).sum())

    @functools.cached_property
    def noise_level(self) -> float:
        """Of the log density; measured at the first slope that is in question only."""
        return estimate_noise(self.model, self.point.q, self.seed)

    def coordinate(self, j: int) -> _Slope:
        direction = np.zeros(self.model.dim)
        direction[j] = max(1.0, abs(self.point.q[j]))
        slope = self.along(direction)
        return slope._replace(estimate=slope.estimate / direction[j])

    def along(self, direction: np.ndarray) -> _Slope:
        """Compare by a central difference; where that does not confirm it, by integrals over several steps."""
        claimed = float(self.point.gradient @ direction)
        # Of a sum that cancels, the error is measured by its terms.
        typical = 0.3 * float(np.linalg.norm(self.point.gradient * direction))
        estimate, noise, curvature = self._central_difference(direction)
        size = max(abs(estimate), abs(claimed), typical) if np.isfinite(estimate) else np.inf
        if noise <= _MAX_RELATIVE_NOISE * size and abs(estimate - claimed) <= self.tolerance * size + noise:
            return _Slope(estimate, AGREES)
        noise += _NOISE_WIDTHS * self.noise_level / _BASE_STEP
        error = estimate - claimed
        local_error = error if np.isfinite(error) and abs(error) > max(3 * noise, self.tolerance * abs(error)) else 0.0
        steepness = max(abs(claimed), np.sqrt(curvature), abs(estimate) if abs(estimate) > noise else 0.0)
        length = 1 / steepness if steepness > _FLATTEST else 1.0
        return self._compare_integrals(direction, claimed, typical, local_error, length)

    def _central_difference(self, direction: np.ndarray) -> tuple[float, float, float]:
        """The slope, its rounding error, and how much the gradient changes; nan where an end is not finite."""
        ends = []
        for sign in (1, -1):
            log_density, gradient, code = self.model.evaluate(self.point.q + sign * _BASE_STEP * direction)
            raise_stored(self.model, code)
            if code != FINE:
                return np.nan, np.inf, 0.0
            ends.append((log_density, float(gradient @ direction)))
        (higher, slope_higher), (lower, slope_lower) = ends
        here = self.point.log_density
        steepness = max(abs(higher - here), abs(lower - here)) / _BASE_STEP
        noise = ROUNDING * (abs(higher) + abs(lower) + abs(here) + self.position_noise + steepness) / _BASE_STEP
        curvature = abs(slope_higher - slope_lower) / (2 * _BASE_STEP)
        return (higher - lower) / (2 * _BASE_STEP), noise, curvature if np.isfinite(curvature) else 0.0

    def _compare_integrals(
        self, direction: np.ndarray, claimed: float, typical: float, local_error: float, length: float
    ) -> _Slope:
        """Wrong is a mismatch that grows with the step as a wrong slope's does; that of noise stays as it is."""
        wrong: list[Probe] = []
        for factor in _STEPS:
            found = probe(self.model, self.point, direction, factor * length, self.noise_level, typical)
            if found is None or found.noise > _MAX_RELATIVE_NOISE * found.change:
                continue
            if found.mismatch <= self.tolerance * found.change + found.noise:
                # A longer step may only have made the slope so large that the same error counts for little.
                lasts = abs(found.slope_error - local_error) <= _SAME_ERROR * abs(local_error)
                seen = abs(found.slope_error) * found.step > found.noise + found.truncation
                if not (local_error and lasts and seen):
                    return _Slope(claimed + found.slope_error, AGREES, found.step)
            elif found.mismatch <= self.tolerance * found.change + 2 * found.noise + found.truncation:
                continue  # neither
            wrong.append(found)
            if len(wrong) > 1 and self._is_beyond_doubt(wrong):
                return _Slope(claimed + min(wrong).slope_error, WRONG, found.step)
        if not wrong:
            # Too flat, or too noisy, to tell; or, as seen by a difference alone, wrong.
            return _Slope(claimed + local_error, AGREES if local_error == 0 else IN_DOUBT, min(_STEPS[0] * length, 1.0))
        return _Slope(claimed + min(wrong).slope_error, IN_DOUBT)

    def _is_beyond_doubt(self, wrong: list[Probe]) -> bool:
        """Two steps, one of them long enough to matter, and a mismatch that grew from one to the other."""
        shorter, longer = min(wrong), max(wrong)
        grows = longer.mismatch >= (longer.step / shorter.step) ** _SLOWEST_GROWTH * shorter.mismatch
        return grows and shorter.step < longer.step


def examine_gradient(
    model: Evaluates, q: np.ndarray, *, tolerance: float, seed: int, n_directions: int | None = None
) -> str:
    """Raise `GradientError` if the gradient at `q` is wrong beyond doubt; see `LogDensity.check_gradient`.

    Returns
    -------
    str
        What is in doubt, or nothing.
    """
    if not 0 < tolerance < 1:
        raise ValueError(f"tolerance must lie between 0 and 1, got {tolerance!r}")
    if n_directions is not None:
        check_count("n_directions", n_directions, at_least=1)
    point = _evaluate_at_start(model, q)
    _check_repeatable(model, point)
    problem = _examine_point(model, point, tolerance, seed, n_directions)
    if problem is None:
        return ""
    # Where its tolerance is too rough, a solver's sensitivities are not the derivative of its values: far from
    # the posterior, where random starts are. A wrong formula is as wrong closer to it.
    names = model.coordinate_names
    suspects = range(model.dim) if isinstance(problem, str) else [names.index(name) for name in problem.coordinates]
    small = model.dim <= MAX_FULL_CHECK_DIM
    for base in _other_places(model, point, seed) if small else (point,):
        better: Point | None = base
        for _ in range(_N_CLIMBS if small else 1):
            better = climb(model, better)
            if better is None:
                break
            there = _Check(model, better, tolerance, seed)
            if all(there.coordinate(j).verdict == AGREES for j in suspects):
                gained = better.log_density - point.log_density
                return "" if gained > _FAR_BELOW + _FAR_BELOW_PER_COORDINATE * model.dim else _in_words(problem)
    if isinstance(problem, GradientError):
        raise problem
    return problem


def error_at(model: Evaluates, q: np.ndarray, *, tolerance: float = 1e-3, seed: int = 0) -> GradientError | None:
    """What is wrong with the gradient at `q` itself, beyond doubt, whatever it is elsewhere."""
    try:
        problem = _examine_point(model, _evaluate_at_start(model, q), tolerance, seed)
    except GradientError as error:
        return error
    return problem if isinstance(problem, GradientError) else None


def _other_places(model: Evaluates, point: Point, seed: int) -> Iterator[Point]:
    """The point itself, and other starts: from where to climb."""
    yield point
    rng = np.random.default_rng(seed)
    for _ in range(_N_OTHER_STARTS):
        own = model.initial_point(rng)
        q = rng.uniform(-2, 2, model.dim) if own is None else own
        log_density, gradient, code = model.evaluate(q)
        raise_stored(model, code)
        if code == FINE:
            yield Point(q, log_density, gradient)


def _in_words(problem: GradientError | str) -> str:
    if isinstance(problem, str):
        return problem
    return (
        f"at the start {problem}\nElsewhere it is right: look for a solver whose tolerance is "
        "too rough at the start, a branch or a clipped value."
    )


def _examine_point(
    model: Evaluates, point: Point, tolerance: float, seed: int, n_directions: int | None = None
) -> GradientError | str | None:
    """What is wrong at a point, or what is in doubt there in words, or None."""
    rng = np.random.default_rng(seed)
    check = _Check(model, point, tolerance, seed)
    slopes, displacement = _measure_slopes(check, rng, n_directions)
    problem = _judge(check, slopes)
    if problem is None and np.any(displacement):
        # At a mode an error that is proportional to the gradient, or to another coordinate's distance from it, is 0.
        moved = displaced(model, point, displacement)
        if moved is not None:
            check = _Check(model, moved, tolerance, seed)
            return _judge(check, _measure_slopes(check, rng, n_directions)[0])
    return problem


def check_gradient(
    model: Evaluates, q: np.ndarray, *, tolerance: float, seed: int, n_directions: int | None = None
) -> None:
    """`examine_gradient`, with a warning of what is in doubt."""
    doubtful = examine_gradient(model, q, tolerance=tolerance, seed=seed, n_directions=n_directions)
    if doubtful:
        warnings.warn(doubtful, GradientWarning, stacklevel=3)


def _measure_slopes(
    check: _Check, rng: np.random.Generator, n_directions: int | None
) -> tuple[dict[int, _Slope], np.ndarray]:
    """Slopes by coordinate, and a step off the point along what is flat there: 0 if nothing is."""
    model, displacement = check.model, np.zeros(check.model.dim)
    by_coordinates = model.dim <= (MAX_FULL_CHECK_DIM if n_directions is None else n_directions)
    if by_coordinates:
        suspects: Iterable[int] = range(model.dim)
    else:
        subset = rng.choice(model.dim, N_RANDOM_COORDINATES, replace=False) if n_directions is None else ()
        found, displacement = _search_directions(check, rng, n_directions or N_DIRECTIONS)
        suspects = sorted({*map(int, subset), *found})
    slopes = {j: check.coordinate(j) for j in suspects}
    if by_coordinates:
        for j, slope in slopes.items():
            displacement[j] = rng.choice([-1.0, 1.0]) * slope.step * max(1.0, abs(check.point.q[j]))
    return slopes, displacement


def _judge(check: _Check, slopes: dict[int, _Slope]) -> GradientError | str | None:
    wrong = {j: slope.estimate for j, slope in slopes.items() if slope.verdict == WRONG}
    if wrong:
        return _gradient_error(check.model, check.point, wrong, n_checked=len(slopes))
    doubtful = [j for j, slope in slopes.items() if slope.verdict == IN_DOUBT]
    if not doubtful:
        return None
    j = doubtful[0]
    names = _listed(tuple(check.model.coordinate_names[k] for k in doubtful))
    return (
        f"whether the gradient is that of the log density is in doubt in {names}: for "
        f"{check.model.coordinate_names[j]} it is {check.point.gradient[j]:.6g}, finite differences are about "
        f"{slopes[j].estimate:.6g}, and differ from step to step. The log density is noisy (a solver's tolerance, "
        "single precision) or not smooth here; tighten the tolerance, or look for a jump."
    )


def find_unused_coordinates(model: Evaluates, q: np.ndarray) -> list[int]:
    """Coordinates whose gradient is 0, and along which neither density nor gradient changes."""
    point = _evaluate_at_start(model, q)
    return [int(j) for j in np.flatnonzero(point.gradient == 0) if _is_unused(model, point, int(j))]


def _is_unused(model: Evaluates, point: Point, j: int) -> bool:
    for step in (1e-3, -1.0, 1e3):
        moved = point.q.copy()
        moved[j] += step * max(1.0, abs(moved[j]))
        log_density, gradient, code = model.evaluate(moved)
        raise_stored(model, code)
        if code != FINE or log_density != point.log_density or gradient[j] != 0:
            return False
    return True


def _evaluate_at_start(model: Evaluates, q: np.ndarray) -> Point:
    log_density, gradient, code = model.evaluate(q)
    raise_stored(model, code)
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
    return Point(q, log_density, gradient)


def _check_repeatable(model: Evaluates, point: Point) -> None:
    """Evaluate elsewhere and then here again: what an evaluation leaves behind shows."""
    raise_stored(model, model.evaluate(point.q + _BASE_STEP)[2])
    log_density, gradient, code = model.evaluate(point.q)
    raise_stored(model, code)
    same_density = np.isclose(log_density, point.log_density, rtol=REPEATABLE, atol=REPEATABLE)
    largest = np.max(np.abs(point.gradient))
    if not same_density or np.max(np.abs(gradient - point.gradient)) > REPEATABLE * largest:
        raise ValueError(
            f"two evaluations at the same point differ (log density {point.log_density} and "
            f"{log_density}); it must be deterministic: no random numbers, nothing remembered "
            "from call to call"
        )


def _search_directions(check: _Check, rng: np.random.Generator, n_directions: int) -> tuple[set[int], np.ndarray]:
    """Find coordinates with a wrong gradient: random directions, halved where one disagrees.

    Returns the coordinates, and a step off the point if it is flat along a direction.
    """
    dim, point = check.model.dim, check.point
    with np.errstate(divide="ignore"):
        # Along these lengths every coordinate changes the log density by about as much.
        lengths = np.minimum(1 / np.abs(point.gradient), np.maximum(1.0, np.abs(point.q)))
    found: set[int] = set()
    displacement = np.zeros(dim)
    for _ in range(n_directions):
        direction = lengths * rng.choice([-1.0, 1.0], dim)
        slope = check.along(direction)
        if slope.verdict == AGREES:
            if slope.step:
                displacement = slope.step * direction
            continue
        members = rng.permutation(dim)
        while len(members) > 1:
            for half in np.array_split(members, 2):
                part = np.zeros(dim)
                part[half] = direction[half]
                if check.along(part).verdict != AGREES:
                    members = half
                    break
            else:
                break  # too small in each half to see
        found.update(int(j) for j in members[:N_RANDOM_COORDINATES])
    return found, displacement


def _gradient_error(model: Evaluates, point: Point, faults: dict[int, float], *, n_checked: int) -> GradientError:
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


def _listed(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    return ", ".join(names[:_MAX_LISTED]) + more
