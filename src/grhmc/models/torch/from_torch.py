"""Models from PyTorch functions of tensors, or of dicts and sequences of tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from grhmc.argument_checks import reject_masked
from grhmc.models.from_python import PythonDensity
from grhmc.models.optional_packages import import_for
from grhmc.models.torch.function import check_at_example, make_value_and_gradient
from grhmc.models.tree_names import Leaf, choose_names, make_variables, name_leaf


def from_torch(
    logp: Callable[[Any], Any],
    example: Any,
    *,
    names: Sequence[str] | None = None,
    dims: Mapping[str, Sequence[str]] | None = None,
    coords: Mapping[str, Sequence[Any]] | None = None,
) -> PythonDensity:
    """Make a model from a log density written in PyTorch; the gradient is autograd's.

    Parameters
    ----------
    logp : callable
        ``logp(parameters) -> log density``, a tensor without axes, up to a constant; -inf or nan outside the support.
        The parameters are unconstrained: they may take any real value.
    example : tensor, or dict, list or tuple (nested) of tensors
        Gives the structure of `parameters` and the devices of the tensors; their type is float64 always. `logp` is
        tried at these values.
    names : sequence of str, optional
        Names of the variables, one per tensor, in the order of `example`. By default the place in it: ``beta``,
        ``scale.tau``, ``layers[0].w``; ``x`` if there is but one tensor.
    dims : mapping of str to sequence of str, optional
        Names of the axes, by variable.
    coords : mapping of str to sequence, optional
        Labels along these axes.

    Returns
    -------
    PythonDensity
        Each evaluation is a call through Python and autograd, of 50 µs and more; chains in threads take turns.

    Raises
    ------
    TypeError
        If an argument has the wrong type, `logp` does not return a float64 scalar or rounds to single precision.
    ValueError
        If the result is detached from the parameters or does not depend on one of them; if there are no parameters, or
        names, dims or coords do not fit `example`.
    ImportError
        If PyTorch is not installed.
    Exception
        Whatever `logp` raises at `example`.

    Notes
    -----
    Chains in threads take turns at Python's lock, but PyTorch also uses threads of its own within an operation: with
    several chains, or small tensors, ``torch.set_num_threads(1)`` is often faster. This function does not set it.

    Examples
    --------
    >>> import grhmc, torch  # doctest: +SKIP
    >>> def logp(p):
    ...     return -0.5 * (p["mu"] ** 2 + ((p["beta"] - p["mu"]) ** 2).sum())
    >>> model = grhmc.from_torch(logp, {"mu": torch.tensor(0.0), "beta": torch.zeros(3)})  # doctest: +SKIP
    """
    torch = import_for("from_torch", "torch", "torch")
    if not callable(logp):
        raise TypeError(f"logp must be a function logp(parameters) -> log density, got {logp!r:.200}")
    paths, tensors = [], []
    for path, leaf in _walk(example, ()):
        paths.append(name_leaf(path))
        tensors.append(_as_tensor(torch, paths[-1], leaf))
    leaves = [Leaf(name, tuple(tensor.shape)) for name, tensor in zip(choose_names(names, paths), tensors, strict=True)]
    variables = make_variables(leaves, dims)
    dim = sum(leaf.size for leaf in leaves)
    if dim == 0:
        raise ValueError(f"example has no entries, so there is nothing to sample; got {example!r:.200}")

    def of_tensors(parts: list[Any]) -> Any:
        return logp(_fill(example, iter(parts)))

    check_at_example(of_tensors, leaves, tensors)
    return PythonDensity(
        make_value_and_gradient(of_tensors, leaves, [tensor.device for tensor in tensors]),
        dim,
        variables,
        (_rebuild, (logp, example, [leaf.name for leaf in leaves], dims, coords)),
        coords=coords,
    )


def _walk(tree: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Leaves with their paths, in the tree's own order."""
    if isinstance(tree, Mapping):
        for key, part in tree.items():
            yield from _walk(part, (*path, str(key)))
    elif isinstance(tree, list | tuple):
        for index, part in enumerate(tree):
            yield from _walk(part, (*path, index))
    else:
        yield path, tree


def _fill(tree: Any, leaves: Iterator[Any]) -> Any:
    """The same tree with other leaves."""
    if isinstance(tree, Mapping):
        return {key: _fill(part, leaves) for key, part in tree.items()}
    if isinstance(tree, list | tuple):
        parts = [_fill(part, leaves) for part in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    return next(leaves)


def _as_tensor(torch: Any, name: str, leaf: Any) -> Any:
    if not isinstance(leaf, torch.Tensor):
        reject_masked(f"example, at {name!r},", leaf)
        if isinstance(leaf, bool | str) or np.asarray(leaf).dtype.kind not in "iuf":
            raise TypeError(f"example must hold tensors, but {name!r} is {type(leaf).__name__}: {leaf!r:.100}")
        leaf = torch.as_tensor(leaf)
    if leaf.is_complex() or leaf.dtype == torch.bool:
        raise TypeError(f"example must hold real tensors, but {name!r} has type {leaf.dtype}")
    return leaf.detach().to(torch.float64)


def _rebuild(
    logp: Callable[[Any], Any],
    example: Any,
    names: list[str],
    dims: Mapping[str, Sequence[str]] | None,
    coords: Mapping[str, Sequence[Any]] | None,
) -> PythonDensity:
    return from_torch(logp, example, names=names, dims=dims, coords=coords)
