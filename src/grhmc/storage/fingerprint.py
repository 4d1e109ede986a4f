"""What a run on disk must have in common with the model and the software that go on with it."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numba
import numpy as np

from grhmc._version import __version__
from grhmc.models.log_density import LogDensity

_AGREE = 1e-9
# Relative difference of log densities and gradients: compilers may round in other ways, another model is further off.


class DifferentRunError(ValueError):
    """A run on disk cannot be continued, because the model or the version of grhmc is another one."""


def software() -> dict[str, str]:
    """Versions that the last bits of draws depend on."""
    return {
        "grhmc": __version__,
        "numba": numba.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
    }


def describe_model(model: LogDensity) -> dict[str, Any]:
    """Names, shapes and dimensions, as JSON holds them."""
    return {
        "dim": model.dim,
        "coordinates": list(map(str, model.coordinate_names)),
        "variables": [[v.name, list(v.shape), None if v.dims is None else list(v.dims)] for v in model.variables],
    }


def values_at(model: LogDensity, points: np.ndarray) -> np.ndarray:
    """Log density and gradient at each of some points: shape (n, 1 + dim)."""
    rows = []
    for point in points:
        log_density, gradient, _ = model.evaluate(point)
        rows.append(np.concatenate([[log_density], gradient]))
    return np.array(rows)


def check_software(written: Mapping[str, str], place: str) -> None:
    """Raise where another grhmc has written the run; warn where the rounding may differ.

    Raises
    ------
    DifferentRunError
    """
    present = software()
    if written.get("grhmc") != present["grhmc"]:
        raise DifferentRunError(
            f"{place} was written by grhmc {written.get('grhmc')}, and this is {present['grhmc']}, which may draw "
            "otherwise: go on with the version that wrote it. Its draws can be read by any (xarray.open_datatree)"
        )
    other = [f"{name} {written.get(name)}, now {version}" for name, version in present.items()]
    other = [text for text, name in zip(other, present, strict=True) if written.get(name) != present[name]]
    if other:
        warnings.warn(
            f"{place} was written with {'; '.join(other)}: the draws to come are right, but may differ in rounding "
            "from those of an uninterrupted run",
            stacklevel=4,
        )


def check_model(
    model: LogDensity, written: Mapping[str, Any], points: np.ndarray, values: np.ndarray, place: str
) -> None:
    """Raise if a run was made with another model: by its names and shapes, and by its values where chains started.

    Raises
    ------
    DifferentRunError
    """
    present = describe_model(model)
    for name, text in (("dim", "parameters"), ("coordinates", "parameters' names"), ("variables", "variables")):
        if present[name] != written.get(name):
            raise DifferentRunError(
                f"the model is not that of {place}: its {text} are {_short(present[name])}, there they are "
                f"{_short(written.get(name))}"
            )
    found = values_at(model, points)
    size = np.maximum(np.abs(values).max(axis=1, keepdims=True), np.abs(found).max(axis=1, keepdims=True))
    differs = ~(np.abs(found[:, : values.shape[1]] - values) <= _AGREE * size)
    if differs.any():
        chain = int(np.flatnonzero(differs.any(axis=1))[0])
        before, now = values[chain], found[chain]
        has_gradient = len(before) > 1
        where = "where chain {} started" if has_gradient else "at the last draw of chain {}"
        raise DifferentRunError(
            f"the model is not that of {place}, or has other data: {where.format(chain)} its log density is "
            f"{now[0]:.10g} with a gradient of norm {np.linalg.norm(now[1:]):.6g}, there it was {before[0]:.10g}"
            + (f" with {np.linalg.norm(before[1:]):.6g}" if has_gradient else "")
        )


def _short(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, Sequence) and not isinstance(value, str) else str(value)
    return text if len(text) < _LONGEST else f"{text[:_LONGEST]}..."


_LONGEST = 200
