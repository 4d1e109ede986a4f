"""Names and shapes of a model's variables: what users may write, checked before sampling."""

from __future__ import annotations

import math
import operator
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

RESERVED_NAMES = ("chain", "draw")

NAMES_OF_FILES = (".", "..", "zarr.json", ".zgroup", ".zattrs", ".zarray", ".zmetadata")
"""What a folder calls itself and its parent, and zarr's own files."""

Names = Iterable[str] | Mapping[str, int | Sequence[int]] | None
"""The `names` argument of the front-ends; see `parse_names`."""


class Variable(NamedTuple):
    """One named output of a model.

    Attributes
    ----------
    name : str
        Unique within the model.
    shape : tuple of int
        Shape of one draw; ``()`` for a scalar. Zeros are allowed.
    dims : tuple of str, or None
        Names of the axes, one per axis, or None to let the results name them ``<name>_dim_0``, ...
    """

    name: str
    shape: tuple[int, ...]
    dims: tuple[str, ...] | None = None

    @property
    def size(self) -> int:
        """Number of entries of one draw."""
        return math.prod(self.shape)


def check_dim(dim: Any) -> int:
    """Return `dim` as a positive int.

    Raises
    ------
    TypeError, ValueError
        If `dim` is not an integer of at least 1.
    """
    if isinstance(dim, bool) or not hasattr(dim, "__index__"):
        raise TypeError(f"dim must be an integer, the number of parameters; got {dim!r} of type {type(dim).__name__}")
    dim = operator.index(dim)
    if dim < 1:
        raise ValueError(f"dim must be at least 1, the number of parameters; got {dim}")
    return dim


def as_draws(draws: Any, dim: int) -> np.ndarray:
    """Unconstrained draws as float64, shape (n, dim); a ValueError if their shape is another."""
    draws = np.asarray(draws, dtype=np.float64)
    if draws.ndim != 2 or draws.shape[1] != dim:
        raise ValueError(f"draws must have shape (n, {dim}), got {draws.shape}")
    return draws


def parse_names(names: Any, dim: int) -> tuple[Variable, ...]:
    """Turn the `names` argument of a front-end into variables that cover `dim` coordinates.

    Parameters
    ----------
    names : None, sequence of str, or mapping of str to shape
        None: one variable ``x`` of shape (dim,). A sequence: `dim` scalars. A mapping: each
        variable's shape (an int or a tuple of ints), in the order of the coordinates; the sizes
        add up to `dim`.
    dim : int
        Number of coordinates.

    Returns
    -------
    tuple of Variable

    Raises
    ------
    TypeError
        If `names`, a name or a shape has the wrong type.
    ValueError
        If names are empty, repeated or reserved, or do not add up to `dim`.
    """
    if names is None:
        return (Variable("x", (dim,)),)
    if isinstance(names, str):
        raise TypeError(
            "names must be a sequence of strings or a mapping of names to shapes, got the string "
            f"{names!r}; write [{names!r}] for one scalar or {{{names!r}: ({dim},)}} for a vector"
        )
    if isinstance(names, Mapping):
        variables = tuple(Variable(name, _parse_shape(name, names[name])) for name in names)
        size = sum(variable.size for variable in variables)
        if size != dim:
            sizes = ", ".join(f"{v.name!r}: {v.shape} = {v.size}" for v in variables) or "none"
            raise ValueError(
                f"the shapes in names must add up to dim = {dim} coordinates, but they add up to "
                f"{size} ({sizes}); change names or dim"
            )
    elif isinstance(names, Iterable) and not isinstance(names, bytes | set | frozenset):
        variables = tuple(Variable(name, ()) for name in names)
        if len(variables) != dim:
            raise ValueError(
                f"names must give one name per coordinate, dim = {dim} of them; got "
                f"{len(variables)}. For vectors and matrices pass a mapping of names to shapes"
            )
    else:
        raise TypeError(
            f"names must be None, a sequence of {dim} strings or a mapping of names to shapes; "
            f"got {names!r} of type {type(names).__name__}"
        )
    check_variables(variables)
    return variables


def shapes_by_name(variables: Sequence[Variable]) -> dict[str, tuple[int, ...]]:
    """Write variables as a `names` argument: the inverse of `parse_names`."""
    return {variable.name: variable.shape for variable in variables}


def check_variables(variables: Sequence[Variable]) -> None:
    """Reject names that would fail after sampling, when the results are put together.

    Raises
    ------
    TypeError, ValueError
        If a name is not a string, is empty, repeated or reserved, cannot be stored, or equals the
        name that another variable's axis will get; if the number of `dims` differs from that of the
        axes, or one axis has the name of a variable.
    """
    seen: set[str] = set()
    for variable in variables:
        name = variable.name
        if not isinstance(name, str):
            raise TypeError(f"names must be strings, got {name!r} of type {type(name).__name__}; write {str(name)!r}")
        if not name.strip():
            raise ValueError(f"names must not be empty, got {name!r}; give every variable a name")
        if name in RESERVED_NAMES:
            raise ValueError(
                f"the name {name!r} is taken by an axis of the results ({', '.join(RESERVED_NAMES)}); choose another"
            )
        check_storable(name, "names")
        if name in seen:
            raise ValueError(f"names must be distinct, but {name!r} occurs more than once")
        seen.add(name)
    for variable in variables:
        _check_axes(variable, seen)


def parse_coords(coords: Mapping[str, Any] | None) -> dict[str, np.ndarray]:
    """Labels along the axes, one array without further axes each; what NumPy cannot hold that way becomes text.

    Raises
    ------
    TypeError, ValueError
        If `coords` is no mapping of names to sequences, or a name is reserved.
    """
    if coords is None:
        return {}
    if not isinstance(coords, Mapping):
        raise TypeError(f"coords must map names of axes to sequences of labels, got {type(coords).__name__}")
    return {_check_axis_name(dim, "coords"): _as_labels(dim, labels) for dim, labels in coords.items()}


def _as_labels(dim: str, labels: Any) -> np.ndarray:
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise TypeError(
            f"coords[{dim!r}] must be a sequence of labels, got {labels!r}; an axis that has only a length needs none"
        )
    values = list(labels)
    try:
        array = np.asarray(values)
    except ValueError:  # tuples of several lengths
        array = np.empty((len(values), 0))
    if array.ndim != 1 or array.dtype.kind == "O":
        array = np.array([str(value) for value in values], dtype=np.str_)
    return array


def _check_axis_name(axis: Any, argument: str) -> str:
    if not isinstance(axis, str):
        raise TypeError(f"{argument} must name axes by strings, got {axis!r} of type {type(axis).__name__}")
    if axis in RESERVED_NAMES or not axis.strip():
        raise ValueError(
            f"{argument} must not name an axis {axis!r}: {', '.join(RESERVED_NAMES)} are axes of the results, and a "
            "name must not be empty"
        )
    check_storable(axis, argument)
    return axis


def check_storable(name: str, argument: str) -> None:
    """Reject names that a file cannot hold, or that a store of folders would take for a path or a file of its own.

    Raises
    ------
    ValueError
        If the name contains a slash or a control character, or is one of `NAMES_OF_FILES`.
    """
    if any(character == "/" or unicodedata.category(character) == "Cc" for character in name):
        raise ValueError(
            f"{argument} must not contain '/', the path separator of the results, or control characters; got {name!r}"
        )
    if not {*name.split("\\")}.isdisjoint(NAMES_OF_FILES):
        raise ValueError(f"{argument} must not have the name {name!r}, which means something else in a zarr store")


def check_coords(variables: Sequence[Variable], coords: Mapping[str, Any]) -> None:
    """Reject dims and coords whose lengths disagree with the shapes.

    Raises
    ------
    ValueError
        If an axis and its coords, or two axes of the same name, differ in length.
    """
    lengths = {dim: len(labels) for dim, labels in coords.items()}
    for variable in variables:
        for axis, length in zip(variable.dims or (), variable.shape, strict=False):
            expected = lengths.setdefault(axis, length)
            if length != expected:
                source = "coords" if axis in coords else "another variable"
                raise ValueError(
                    f"axis {axis!r} of {variable.name!r} has length {length}, but {source} gives it length {expected}"
                )


def name_coordinates(variables: Sequence[Variable]) -> tuple[str, ...]:
    """Name every entry of the variables in C order: ``mu``, ``beta[2]``, ``L[0,1]``."""
    names: list[str] = []
    for variable in variables:
        if not variable.shape:
            names.append(variable.name)
            continue
        indices: list[str] = [""]
        for length in variable.shape:
            indices = [f"{prefix},{i}" for prefix in indices for i in range(length)]
        names.extend(f"{variable.name}[{index[1:]}]" for index in indices)
    return tuple(names)


def _check_axes(variable: Variable, names: set[str]) -> None:
    if variable.dims is None:
        axes = tuple(f"{variable.name}_dim_{axis}" for axis in range(len(variable.shape)))
    else:
        axes = variable.dims
        if len(axes) != len(variable.shape):
            raise ValueError(
                f"variable {variable.name!r} has shape {variable.shape} but {len(axes)} dims "
                f"{axes!r}; give one name per axis"
            )
        for axis in axes:
            _check_axis_name(axis, f"dims of {variable.name!r}")
        if len(set(axes)) < len(axes):
            raise ValueError(f"dims of {variable.name!r} must be distinct, got {axes!r}")
    for axis in axes:
        # A one-dimensional variable named as its own axis is xarray's index variable: no clash.
        if axis in names and axes != (variable.name,):
            raise ValueError(
                f"the name {axis!r} is needed for an axis of {variable.name!r}; rename the variable {axis!r}"
            )


def _parse_shape(name: Any, shape: Any) -> tuple[int, ...]:
    lengths = shape if isinstance(shape, tuple | list) else (shape,)
    for length in lengths:
        if isinstance(length, bool) or not hasattr(length, "__index__"):
            raise TypeError(
                f"the shape of {name!r} must be an integer or a tuple of integers, such as () for "
                f"a scalar or (2, 3) for a matrix; got {shape!r}"
            )
        if operator.index(length) < 0:
            raise ValueError(f"the shape of {name!r} must not have negative lengths, got {shape!r}")
    return tuple(operator.index(length) for length in lengths)
