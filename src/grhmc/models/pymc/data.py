"""The data of a PyMC model, as the groups of a result have them: observations, all other data, names of their axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def observed_data(model: Any) -> dict[str, np.ndarray]:
    """Values of the observed variables."""
    return {variable.name: _value_of(model.rvs_to_values[variable]) for variable in model.observed_RVs}


def constant_data(model: Any) -> dict[str, np.ndarray]:
    """Values of ``pymc.Data``, without those that are nothing but observations."""
    from pytensor.graph.traversal import ancestors

    observations = set(model.rvs_to_values.values())
    computed = [*model.basic_RVs, *model.deterministics, *model.potentials]
    used = set(ancestors(computed)) if observations & set(model.data_vars) else set()
    return {
        variable.name: _value_of(variable)
        for variable in model.data_vars
        if variable not in observations or variable in used
    }


def data_dims(model: Any, data: Mapping[str, np.ndarray]) -> dict[str, tuple[str, ...]]:
    """PyMC's names of the axes of data, where they fit."""
    found = {}
    for name, values in data.items():
        dims = axis_names(model, name)
        if dims is None or len(dims) != values.ndim:
            continue
        labels = [model.coords.get(dim) for dim in dims]
        if all(known is None or len(known) == length for known, length in zip(labels, values.shape, strict=True)):
            found[name] = dims
    return found


def axis_names(model: Any, name: str) -> tuple[str, ...] | None:
    """PyMC's names of the axes of a variable, with ArviZ's for those that have none."""
    dims = model.named_vars_to_dims.get(name)
    if not dims:
        return None
    return tuple(f"{name}_dim_{axis}" if dim is None else str(dim) for axis, dim in enumerate(dims))


def _value_of(variable: Any) -> np.ndarray:
    if hasattr(variable, "data"):
        return np.asarray(variable.data)
    return np.asarray(variable.get_value() if hasattr(variable, "get_value") else variable.eval())
