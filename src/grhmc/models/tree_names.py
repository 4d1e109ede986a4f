"""The arrays in a tree of dicts, sequences and objects: their names, from where they stand, and their axes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from grhmc.models.variables import Variable, check_variables

NAME_OF_ONLY_LEAF = "x"


class Leaf(NamedTuple):
    """One array of a tree."""

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of entries."""
        return int(np.prod(self.shape, dtype=np.int64))


def name_leaf(path: Sequence[str | int]) -> str:
    """Write a path, keys and indices from the root: ``scale.tau``, ``layers[0].w``."""
    name = ""
    for step in path:
        if isinstance(step, int):
            name = f"{name or NAME_OF_ONLY_LEAF}[{step}]"
        else:
            name += f".{step}" if name else step
    return name if path else NAME_OF_ONLY_LEAF


def choose_names(names: Sequence[str] | None, found: list[str]) -> list[str]:
    """The user's names of the leaves, or those found.

    Raises
    ------
    TypeError, ValueError
        If there is not one string per leaf, or some are equal.
    """
    if names is None:
        return found
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise TypeError(f"names must be a sequence of strings, one per array of example, got {names!r}")
    if len(names) != len(found):
        raise ValueError(
            f"names must give one name per array of example; there are {len(found)}, at {found}, and {len(names)} names"
        )
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(f"names must be distinct, but {repeated} occur more than once")
    return list(names)


def make_variables(leaves: Sequence[Leaf], dims: Mapping[str, Sequence[str]] | None) -> tuple[Variable, ...]:
    """Variables that are the leaves, with names for their axes.

    Raises
    ------
    TypeError, ValueError
        If `dims` names an unknown variable, or names or dims do not fit.
    """
    variables = with_dims([Variable(leaf.name, leaf.shape) for leaf in leaves], dims)
    check_variables(variables)
    return variables


def with_dims(variables: Sequence[Variable], dims: Mapping[str, Sequence[str]] | None) -> tuple[Variable, ...]:
    """The variables, with names for the axes of those that `dims` lists.

    Raises
    ------
    ValueError
        If it lists an unknown one.
    """
    dims = {} if dims is None else dims
    unknown = sorted(set(dims) - {variable.name for variable in variables})
    if unknown:
        raise ValueError(f"dims names {unknown}, but the model's variables are {[v.name for v in variables]}")
    return tuple(v._replace(dims=parse_dims(v.name, dims[v.name])) if v.name in dims else v for v in variables)


def parse_dims(name: str, dims: Any) -> tuple[str, ...]:
    """The names of one variable's axes.

    Raises
    ------
    TypeError
        If they are not a sequence of strings.
    """
    if isinstance(dims, str) or not all(isinstance(dim, str) for dim in dims):
        raise TypeError(f"dims[{name!r}] must be a sequence of strings, one per axis, got {dims!r}")
    return tuple(dims)
