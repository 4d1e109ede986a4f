"""Guard zones: room around the arrays that a compiled function gets, to see what it writes or reads beyond them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grhmc.density_pointer import call_density

FILLING = 0.6180339887498949
"""What a zone holds: hardly what a function would write, and not so large that adding to it changes nothing."""

_OTHER_FILLINGS = (np.nan, -FILLING)  # NaN makes nearly any use of it show; a comparison may need another sign
_SMALLEST_ZONE, _LARGEST_ZONE = 64, 8192


class GuardedVector:
    """A vector in the middle of a larger buffer, whose ends nobody but its owner should touch.

    Parameters
    ----------
    size : int
    filling : float, optional
        Of the whole buffer at first.

    Attributes
    ----------
    inside : ndarray, shape (size,)
        The vector.
    """

    def __init__(self, size: int, filling: float = FILLING) -> None:
        n_guard = min(max(_SMALLEST_ZONE, 4 * size), _LARGEST_ZONE)
        buffer = np.full(size + 2 * n_guard, filling)
        self.inside = buffer[n_guard : n_guard + size]
        self._before = buffer[:n_guard].view(np.int64)  # as integers: NaN is not equal to itself
        self._after = buffer[n_guard + size :].view(np.int64)
        self._untouched = np.float64(filling).view(np.int64)

    def written(self) -> np.ndarray:
        """Indices outside the vector that were written to, counted from its first entry."""
        before = np.flatnonzero(self._before != self._untouched) - self._before.size
        return np.append(before, np.flatnonzero(self._after != self._untouched) + self.inside.size)


def check_writes(name: str, vector: GuardedVector, what: str, length: str = "dim") -> None:
    """Raise a ValueError if a function wrote beyond a vector.

    Parameters
    ----------
    name : str
        Of the vector.
    vector : GuardedVector
    what : str
        The function, for the message.
    length : str, optional
        What the length of the vector is called.
    """
    written = vector.written()
    if written.size:
        entries = f"{name}[{written[0]}]" + (f" to {name}[{written[-1]}]" if written.size > 1 else "")
        raise ValueError(
            f"{what} writes {entries}, but {length} is {vector.inside.size}: the last entry is "
            f"{name}[{vector.inside.size - 1}]. While sampling that would destroy other data in memory. "
            f"Is {length} too small for the function, or a loop too long?"
        )


def check_reads(evaluate: Callable[[float], np.ndarray], what: str, dim: int) -> None:
    """Raise a ValueError if a function's results depend on what lies in memory around q.

    A function whose results differ with the same surroundings, too, is not accused: it is random, or remembers.

    Parameters
    ----------
    evaluate : callable
        ``evaluate(filling) -> results`` at one and the same q, in zones that hold `filling`.
    what : str
        The function, for the message.
    dim : int
        Length of q.
    """
    first = evaluate(FILLING)
    for filling in _OTHER_FILLINGS:
        other = evaluate(filling)
        if _same(first, other):
            continue
        if _same(evaluate(FILLING), first) and _same(evaluate(filling), other) and _same(evaluate(FILLING), first):
            raise ValueError(
                f"{what} reads beyond its argument q: its results depend on what lies in memory behind q[{dim - 1}] or "
                f"before q[0], and dim is {dim}. Is dim too small for the function, or a loop too long?"
            )
        return


def call_guarded(
    function: Any, user_data: int, q: np.ndarray, what: str, filling: float = FILLING
) -> tuple[float, np.ndarray, int]:
    """Call a `DENSITY_PROTOTYPE` function at `q` with zones around q and the gradient.

    Returns
    -------
    log_density : float
    gradient : ndarray, shape (dim,)
    code : int

    Raises
    ------
    ValueError
        If it writes beyond the gradient, or at all to q.
    """
    point, gradient = GuardedVector(q.size, filling), GuardedVector(q.size)
    point.inside[:] = q
    log_density, code = call_density(function, user_data, point.inside, gradient.inside)
    check_writes("gradient", gradient, what)
    check_writes("q", point, what)
    if not np.array_equal(point.inside, q, equal_nan=True):
        raise ValueError("the log density changes its argument q; it must only read it")
    return log_density, gradient.inside.copy(), code


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return np.array_equal(one, other, equal_nan=True)
