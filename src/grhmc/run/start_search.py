"""Where to look for a start when the usual tries have failed: other radii, orthants and diagonals, up to a budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

SMALLEST, LARGEST = 1e-3, 1e3
"""Sizes of the coordinates that are tried."""

_RADII = (0.1, 0.5, 5.0, 20.0, 100.0, 300.0, 1000.0)
_PER_RADIUS = 100
_ON_DIAGONAL = 300
_ELSEWHERE = 350
BUDGET = _PER_RADIUS * len(_RADII) + 2 * _ON_DIAGONAL + 2 * _ELSEWHERE
"""Evaluations at most until a point is found."""

_SPREADS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003)

Try = Callable[[np.ndarray], np.ndarray | None]


def search_start(try_point: Try, rng: np.random.Generator, dim: int) -> tuple[np.ndarray, np.ndarray] | None:
    """A point where `try_point` gives a gradient, and that gradient; None after `BUDGET` points without one.

    -inf of a bounded support does not tell which coordinate is at fault, so whole points are guessed. A support is
    found if it holds a good part of a cube around 0, or a point with all coordinates equal (a box [10, 11] in each of
    any number of coordinates), or if it is wide and there are few coordinates.
    """
    for point in _guesses(rng, dim):
        gradient = try_point(point)
        if gradient is not None:
            return _spread(try_point, rng, point, gradient)
    return None


def _guesses(rng: np.random.Generator, dim: int) -> Iterator[np.ndarray]:
    for radius in _RADII:
        for _ in range(_PER_RADIUS):
            yield rng.uniform(-radius, radius, dim)
    ratio = (LARGEST / SMALLEST) ** (1.0 / _ON_DIAGONAL)  # 5 percent
    for size in SMALLEST * ratio ** (np.arange(_ON_DIAGONAL) + rng.uniform()):
        for sign in (1.0, -1.0):
            yield np.full(dim, sign * size)
    for _ in range(_ELSEWHERE):
        # A random orthant with one size, and with a size for each coordinate.
        yield rng.choice((-1.0, 1.0), dim) * _log_uniform(rng, 1)
        yield rng.choice((-1.0, 1.0), dim) * _log_uniform(rng, dim)


def _log_uniform(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.exp(rng.uniform(np.log(SMALLEST), np.log(LARGEST), n))


def _spread(
    try_point: Try, rng: np.random.Generator, point: np.ndarray, gradient: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A random point near by, as far as the support allows: chains that find the same place start apart."""
    for spread in _SPREADS:
        other = point + spread * np.max(np.abs(point)) * rng.uniform(-1.0, 1.0, len(point))
        gradient_there = try_point(other)
        if gradient_there is not None:
            return other, gradient_there
    return point, gradient
