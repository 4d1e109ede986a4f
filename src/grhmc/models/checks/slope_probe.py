"""Changes of the log density along a line against the integral of its gradient, each with an error bar.

A difference quotient knows a slope only as well as rounding, the noise of a solver and the density's own curvature let
it. The integral of the claimed slope follows the curvature, so the step may be as long as it takes for the change to
stand out from noise: a start at a mode, a density of single precision and an ODE model can then be checked too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grhmc.density_pointer import EXCEPTION, FINE

if TYPE_CHECKING:
    from grhmc.models.protocol import Evaluates

ROUNDING = 16 * float(np.finfo(np.float64).eps)
_SYMMETRIC = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
_ONE_SIDED = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
_NOISE_SPACINGS = (1e-9, 1e-7, 1e-5)
_SHRINKS = (1.0, 0.3, 0.1, 0.01)
_MAX_CLIMB = 40
_LEAST_GAIN = 0.01
_N_NOISE_POINTS = 10
_NOISE_ORDERS = (3, 4, 5)
_NOISE_WIDTHS = (
    6.0  # standard deviations of the noise that count as an error bar: some of it is measured from five points
)


class Point(NamedTuple):
    """Where the gradient is checked, and what the model says there."""

    q: np.ndarray
    log_density: float
    gradient: np.ndarray


class Probe(NamedTuple):
    """What the log density and the gradient say about five points of a line.

    Attributes
    ----------
    step : float
        Distance of two points.
    change : float
        Of the log density, the largest, or of the integral of the gradient.
    mismatch : float
        The largest difference between the two.
    slope_error : float
        Finite differences less gradient, at the middle, as the mismatch has it.
    noise, truncation : float
        Error bars of `mismatch`.
    """

    step: float
    change: float
    mismatch: float
    slope_error: float
    noise: float
    truncation: float


def _integral_weights(nodes: np.ndarray) -> np.ndarray:
    """Row i gives the integral from 0 to nodes[i] of the polynomial through values at the nodes."""
    powers = np.arange(nodes.size)
    antiderivatives = nodes[:, None] ** (powers + 1) / (powers + 1)
    return antiderivatives @ np.linalg.inv(nodes[:, None] ** powers)


_WEIGHTS = {id(nodes): (_integral_weights(nodes), _integral_weights(nodes[::2])) for nodes in (_SYMMETRIC, _ONE_SIDED)}


def probe(
    model: Evaluates, point: Point, direction: np.ndarray, step: float, noise_level: float, typical: float
) -> Probe | None:
    """Look at five points around `point`, or to one side of it at the edge of the support; None where that fails.

    Parameters
    ----------
    direction : ndarray, shape (dim,)
    step : float
        In units of `direction`.
    noise_level : float
        Standard deviation of the log density's noise.
    typical : float
        A slope, in units of `direction`, below which errors do not count.
    """
    values = _along(model, point, direction, step * _SYMMETRIC)
    nodes = _SYMMETRIC
    if not np.all(np.isfinite(values)):
        nodes = _ONE_SIDED
        sign = 1.0 if np.all(np.isfinite(values[3:])) else -1.0
        values = _along(model, point, sign * direction, step * nodes)
        if not np.all(np.isfinite(values)):
            return None
        values[:, 1] *= sign
        step = sign * step
    fine, coarse = _WEIGHTS[id(nodes)]
    with np.errstate(over="ignore", invalid="ignore"):
        changes = values[:, 0] - point.log_density
        integral = step * (fine @ values[:, 1])
        truncation = float(np.max(np.abs(integral[::2] - step * (coarse @ values[::2, 1]))))
        errors = changes - integral
        slope_error = float(errors[-1] - errors[0]) / (step * (nodes[-1] - nodes[0]))
        change = float(np.max(np.abs([changes, integral])))
        mismatch = float(np.max(np.abs(errors)))
        # The places are rounded, too, by a share of q and of the step.
        steepest = float(np.max(np.abs(values[:, 1])))
        rounding = ROUNDING * (
            float(np.max(np.abs(values[:, 0])))
            + float(np.abs(point.q * point.gradient).sum())
            + steepest * (abs(step) + _relative_place(point.q, direction))
        )
        noise = rounding + _NOISE_WIDTHS * max(noise_level, _roughness(errors, integral))
    numbers = (change, mismatch, slope_error, noise, truncation)
    if not np.all(np.isfinite(numbers)):
        return None
    step = abs(step)
    return Probe(step, max(change, 2 * step * typical), mismatch, slope_error, noise, truncation)


def _relative_place(q: np.ndarray, direction: np.ndarray) -> float:
    moving = direction != 0
    return float(np.max(np.abs(q[moving] / direction[moving])))


def _roughness(errors: np.ndarray, integral: np.ndarray) -> float:
    """Standard deviation of what is not smooth in five values: their third and fourth differences, as noise has them.

    A wrong factor makes errors as curved as the density; so it is taken off first, if that leaves less.
    """
    scale = np.max(np.abs(integral))
    shape = integral / scale if scale > 0 else integral
    rest = errors - (errors @ shape) * shape / max(float(shape @ shape), 1.0)
    return min(_high_differences(errors), _high_differences(rest))


def _high_differences(values: np.ndarray) -> float:
    third, fourth = np.diff(values, 3), np.diff(values, 4)
    return float(np.sqrt(np.mean([*(third**2 / 20), *(fourth**2 / 70)])))


def _along(model: Evaluates, point: Point, direction: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """Log density and slope along `direction`, shape (n, 2); nan from where either is not finite."""
    values = np.full((distances.size, 2), np.nan)
    for row, distance in zip(values, distances, strict=True):
        if distance == 0:
            row[:] = point.log_density, point.gradient @ direction
            continue
        log_density, gradient, code = model.evaluate(point.q + distance * direction)
        raise_stored(model, code)
        if code == FINE:
            with np.errstate(over="ignore", invalid="ignore"):
                row[:] = log_density, gradient @ direction
    return values


def estimate_noise(model: Evaluates, q: np.ndarray, seed: int) -> float:
    """Standard deviation of the noise of the log density, 0 where none shows; up to 30 evaluations.

    High differences of values at equal distances leave of a smooth function nothing and of noise a known multiple. What
    is smooth only makes them larger: the smallest level of several orders and distances counts, of those at
    which values differ.

    References
    ----------
    Moré & Wild (2011), Estimating computational noise, SIAM J. Sci. Comput. 33(3).
    """
    direction = np.random.default_rng(seed).choice([-1.0, 1.0], q.size) * np.maximum(1.0, np.abs(q))
    levels: list[float] = []
    for spacing in _NOISE_SPACINGS:
        values = np.empty(_N_NOISE_POINTS)
        for i in range(_N_NOISE_POINTS):
            values[i], _, code = model.evaluate(q + i * spacing * direction)
            raise_stored(model, code)
        if not np.all(np.isfinite(values)):
            break
        if np.count_nonzero(np.diff(values) == 0) >= _N_NOISE_POINTS // 2:
            continue  # too short to see the noise
        levels += [_noise_of_order(values, order) for order in _NOISE_ORDERS]
    return min(levels, default=0.0)


def _noise_of_order(values: np.ndarray, order: int) -> float:
    """Differences of noise with variance 1 have the variance (2 order)! / (order!)^2."""
    variance = np.prod(np.arange(order + 1, 2 * order + 1) / np.arange(1, order + 1))
    return float(np.sqrt(np.mean(np.diff(values, order) ** 2) / variance))


def displaced(model: Evaluates, point: Point, displacement: np.ndarray) -> Point | None:
    """A point off the flat one, but not so far that nothing of the density is left."""
    lowest = point.log_density - 10 - 2 * np.count_nonzero(displacement)
    for shrink in _SHRINKS:
        q = point.q + shrink * displacement
        log_density, gradient, code = model.evaluate(q)
        raise_stored(model, code)
        if code == FINE and log_density >= lowest:
            return Point(q, log_density, gradient)
    return None


def climb(model: Evaluates, point: Point) -> Point | None:
    """A point of higher density, as signs of the gradient lead there, or None; `_MAX_CLIMB` evaluations at most."""
    steps = 0.1 * np.maximum(1.0, np.abs(point.q))
    here = point
    for _ in range(_MAX_CLIMB):
        q = here.q + steps * np.sign(here.gradient)
        log_density, gradient, code = model.evaluate(q)
        raise_stored(model, code)
        if code != FINE or log_density <= here.log_density:
            steps *= 0.3
            continue
        steps *= np.where(gradient * here.gradient > 0, 1.3, 0.5)
        if log_density < here.log_density + _LEAST_GAIN:
            break  # at the mode itself slopes are too small to tell a wrong factor
        here = Point(q, log_density, gradient)
    return here if here.log_density > point.log_density + 1 else None


def raise_stored(model: Evaluates, code: int) -> None:
    """Raise what the density raised."""
    if code == EXCEPTION:
        raise model.take_exception() or RuntimeError(
            "the log density reported an exception (code 3) without saying which"
        )
