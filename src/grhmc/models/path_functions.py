"""Functions of the parameters whose averages are taken over the whole path, not only over the draws."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numba import carray
from numba.core import config

from grhmc.density_pointer import DENSITY_PROTOTYPE, DENSITY_SIGNATURE, EXCEPTION, FINE
from grhmc.guard_zones import GuardedVector, check_reads, check_writes


@dataclass(frozen=True)
class PathFunctionSet:
    """Compiled functions to average over time; make it with `path_functions_from_numba`.

    Attributes
    ----------
    address, user_data : int
        C function of the same form as a density: it writes its values where a density writes its
        gradient.
    names : tuple of str
    dim : int
        Length of the position it takes.
    keep_alive : tuple
        What owns the address.
    """

    address: int
    user_data: int
    names: tuple[str, ...]
    dim: int
    keep_alive: tuple[Any, ...]

    def check(self, dim: int) -> None:
        """Raise unless the functions are made for a model of `dim` coordinates."""
        if dim != self.dim:
            raise ValueError(f"path_functions are made for {self.dim} coordinates but the model has {dim}")


NO_FUNCTIONS = (0, 0, 0)


def compiled_functions(functions: PathFunctionSet | None) -> tuple[int, int, int]:
    """Address, user data and number of functions, as chains want them."""
    return NO_FUNCTIONS if functions is None else (functions.address, functions.user_data, len(functions.names))


def names_of(functions: PathFunctionSet | None) -> tuple[str, ...]:
    """Of the functions, if there are any."""
    return () if functions is None else functions.names


def path_functions_from_numba(f: Callable[..., None], dim: int, names: Sequence[str]) -> PathFunctionSet:
    """Functions of the unconstrained parameters, to average over the whole path.

    Parameters
    ----------
    f : callable
        ``f(q, output)``, jitted or plain Python that Numba can compile: reads `q`, shape (dim,),
        and writes every entry of `output`, shape (len(names),).
    dim : int
        Number of unconstrained coordinates.
    names : sequence of str
        One per function, distinct.

    Returns
    -------
    PathFunctionSet

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above, or `f` fails on a first call.

    Examples
    --------
    >>> import grhmc
    >>> def tail(q, output):
    ...     output[0] = 1.0 if q[0] > 2.0 else 0.0
    >>> functions = grhmc.path_functions_from_numba(tail, 1, ["P(x > 2)"])
    """
    if not callable(f):
        raise TypeError(f"f must be a function f(q, output), got {f!r}")
    names = tuple(names)
    if not names or len(set(names)) != len(names) or not all(isinstance(n, str) and n for n in names):
        raise ValueError(f"names must be distinct non-empty strings, one per function; got {names}")
    function: Any = f if hasattr(f, "py_func") else numba.njit(error_model="numpy", nogil=True)(f)
    n_functions = len(names)
    _check_at_zero(function, dim, n_functions)

    def evaluate(dim, q_pointer, output_pointer, unused_pointer, user_data):
        try:
            function(carray(q_pointer, (dim,)), carray(output_pointer, (n_functions,)))
        except Exception:
            return EXCEPTION
        return FINE

    if config.DISABLE_JIT:  # pyright: ignore[reportAttributeAccessIssue]
        callback = DENSITY_PROTOTYPE(_interpreted(function, n_functions))
        address = ctypes.cast(callback, ctypes.c_void_p).value or 0
        return PathFunctionSet(address, 0, names, dim, (callback, function))
    compiled: Any = numba.cfunc(DENSITY_SIGNATURE)(evaluate)
    return PathFunctionSet(compiled.address, 0, names, dim, (compiled, function))


def _check_at_zero(function: Callable[..., None], dim: int, n_functions: int) -> None:
    """Evaluate with room around the arrays, to see that the functions stay within them."""
    what = f"the function {getattr(function, '__name__', 'f')}"

    def outputs(filling: float) -> np.ndarray:
        q, output = GuardedVector(dim, filling), GuardedVector(n_functions)
        q.inside.fill(0.0)
        output.inside.fill(0.0)
        function(q.inside, output.inside)
        check_writes("output", output, what, "the number of names")
        check_writes("q", q, what)
        return output.inside.copy()

    check_reads(outputs, what, dim)


def _interpreted(function: Callable[..., None], n_functions: int) -> Callable[..., int]:
    """The same C function without compilation, for NUMBA_DISABLE_JIT=1."""

    def evaluate(dim: int, q_address: int, output_address: int, unused_address: int, user_data: int) -> int:
        try:
            q = np.ctypeslib.as_array(ctypes.cast(q_address, _DOUBLES), (dim,))
            function(q, np.ctypeslib.as_array(ctypes.cast(output_address, _DOUBLES), (n_functions,)))
        except Exception:
            return EXCEPTION
        return FINE

    return evaluate


_DOUBLES = ctypes.POINTER(ctypes.c_double)
