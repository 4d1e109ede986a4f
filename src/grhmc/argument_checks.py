"""Checks of what users pass, with errors that say which argument, its value, and what is accepted. Imports no layer."""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np


def check_choice(name: str, value: Any, accepted: Collection[str], otherwise: str = "") -> None:
    """Raise unless `value` is one of the accepted strings."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be one of {_quoted(accepted)}{otherwise}, got {value!r}")
    if value not in accepted:
        raise ValueError(f"{name} must be one of {_quoted(accepted)}{otherwise}, got {value!r}")


def check_count(name: str, value: Any, *, at_least: int) -> None:
    """Raise unless `value` is an integer that is large enough."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer of {at_least} or more, got {value!r}")
    if value < at_least:
        raise ValueError(f"{name} must be {at_least} or more, got {value}")


def check_number(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
) -> None:
    """Raise unless `value` is a finite real number within bounds."""
    bounds = [
        f"{words} {bound:g}"
        for words, bound in (("greater than", above), ("at least", at_least), ("less than", below))
        if bound is not None
    ]
    wanted = f"{name} must be a finite number" + (f", {' and '.join(bounds)}" if bounds else "")
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{wanted}; got {value!r}")
    number = float(value)
    outside = (
        (above is not None and not number > above)
        or (at_least is not None and not number >= at_least)
        or (below is not None and not number < below)
    )
    if outside or not math.isfinite(number):
        raise ValueError(f"{wanted}; got {value!r}")


def as_vector(name: str, value: Any, dim: int) -> np.ndarray:
    """A fresh float64 array of shape (dim,) with finite entries, or an error that says what is wrong."""
    array = as_real_array(name, value, f"an array of {dim} real numbers")
    if array.shape != (dim,):
        raise ValueError(f"{name} must have shape ({dim},), got {array.shape}")
    if not np.all(np.isfinite(array)):
        bad = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(f"{name} must be finite; entry {bad} is {array[bad]}")
    return array


def as_real_array(name: str, value: Any, accepted: str) -> np.ndarray:
    """A fresh float64 array of any shape, or an error: None, texts and complex numbers are no real numbers."""
    reject_masked(name, value)
    try:
        array = np.asarray(value)
    except ValueError:  # rows of unequal length
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be {accepted}, got {value!r}")
    return np.array(array, dtype=np.float64)


def reject_masked(name: str, value: Any) -> None:
    """Raise if an array has masked entries: as a plain array they would count as observed."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ValueError(
            f"{name} is a masked array with {np.ma.count_masked(value)} masked entries, and the mask would be lost: "
            "leave them out, for instance by .compressed(), or make them parameters of the model"
        )
    if isinstance(value, list | tuple):
        for part in value:
            reject_masked(name, part)
    elif isinstance(value, Mapping):
        for key, part in value.items():
            reject_masked(f"{name}[{key!r}]", part)


def _quoted(accepted: Collection[str]) -> str:
    return ", ".join(repr(choice) for choice in accepted)
