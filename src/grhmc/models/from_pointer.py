"""Models from a compiled C function: from C, C++, Rust, Julia, or another sampler's model."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from grhmc.models.log_density import LogDensity
from grhmc.models.variables import Names, check_dim, parse_names


def from_pointer(
    address: int,
    dim: int,
    names: Names = None,
    *,
    user_data: int = 0,
    keep_alive: Sequence[Any] = (),
) -> LogDensity:
    """Make a model from the address of a compiled log density.

    Parameters
    ----------
    address : int
        Address of ``int64_t f(uint64_t dim, const double *q, double *grad, double *logp, void
        *user)``. It reads `q`, writes all of `grad` and `logp`, and returns 0; or 1 or 2 where the
        log density or the gradient is not finite (the sampler turns back there), or 3 to end the
        sampling. Several threads may call it at the same time, without Python's lock.
    dim : int
        Number of parameters, at least 1.
    names : sequence of str, or mapping of str to shape, optional
        Names of the parameters: `dim` scalars, or variables whose sizes add up to `dim`. By
        default one variable ``x`` of shape (dim,).
    user_data : int, optional
        Address handed to the function as `user`; 0 for NULL.
    keep_alive : sequence, optional
        Objects that own what `address` and `user_data` lead to (a `ctypes.CDLL`, arrays).

    Returns
    -------
    LogDensity
        It cannot be pickled: an address means nothing in another process.

    Raises
    ------
    TypeError, ValueError
        If `address` or `user_data` is not an address, `dim` not an integer of at least 1, or
        `names` do not fit it. Nothing can tell a wrong address from a right one: the first call
        then crashes.

    Examples
    --------
    >>> import ctypes, grhmc
    >>> library = ctypes.CDLL("./density.so")  # doctest: +SKIP
    >>> address = ctypes.cast(library.density, ctypes.c_void_p).value  # doctest: +SKIP
    >>> model = grhmc.from_pointer(address, 3, keep_alive=[library])  # doctest: +SKIP
    """
    dim = check_dim(dim)
    return LogDensity(
        dim,
        _check_address("address", address, minimum=1),
        user_data=_check_address("user_data", user_data, minimum=0),
        variables=parse_names(names, dim),
        keep_alive=tuple(keep_alive),
    )


def _check_address(argument: str, value: Any, *, minimum: int) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(
            f"{argument} must be an address as an integer, got {type(value).__name__}; for a "
            "ctypes function or pointer write ctypes.cast(it, ctypes.c_void_p).value"
        )
    number = operator.index(value)
    if not minimum <= number < 2**64:
        raise ValueError(f"{argument} must be an address from {minimum} to 2**64 - 1, got {number}")
    return number
