"""The log likelihood of each observation at each draw: a group of its own, for leave-one-out cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from grhmc.argument_names import nearest
from grhmc.models.as_log_density import as_log_density
from grhmc.models.outputs import describe

if TYPE_CHECKING:
    import xarray

    from grhmc.models.log_density import LogDensity

GROUP = "log_likelihood"
_NUMBERS_AT_ONCE = 2**19


def parse_log_likelihood(terms: Any, model: LogDensity) -> tuple[str, ...]:
    """From a user's argument, True, False, a name or several: names of terms, or of variables that hold them.

    Raises
    ------
    TypeError, ValueError
        If it is something else, or the model has no such term.
    """
    if isinstance(terms, bool | np.bool_):
        if terms and not model.likelihood_terms:
            raise ValueError(
                "log_likelihood=True is for models with observed variables (PyMC, NumPyro) or a variable called "
                "log_lik (Stan's generated quantities), and this one has neither; name the variables that hold the log "
                "likelihood of each observation: log_likelihood='name'"
            )
        return model.likelihood_terms if terms else ()
    names = (terms,) if isinstance(terms, str) else terms
    if not isinstance(names, Sequence) or not names or not all(isinstance(name, str) for name in names):
        raise TypeError(f"log_likelihood must be True, False, or names of variables, got {terms!r}")
    known = [*model.likelihood_terms, *(variable.name for variable in model.variables)]
    for name in names:
        if name not in known:
            hint = nearest(name, known) or f"; it has {', '.join(dict.fromkeys(known))}"
            raise ValueError(f"log_likelihood has {name!r}, but the model has no such variable{hint}")
    return tuple(dict.fromkeys(names))


def compute_log_likelihood(
    result: xarray.DataTree, model: Any = None, *, terms: bool | str | Sequence[str] = True
) -> xarray.DataTree:
    """Add the log likelihood of each observation to a result, as a group ``log_likelihood``.

    Parameters
    ----------
    result : xarray.DataTree
        Of `sample`; changed in place. One in a store is not changed on disk.
    model : LogDensity, pymc.Model or bridgestan.StanModel
        That it was drawn from. Left out: the PyMC model whose ``with`` block this is called in.
    terms : bool, str or sequence of str
        As `log_likelihood` of `sample`.

    Returns
    -------
    xarray.DataTree
        The same result.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above, the result is not of this model, or the model does not say what its log
        likelihood is.
    """
    density = as_log_density(model)
    names = parse_log_likelihood(terms, density)
    if "unconstrained_posterior" not in getattr(result, "children", ()):
        raise ValueError("result must be what grhmc.sample gives, with a group unconstrained_posterior")
    labels = result["unconstrained_posterior"]["unconstrained"].to_numpy()
    if tuple(map(str, labels)) != density.coordinate_names:
        raise ValueError(
            f"the result has the parameters {', '.join(map(str, labels[:8]))}, the model "
            f"{', '.join(density.coordinate_names[:8])}; give the model that it was drawn from"
        )
    if names:
        result[GROUP] = _tree(_group(result, density, names, nullcontext))
    return result


def move_log_likelihood(
    result: Any,
    model: LogDensity,
    names: tuple[str, ...],
    interruptible: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> None:
    """Add the group to a new result; variables that it holds leave ``posterior``. Warns if it cannot be computed."""
    if not names or "unconstrained_posterior" not in getattr(result, "children", ()):
        return
    try:
        result[GROUP] = _tree(_group(result, model, names, interruptible))
    except (Exception, KeyboardInterrupt) as error:
        warn_of_missing_group(error)
        return
    for group in ("posterior", "warmup_posterior"):
        if group in result.children:
            kept = result[group].to_dataset().drop_vars([name for name in names if name in result[group].data_vars])
            used = {dim for variable in kept.data_vars.values() for dim in variable.dims} | {"chain", "draw"}
            result[group].dataset = kept.drop_dims([dim for dim in kept.dims if dim not in used])


def warn_of_missing_group(error: BaseException) -> None:
    """Warn that the group could not be computed."""
    warnings.warn(
        f"the result has no group {GROUP}: {describe(error)}; grhmc.compute_log_likelihood(result, model) tries again",
        stacklevel=4,
    )


def _tree(group: xarray.Dataset) -> xarray.DataTree:
    import xarray

    return xarray.DataTree(group)


def _group(
    result: xarray.DataTree,
    model: LogDensity,
    names: tuple[str, ...],
    interruptible: Callable[[], AbstractContextManager[object]],
) -> xarray.Dataset:
    """The terms at the draws of a result, computed a piece at a time, or copied from its posterior."""
    draws = result["unconstrained_posterior"]["position"].to_numpy()
    present = result["posterior"].data_vars if "posterior" in result.children else {}
    values = {name: present[name].to_numpy() for name in names if name in present}
    if len(values) < len(names):
        missing = [name for name in names if name not in values]
        values |= compute_terms(model, missing, draws, interruptible)
    position = result["unconstrained_posterior"]
    return labelled_terms({name: values[name] for name in names}, model, position["chain"].to_numpy()).assign_attrs(
        position.attrs
    )


def labelled_terms(values: Mapping[str, np.ndarray], model: LogDensity, chains: Any) -> xarray.Dataset:
    """Terms of shape (chains, draws, ...) of chains with these numbers, as a group."""
    import xarray
    from arviz_base import generate_dims_coords

    dims = {variable.name: variable.dims for variable in model.variables if variable.dims} | model.data_dims
    labels = {"chain": chains, **model.coords}
    arrays, coords = {}, {}
    for name, array in values.items():
        named = ["chain", "draw", *dims.get(name, ())]
        axes, found = generate_dims_coords(array.shape, name, named, labels, check_conventions=False)
        arrays[name] = (axes, array)
        coords.update(found)
    return xarray.Dataset(arrays, coords)


def compute_terms(
    model: LogDensity,
    names: Sequence[str],
    draws: np.ndarray,
    interruptible: Callable[[], AbstractContextManager[object]],
) -> dict[str, np.ndarray]:
    """Terms, or variables that hold them, at draws of shape (chains, draws, dim)."""
    n_chains, n_draws, dim = draws.shape
    rows = draws.reshape(n_chains * n_draws, dim)
    n_at_once = 1 << max(0, (_NUMBERS_AT_ONCE // max(dim, 1)).bit_length() - 1)
    parts = []
    for first in range(0, len(rows), n_at_once):
        with interruptible():
            part = rows[first : first + n_at_once]
            found = model.log_likelihood(part) if set(names) & set(model.likelihood_terms) else {}
            if set(names) - set(found):
                found = model.constrain_each(part).values | found
            parts.append(found)
    joined = {name: np.concatenate([part[name] for part in parts]) for name in names}
    return {name: array.reshape(n_chains, n_draws, *array.shape[1:]) for name, array in joined.items()}
