"""Event rates of one's own, compiled: a C function behind a function of standardized position and momentum."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import carray, types
from numba.core import config

from grhmc.density_pointer import DENSITY_PROTOTYPE, DENSITY_SIGNATURE, EXCEPTION, FINE
from grhmc.models.returned_number import check_returns_number
from grhmc.models.turns import must_take_turns, turn_functions

_VECTOR = types.Array(types.float64, 1, "C")


class CompiledRate(NamedTuple):
    """Address of the C function, and what owns it."""

    address: int
    keep_alive: tuple[Any, ...]


@functools.lru_cache(maxsize=128)
def compiled_event_rate(function: Any) -> CompiledRate:
    """Compile a jitted ``f(q_bar, p_bar) -> rate`` as a C function, once.

    Raises
    ------
    TypeError
        If it cannot be compiled, or does not return a real number.
    """
    if config.DISABLE_JIT:  # pyright: ignore[reportAttributeAccessIssue]
        callback = DENSITY_PROTOTYPE(_interpreted(function))
        return CompiledRate(ctypes.cast(callback, ctypes.c_void_p).value or 0, (callback, function))
    check_returns_number(
        function,
        (_VECTOR, _VECTOR),
        f"event_rate_kind: Numba cannot compile {function.__name__}(q_bar, p_bar) for two float64 arrays. It",
        f"event_rate_kind: {function.__name__} must return the rate, a positive number, but returns",
    )
    wait_for_turn, end_turn = turn_functions(must_take_turns(function))

    def rate(dim, position_pointer, momentum_pointer, rate_pointer, unused):
        wait_for_turn()
        # Without this Numba would print the exception and return FINE.
        try:
            found = function(carray(position_pointer, (dim,)), carray(momentum_pointer, (dim,)))
        except Exception:
            end_turn()
            return EXCEPTION
        end_turn()
        rate_pointer[0] = found
        return FINE

    compiled: Any = numba.cfunc(DENSITY_SIGNATURE)(rate)
    return CompiledRate(compiled.address, (compiled, function))


def _interpreted(function: Callable[..., Any]) -> Callable[..., int]:
    """The same C function without compilation, for NUMBA_DISABLE_JIT=1."""

    def rate(dim: int, position: int, momentum: int, output: int, unused: int) -> int:
        try:
            vectors = [np.ctypeslib.as_array(ctypes.cast(each, _DOUBLES), (dim,)) for each in (position, momentum)]
            ctypes.cast(output, _DOUBLES)[0] = float(function(*vectors))
        except Exception:
            return EXCEPTION
        return FINE

    return rate


_DOUBLES = ctypes.POINTER(ctypes.c_double)
