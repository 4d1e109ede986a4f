"""The base rate of events that a user gives: the name of one, or a function of one's own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from grhmc.argument_checks import check_choice
from grhmc.settings.names import EVENT_RATE_KINDS

EventRateFunction = Callable[[np.ndarray, np.ndarray], float]
"""``f(q_bar, p_bar)``: two float64 arrays of shape (dim,) to a positive number."""

_N_PLACES = 64


def parse_event_rate_kind(kind: Any) -> Any:
    """A name as it is; a function jitted, so that it can be compiled into the sampler and sent to other processes.

    Raises
    ------
    TypeError, ValueError
        If it is neither.
    """
    if not callable(kind):
        check_choice("event_rate_kind", kind, EVENT_RATE_KINDS, " or a function f(q_bar, p_bar) of one's own")
        return kind
    if not (hasattr(kind, "py_func") or inspect.isfunction(kind)):
        raise TypeError(
            f"event_rate_kind must be a function f(q_bar, p_bar), plain or jitted by Numba, got {kind!r}; wrap other "
            "callables in a function"
        )
    try:
        inspect.signature(getattr(kind, "py_func", kind)).bind(0, 1)
    except TypeError:
        raise TypeError(
            "event_rate_kind must be a function of two arguments, q_bar and p_bar; its signature is "
            f"{kind.__name__}{inspect.signature(getattr(kind, 'py_func', kind))}"
        ) from None
    return _jitted(kind)


@functools.lru_cache(maxsize=128)
def _jitted(function: Callable[..., Any]) -> Callable[..., Any]:
    if hasattr(function, "py_func"):
        return function
    import numba

    # A division by zero gives inf, which is named as no rate, instead of an exception without words.
    return numba.njit(error_model="numpy", nogil=True)(function)


@functools.lru_cache(maxsize=128)
def typical_rate(function: EventRateFunction, dim: int) -> float:
    """Its geometric mean over places and momenta from N(0, I): the unit that λ is begun in.

    Raises
    ------
    ValueError
        If it is not positive and finite there, or raises.
    """
    rng = np.random.default_rng(dim)
    logarithms = []
    for _ in range(_N_PLACES):
        position, momentum = rng.standard_normal((2, dim))
        place = f"at q_bar = {shown_vector(position)}, p_bar = {shown_vector(momentum)}"
        try:
            rate = float(function(position.copy(), momentum.copy()))
        except Exception as error:
            raise ValueError(
                f"the function given as event_rate_kind raised {type(error).__name__}: {error}, {place}"
            ) from error
        if not (rate > 0.0 and np.isfinite(rate)):
            raise ValueError(
                f"the function given as event_rate_kind is {rate!r} {place}; a rate must be positive and finite "
                "everywhere"
            )
        logarithms.append(np.log(rate))
    return float(np.exp(np.mean(logarithms)))


def shown_vector(vector: np.ndarray) -> str:
    """The first and last entries, for messages."""
    return np.array2string(vector, precision=4, threshold=8, edgeitems=3)
