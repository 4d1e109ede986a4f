"""Models from Python functions: any library, at the price of a call into Python per gradient."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from grhmc.density_pointer import (
    DENSITY_PROTOTYPE,
    EXCEPTION,
    FINE,
    NON_FINITE_DENSITY,
)
from grhmc.models.log_density import LogDensity
from grhmc.models.variables import Names, Variable, check_dim, parse_names, shapes_by_name


class PythonDensity(LogDensity):
    """A log density that is a Python function behind a C callback; made by `from_python`, `from_jax`, `from_torch`."""

    _stays_within_q = True  # the callback copies `dim` numbers

    def __init__(
        self,
        f: Callable[[np.ndarray], Any],
        dim: int,
        variables: Sequence[Variable],
        rebuild: tuple[Callable[..., LogDensity], tuple[Any, ...]],
        *,
        coordinate_names: Sequence[str] | None = None,
        coords: Mapping[str, Sequence[Any]] | None = None,
        observed_data: Mapping[str, Any] | None = None,
        constant_data: Mapping[str, Any] | None = None,
        data_dims: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._exceptions: list[BaseException] = []
        callback = _make_callback(f, dim, self._exceptions)
        super().__init__(
            dim,
            ctypes.cast(callback, ctypes.c_void_p).value or 0,
            variables=variables,
            coordinate_names=coordinate_names,
            coords=coords,
            observed_data=observed_data,
            constant_data=constant_data,
            data_dims=data_dims,
            keep_alive=(callback,),
            rebuild=rebuild,
        )

    def take_exception(self) -> BaseException | None:
        """The first exception since the last call, with its traceback, or None."""
        if not self._exceptions:
            return None
        exception = self._exceptions[0]
        self._exceptions.clear()
        return exception


def from_python(f: Callable[[np.ndarray], Any], dim: int, names: Names = None) -> LogDensity:
    """Make a model from a Python function that returns the log density and its gradient.

    Parameters
    ----------
    f : callable
        ``f(q) -> (log density, gradient)``. `q` is a fresh float64 array of shape (dim,); the log
        density a real number (a Python or NumPy scalar, or an array without axes), up to a
        constant, -inf or nan outside the support; the gradient anything that NumPy turns into a
        real array of shape (dim,).
    dim : int
        Number of parameters, at least 1.
    names : sequence of str, or mapping of str to shape, optional
        Names of the parameters: `dim` scalars, or variables whose sizes add up to `dim`. By
        default one variable ``x`` of shape (dim,).

    Returns
    -------
    LogDensity
        Each evaluation takes Python's lock: chains in threads take turns.

    Raises
    ------
    TypeError
        If `f` is not callable, or `dim` or `names` have the wrong type.
    ValueError
        If `dim` is less than 1, or `names` do not fit it.

    Notes
    -----
    An exception in `f`, or a result that is not as described, ends the sampling. The callback
    costs a few microseconds per evaluation beyond `f` itself; `from_numba` has no such cost.

    Examples
    --------
    >>> import grhmc
    >>> model = grhmc.from_python(lambda q: (-0.5 * q @ q, -q), 3, {"beta": 3})
    """
    if not callable(f):
        raise TypeError(f"f must be a function f(q) -> (log density, gradient), got {f!r}")
    dim = check_dim(dim)
    variables = parse_names(names, dim)
    return PythonDensity(f, dim, variables, (from_python, (f, dim, shapes_by_name(variables))))


def _make_callback(f: Callable[[np.ndarray], Any], dim: int, exceptions: list[BaseException]) -> Any:
    n_bytes = 8 * dim

    def callback(_dim, q_address, gradient_address, log_density_address, _user_data):
        try:
            q = np.frombuffer(bytearray(ctypes.string_at(q_address, n_bytes)))
            log_density, gradient = _split(f(q))
            ctypes.c_double.from_address(log_density_address).value = log_density
            if not math.isfinite(log_density):
                return NON_FINITE_DENSITY
            ctypes.memmove(gradient_address, _as_gradient(gradient, dim).tobytes(), n_bytes)
        except BaseException as exception:  # also KeyboardInterrupt: it must not be lost in C
            if not exceptions:
                exceptions.append(exception)
            return EXCEPTION
        return FINE

    return DENSITY_PROTOTYPE(callback)


def _split(result: Any) -> tuple[float, Any]:
    if not isinstance(result, tuple | list) or len(result) != 2:
        got = f"{len(result)} values" if isinstance(result, tuple | list) else repr(result)
        raise TypeError(f"the function must return two values, (log density, gradient), but it returned {got}")
    log_density, gradient = result
    if isinstance(log_density, float):
        return log_density, gradient
    _reject_masked_result("log density", log_density)
    value = np.asarray(log_density)
    if value.ndim != 0 or value.dtype.kind not in "biuf":
        raise TypeError(
            "the log density must be a real number, or an array without axes, but the function "
            f"returned {type(log_density).__name__} (as an array: dtype {value.dtype}, shape "
            f"{value.shape})"
        )
    return float(value), gradient


def _as_gradient(gradient: Any, dim: int) -> np.ndarray:
    _reject_masked_result("gradient", gradient)
    array = np.asarray(gradient)
    if array.dtype.kind not in "biuf":
        raise TypeError(
            f"the gradient must be an array of {dim} real numbers, but the function returned "
            f"{type(gradient).__name__} (as an array: dtype {array.dtype})"
        )
    if array.shape != (dim,):
        raise ValueError(
            f"the gradient must have shape ({dim},), one entry per parameter, but the function "
            f"returned shape {array.shape}"
        )
    return array.astype(np.float64, copy=False)


def _reject_masked_result(what: str, result: Any) -> None:
    """Raise if masked data have made a result masked, too: as a plain number it is what lies under the mask."""
    if isinstance(result, np.ma.MaskedArray) and np.ma.is_masked(result):
        raise ValueError(
            f"the {what} that the function returned is masked, so it has no value; is there a masked array among its "
            "data? Leave masked entries out, for instance by .compressed(), or make them parameters of the model"
        )
