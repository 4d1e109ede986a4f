"""What Numba says of a user's function before it is compiled into another: that it can be, and returns a number."""

from __future__ import annotations

from typing import Any

import numba
from numba import types
from numba.core import errors
from numba.core.registry import cpu_target


def check_returns_number(function: Any, arguments: tuple[types.Type, ...], cannot_compile: str, must: str) -> None:
    """Raise unless Numba can compile a jitted function for these types of arguments, and it returns a real number.

    Parameters
    ----------
    function : callable
        Jitted.
    arguments : tuple of Numba's types
    cannot_compile : str
        What the error says before Numba's own words.
    must : str
        What the error says before the type that it returns instead.

    Raises
    ------
    TypeError
    """
    try:
        function_type: Any = numba.typeof(function)
        signature = function_type.get_call_type(cpu_target.typing_context, arguments, {})
    except errors.NumbaError as error:
        raise TypeError(f"{cannot_compile} says:\n{error}") from error
    result = signature.return_type
    if not isinstance(result, types.Float | types.Integer | types.Boolean):
        hint = " (is the return statement missing?)" if result == types.none else ""
        raise TypeError(f"{must} {result}{hint}")
