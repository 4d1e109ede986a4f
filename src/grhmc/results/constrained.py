"""The model's variables of all chains' draws: views where they are its coordinates, else computed piece by piece."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from grhmc.models.log_density import LogDensity
from grhmc.models.outputs import Outputs, OutputsError, check_lengths, describe

_NUMBERS_AT_ONCE = 2**19
# Of what is computed in one piece: 4 MB, so that the pieces take little memory beside the result.


def constrained(
    model: LogDensity,
    draws: np.ndarray,
    interruptible: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> Outputs:
    """The variables, NaN where they cannot be computed, and how often that was.

    Parameters
    ----------
    model : LogDensity
    draws : ndarray, shape (chains, draws, dim)
        Unconstrained.
    interruptible : callable
        Makes the context in which the model's code runs.

    Returns
    -------
    Outputs
        With values of shape (chains, draws, *shape).

    Raises
    ------
    Exception
        What the model's `constrain` raised, if it did at every draw.
    """
    n_chains, n_draws, dim = draws.shape
    if n_draws == 0:  # a front-end need not know what to do with no draws at all
        return Outputs({v.name: np.zeros((n_chains, 0, *v.shape)) for v in model.variables}, {}, "")
    if type(model).constrain is LogDensity.constrain:
        return Outputs(_columns(model, draws), {}, "")
    values: dict[str, np.ndarray] = {}
    failed: dict[str, int] = {}
    message, missing, last_error = "", [], None
    size = max(dim, sum(variable.size for variable in model.variables))
    n_at_once = 1 << max(0, (_NUMBERS_AT_ONCE // size).bit_length() - 1)  # a power of 2: JAX compiles for each
    for chain in range(n_chains):
        for first in range(0, n_draws, n_at_once):
            rows = draws[chain, first : first + n_at_once]
            try:
                with interruptible():
                    part = model.constrain_each(rows)
            except OutputsError:
                raise
            except Exception as error:  # at every draw of this piece
                missing.append((chain, first, len(rows)))
                last_error = error
                continue
            _put(values, check_lengths(part.values, len(rows)), (n_chains, n_draws), chain, first)
            for name, count in part.failed.items():
                failed[name] = failed.get(name, 0) + count
            message = part.message or message
    if last_error is not None:
        if not values:
            raise last_error
        message = describe(last_error)
    for chain, first, length in missing:
        for name, array in values.items():
            nothing = np.full((length, *array.shape[2:]), np.nan)
            _put(values, {name: nothing}, (n_chains, n_draws), chain, first)
            failed[name] = failed.get(name, 0) + length
    return Outputs(values, failed, message)


def _columns(model: LogDensity, draws: np.ndarray) -> dict[str, np.ndarray]:
    """Variables that are coordinates, as views of the draws."""
    columns, start = {}, 0
    for variable in model.variables:
        part = draws[..., start : start + variable.size]
        columns[variable.name] = part.reshape(*draws.shape[:2], *variable.shape)
        start += variable.size
    return columns


def _put(
    values: dict[str, np.ndarray], part: dict[str, np.ndarray], shape: tuple[int, int], chain: int, first: int
) -> None:
    """Write a piece of each variable to its place; where one piece has NaN the whole variable is real."""
    for name, rows in part.items():
        if name not in values:
            values[name] = np.empty((*shape, *rows.shape[1:]), dtype=rows.dtype)
        dtype = np.result_type(values[name], rows)
        values[name] = values[name].astype(dtype, copy=False)
        values[name][chain, first : first + len(rows)] = rows
