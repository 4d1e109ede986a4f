"""A model's variables at draws of which some may fail: what could be computed, and a count of what could not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from grhmc.models.protocol import Constrains


class Outputs(NamedTuple):
    """A model's variables at n draws.

    Attributes
    ----------
    values : dict of str to ndarray, shape (n, *shape)
        NaN where they could not be computed.
    failed : dict of str to int
        In how many draws each variable could not be computed; without those that never failed.
    message : str
        What went wrong, at the last draw that failed.
    """

    values: dict[str, np.ndarray]
    failed: dict[str, int]
    message: str


def constrain_each(model: Constrains, draws: np.ndarray) -> Outputs:
    """`model.constrain`, and where that raises an exception, draw by draw: those that fail are NaN.

    Parameters
    ----------
    model : LogDensity, or anything else with `constrain`
    draws : ndarray, shape (n, dim)
        At least one.

    Raises
    ------
    Exception
        What `constrain` raised, if it did at every draw.
    ValueError
        If it returned a variable of the wrong length.
    """
    parts, error = [], None
    for first, last, found in _halves(model, draws, 0, len(draws)):
        if isinstance(found, Exception):
            error = found
        else:
            parts.append((first, last, found))
    if error is None:
        return Outputs({name: np.asarray(values) for name, values in parts[0][2].items()}, {}, "")
    if not parts:
        raise error
    values = _join(parts, len(draws))
    n_failed = len(draws) - sum(last - first for first, last, _ in parts)
    return Outputs(values, dict.fromkeys(values, n_failed), describe(error))


def describe(error: BaseException) -> str:
    """An exception in a line: the first one of its message."""
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def _halves(
    model: Constrains, draws: np.ndarray, first: int, last: int
) -> Iterator[tuple[int, int, Mapping[str, np.ndarray] | Exception]]:
    """The variables of draws from `first` to `last`; where they fail, of each half, down to single draws."""
    try:
        found = check_lengths(model.constrain(draws[first:last]), last - first)
    except OutputsError:
        raise
    except Exception as error:  # also a MemoryError, which halves may not meet
        if last - first == 1:
            yield first, last, error
            return
        middle = (first + last) // 2
    else:
        yield first, last, found
        return
    yield from _halves(model, draws, first, middle)
    yield from _halves(model, draws, middle, last)


class OutputsError(ValueError):
    """`constrain` returned what no draw can have."""


def check_lengths(values: Mapping[str, np.ndarray], n_draws: int) -> dict[str, np.ndarray]:
    """The variables as arrays, with one value per draw each.

    Raises
    ------
    ValueError
        If there are more or fewer.
    """
    arrays = {name: np.asarray(array) for name, array in values.items()}
    for name, array in arrays.items():
        if array.shape[:1] != (n_draws,):
            raise OutputsError(
                f"the model's constrain() must return one value of {name!r} per draw, {n_draws} of them; it returned "
                f"shape {array.shape}"
            )
    return arrays


def _join(parts: Sequence[tuple[int, int, Mapping[str, np.ndarray]]], n_draws: int) -> dict[str, np.ndarray]:
    """Put parts in their places, with NaN between them."""
    joined: dict[str, np.ndarray] = {}
    for name in parts[0][2]:
        dtype = np.result_type(*{part[name].dtype for _, _, part in parts}, np.float64)
        joined[name] = np.full((n_draws, *parts[0][2][name].shape[1:]), np.nan, dtype=dtype)
        for first, last, part in parts:
            joined[name][first:last] = part[name]
    return joined
