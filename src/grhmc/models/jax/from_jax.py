"""Models from JAX functions of any pytree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from grhmc.argument_checks import reject_masked
from grhmc.models.from_python import PythonDensity
from grhmc.models.jax.function import compile_value_and_gradient, unflatten_parts
from grhmc.models.log_density import LogDensity
from grhmc.models.optional_packages import import_for
from grhmc.models.tree_names import Leaf, choose_names, make_variables, name_leaf


def from_jax(
    logp: Callable[[Any], Any],
    example: Any,
    *,
    names: Sequence[str] | None = None,
    dims: Mapping[str, Sequence[str]] | None = None,
    coords: Mapping[str, Sequence[Any]] | None = None,
) -> PythonDensity:
    """Make a model from a log density written in JAX; the gradient is JAX's.

    Parameters
    ----------
    logp : callable
        ``logp(parameters) -> log density``, a scalar, up to a constant; -inf or nan outside the support. The
        parameters are unconstrained: they may take any real value. JAX must be able to trace and differentiate it.
    example : pytree
        Gives the structure of `parameters`: an array or a number, or dicts, lists, tuples or registered classes of
        them. Only shapes count, not values or types: the parameters are float64 always.
    names : sequence of str, optional
        Names of the variables, one per array of `example`, in JAX's order (dicts by sorted keys). By default the place
        in the tree: ``beta``, ``scale.tau``, ``layers[0].w``; ``x`` if there is but one array.
    dims : mapping of str to sequence of str, optional
        Names of the axes, by variable.
    coords : mapping of str to sequence, optional
        Labels along these axes.

    Returns
    -------
    PythonDensity
        Each evaluation is a call through Python, of 20 to 30 µs beyond the model itself.

    Raises
    ------
    TypeError
        If an argument has the wrong type, `logp` does not return a float64 scalar or rounds to single precision.
    ValueError
        If there are no parameters, or names, dims or coords do not fit `example`.
    ImportError
        If JAX is not installed.
    Exception
        Whatever `logp` raises when JAX traces it.

    Notes
    -----
    JAX's default of single precision is neither used nor changed: double precision is switched on around each
    evaluation only. Arrays that `logp` refers to keep their type; float32 ones were rounded before.

    Examples
    --------
    >>> import grhmc
    >>> import jax.numpy as jnp  # doctest: +SKIP
    >>> def logp(p):
    ...     return -0.5 * (p["mu"] ** 2 + jnp.sum((p["beta"] - p["mu"]) ** 2))
    >>> model = grhmc.from_jax(logp, {"mu": 0.0, "beta": jnp.zeros(3)})  # doctest: +SKIP
    """
    jax = import_for("from_jax", "jax", "jax")
    if not callable(logp):
        raise TypeError(f"logp must be a function logp(parameters) -> log density, got {logp!r:.200}")
    paths_and_leaves, structure = jax.tree_util.tree_flatten_with_path(example)
    found = [name_leaf([_step(entry) for entry in path]) for path, _ in paths_and_leaves]
    leaves = [
        Leaf(name, _shape(name, leaf))
        for name, (_, leaf) in zip(choose_names(names, found), paths_and_leaves, strict=True)
    ]
    variables = make_variables(leaves, dims)
    dim = sum(leaf.size for leaf in leaves)
    if dim == 0:
        raise ValueError(f"example has no entries, so there is nothing to sample; got {example!r:.200}")

    def log_density(q):
        return logp(jax.tree_util.tree_unflatten(structure, unflatten_parts(q, leaves)))

    return PythonDensity(
        compile_value_and_gradient(log_density, dim, "logp"),
        dim,
        variables,
        (_rebuild, (logp, _shapes_only(jax, example), [leaf.name for leaf in leaves], dims, coords)),
        coords=coords,
    )


def _step(entry: Any) -> str | int:
    """A key or an index from one of JAX's path entries."""
    if hasattr(entry, "idx"):
        return int(entry.idx)
    return str(entry.name if hasattr(entry, "name") else getattr(entry, "key", entry))


def _shape(name: str, leaf: Any) -> tuple[int, ...]:
    reject_masked(f"example, at {name!r},", leaf)
    dtype = leaf.dtype if hasattr(leaf, "dtype") else np.asarray(leaf).dtype
    if np.dtype(dtype).kind not in "iufV":  # V: bfloat16
        raise TypeError(
            f"example must hold real numbers and arrays of them, but {name!r} is {type(leaf).__name__} of type {dtype}"
        )
    return tuple(np.shape(leaf))


def _shapes_only(jax: Any, example: Any) -> Any:
    """The example as NumPy arrays: what another process needs of it."""
    return jax.tree_util.tree_map(lambda leaf: np.zeros(np.shape(leaf)), example)


def _rebuild(
    logp: Callable[[Any], Any],
    example: Any,
    names: list[str],
    dims: Mapping[str, Sequence[str]] | None,
    coords: Mapping[str, Sequence[Any]] | None,
) -> LogDensity:
    return from_jax(logp, example, names=names, dims=dims, coords=coords)
