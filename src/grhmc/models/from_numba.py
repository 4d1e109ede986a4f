"""Models from functions that Numba can compile: the fastest way to write one's own density."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import config
from numba.extending import is_jitted

from grhmc.density_pointer import (
    DENSITY_SIGNATURE,
    EXCEPTION,
    FINE,
    NON_FINITE_DENSITY,
)
from grhmc.guard_zones import GuardedVector
from grhmc.models.from_python import PythonDensity
from grhmc.models.log_density import LogDensity
from grhmc.models.returned_number import check_returns_number
from grhmc.models.turns import must_take_turns, turn_functions
from grhmc.models.user_data import (
    as_data,
    data_reader,
    data_types,
    failing_position,
    fill_table,
    record_failure,
    vectors_at,
)
from grhmc.models.variables import Names, Variable, check_dim, parse_names, shapes_by_name


class NumbaDensity(LogDensity):
    """A log density compiled by Numba; made by `from_numba`, and derived from by front-ends that compile with Numba.

    With `exceptions_are_fatal` False, a place where the function raises is outside the support.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        dim: int,
        variables: Sequence[Variable],
        data: tuple[Any, ...],
        rebuild: tuple[Callable[..., LogDensity], tuple[Any, ...]] | None,
        *,
        coordinate_names: Sequence[str] | None = None,
        coords: Mapping[str, Sequence[Any]] | None = None,
        observed_data: Mapping[str, Any] | None = None,
        constant_data: Mapping[str, Any] | None = None,
        data_dims: Mapping[str, Sequence[str]] | None = None,
        exceptions_are_fatal: bool = True,
    ) -> None:
        self.data = data
        self._function = _jitted(f)
        self._described = f"the function {self._function.__name__}"
        compiled = _compile(
            self._function, data_types(self.data), EXCEPTION if exceptions_are_fatal else NON_FINITE_DENSITY
        )
        self._table = fill_table(self.data, dim)
        super().__init__(
            dim,
            compiled.address,
            user_data=self._table.ctypes.data,
            variables=variables,
            coordinate_names=coordinate_names,
            coords=coords,
            observed_data=observed_data,
            constant_data=constant_data,
            data_dims=data_dims,
            keep_alive=(compiled, self._table, self.data),
            rebuild=rebuild,
        )

    def take_exception(self) -> BaseException | None:
        """Evaluate once more where the function raised, now from Python: that gives the exception.

        Compiled code can only tell that there was one.
        """
        q = failing_position(self._table)
        if q is None:
            return None
        try:
            self._function(q, GuardedVector(self.dim).inside, *self.data)
        except ZeroDivisionError as error:
            error.add_note(
                "Compile the function with numba.njit(error_model='numpy') to get inf or nan "
                "from a division by zero; the sampler then takes the place to be outside the "
                "support."
            )
            return error
        except Exception as error:
            return error
        return RuntimeError(
            f"the compiled log density raised an exception at q = {q}, but not when called again "
            "there; it must depend on nothing but its arguments"
        )


def from_numba(f: Callable[..., float], dim: int, names: Names = None, *, data: Sequence[Any] = ()) -> LogDensity:
    """Make a model from a log density and gradient that Numba can compile.

    Parameters
    ----------
    f : callable
        ``f(q, grad, *data) -> log density``, jitted or plain Python. `q` and `grad` are float64
        arrays of shape (dim,). `f` reads `q`, writes **every** entry of `grad` (which holds
        anything on entry) and returns the log density up to a constant: -inf or nan outside the
        support, where `grad` does not matter. Several threads may run it at the same time.
    dim : int
        Number of parameters, at least 1.
    names : sequence of str, or mapping of str to shape, optional
        Names of the parameters: `dim` scalars, or variables whose sizes add up to `dim`. By
        default one variable ``x`` of shape (dim,).
    data : sequence of arrays and numbers, optional
        Further arguments of `f`. Arrays are copied (C order); int, float and bool stay scalars.
        Another model with the same `f` and data of the same types and numbers of axes is not
        compiled again.

    Returns
    -------
    LogDensity

    Raises
    ------
    TypeError
        If `f` is not callable, takes another number of arguments, cannot be compiled or does not
        return a real number; if `dim`, `names` or `data` have the wrong type.
    ValueError
        If `dim` is less than 1, or `names` do not fit it.

    Notes
    -----
    Numba reads global variables and closures once, when `f` is first compiled: what changes
    belongs into `data`. An exception raised in `f` ends the sampling. ``numba.njit(cache=True)``
    on `f` saves most of the compilation in the next process. A function with
    ``numba.njit(parallel=True)`` is evaluated by one chain at a time where Numba has only its own
    threading layer, "workqueue", which two threads must not enter at once.

    Examples
    --------
    >>> import numba, grhmc
    >>> @numba.njit
    ... def normal(q, grad, mean, sd):
    ...     log_density = 0.0
    ...     for j in range(q.size):
    ...         z = (q[j] - mean[j]) / sd[j]
    ...         grad[j] = -z / sd[j]
    ...         log_density -= 0.5 * z * z
    ...     return log_density
    >>> model = grhmc.from_numba(normal, 2, ["a", "b"], data=([0.0, 1.0], [1.0, 10.0]))
    """
    if not (is_jitted(f) or inspect.isfunction(f)):
        raise TypeError(
            f"f must be a function f(q, grad) -> log density, plain or jitted, got {f!r}; wrap "
            "other callables in a function, or use from_python"
        )
    dim = check_dim(dim)
    variables = parse_names(names, dim)
    items = as_data(data)
    _check_arguments(f, len(items))
    rebuild = (from_numba_positional, (f, dim, shapes_by_name(variables), items))
    if config.DISABLE_JIT:  # pyright: ignore[reportAttributeAccessIssue]
        return PythonDensity(_interpreted(f, items), dim, variables, rebuild)
    return NumbaDensity(f, dim, variables, items, rebuild)


def from_numba_positional(f: Callable[..., float], dim: int, names: Names, data: Sequence[Any]) -> LogDensity:
    """`from_numba` as unpickling calls it."""
    return from_numba(f, dim, names, data=data)


def _check_arguments(f: Callable[..., Any], n_data: int) -> None:
    n_arguments = 2 + n_data
    signature = inspect.signature(getattr(f, "py_func", f))
    try:
        signature.bind(*range(n_arguments))
    except TypeError:
        raise TypeError(
            f"f must take {n_arguments} arguments, q, grad and {n_data} from data; its signature "
            f"is {getattr(f, '__name__', 'f')}{signature}"
        ) from None


@functools.lru_cache(maxsize=128)
def _jitted(f: Callable[..., Any]) -> Any:
    if is_jitted(f):
        return f
    # Division by zero then gives inf or nan, "outside the support", instead of an exception.
    return numba.njit(error_model="numpy", nogil=True)(f)


@functools.lru_cache(maxsize=128)
def _compile(function: Any, item_types: tuple[types.Type, ...], code_of_exception: int) -> Any:
    """Wrap a jitted function as a C function that reads its data from the user pointer."""
    read_data = data_reader(item_types)
    _check_return_type(function, item_types)

    wait_for_turn, end_turn = turn_functions(must_take_turns(function))

    @numba.njit
    def call(dim, q_pointer, gradient_pointer, user_data):
        q, gradient = vectors_at(dim, q_pointer, gradient_pointer)  # pyright: ignore[reportCallIssue]
        return function(q, gradient, *read_data(user_data))

    def density(dim, q_pointer, gradient_pointer, log_density_pointer, user_data):
        wait_for_turn()
        # Without this Numba would print the exception and return FINE. It costs less than 1 ns.
        try:
            log_density = call(dim, q_pointer, gradient_pointer, user_data)
        except Exception:
            end_turn()
            record_failure(dim, q_pointer, user_data)  # pyright: ignore[reportCallIssue]
            return code_of_exception
        end_turn()
        log_density_pointer[0] = log_density
        if log_density - log_density == 0.0:  # finite; np.isfinite takes 0.1 s to compile
            return FINE
        return NON_FINITE_DENSITY

    return numba.cfunc(DENSITY_SIGNATURE)(density)


def _check_return_type(function: Any, item_types: tuple[types.Type, ...]) -> None:
    vector = types.Array(types.float64, 1, "C")
    arguments = (vector, vector, *item_types)
    written = ", ".join(map(str, arguments))
    check_returns_number(
        function,
        arguments,
        f"from_numba cannot compile {function.__name__} for the arguments ({written}); change the function, or use "
        "from_python for one that Numba cannot compile. Numba",
        f"{function.__name__} must return the log density, a real number, but it returns",
    )


def _interpreted(f: Callable[..., Any], data: tuple[Any, ...]) -> Callable[[np.ndarray], tuple[Any, np.ndarray]]:
    """Serve the function from the interpreter, as NUMBA_DISABLE_JIT=1 asks for."""

    def value_and_gradient(q: np.ndarray) -> tuple[Any, np.ndarray]:
        gradient = np.full(q.size, np.nan)
        return f(q, gradient, *data), gradient

    return value_and_gradient
