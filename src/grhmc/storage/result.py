"""From a run on disk to its result: the groups that are missing are written, and all of it opened lazily."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from grhmc.models.log_density import LogDensity
from grhmc.results.datatree import (
    groups_without_draws,
    library_attributes,
    posterior_group,
    storable_attributes,
    unconstrained_group,
    warmup_groups,
)
from grhmc.results.descriptions import describe_group, process_of
from grhmc.results.log_likelihood import GROUP
from grhmc.results.record import ChainRecord
from grhmc.storage.arrays import create_draw_array, set_lengths
from grhmc.storage.folders import folder_at
from grhmc.storage.run_store import POSITION, STATISTICS_GROUP, RunStore

if TYPE_CHECKING:
    import xarray

POSTERIOR = "posterior"
_KEPT_CHAINS = "kept_chains"
# Attribute of the root: the chains that have the draws it tells of, where they are not all.


def write_result(
    store: RunStore,
    records: Sequence[ChainRecord],
    model: LogDensity,
    attrs: Mapping[str, Any],
    function_names: Sequence[str] = (),
    interruptible: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> xarray.DataTree:
    """Write the model's variables and everything else that belongs to a result, and open it.

    Takes memory for a piece of the draws, however many there are. Draws must be in the store already. See
    `grhmc.results.datatree.build_datatree` for what it holds, and for warnings.

    Parameters
    ----------
    store : RunStore
    records : sequence of ChainRecord
        Of the chains to keep, at least one.
    model : LogDensity
    attrs : mapping
    function_names : sequence of str
    interruptible : callable
        Makes the context in which the model's code runs.
    """
    n_draws = min(record.n_draws for record in records)
    failed: dict[str, int] = {}
    process = process_of(attrs)
    groups = groups_without_draws(records, model, process, function_names)
    groups |= warmup_groups(records, model, process, failed, interruptible)
    shape = (len(records), n_draws, model.dim)
    coordinates = {POSITION: unconstrained_group(records, model, np.broadcast_to(0.0, shape))}  # for its labels
    coordinates[STATISTICS_GROUP] = coordinates[POSITION].drop_dims("unconstrained")
    template, counts = _write_posterior(store, records, model, n_draws, interruptible)
    for name, count in counts.items():
        failed[name] = failed.get(name, 0) + count
    if template is not None:
        coordinates[POSTERIOR] = template
    storable = storable_attributes(attrs, failed)
    if len(records) < store.settings.chains:
        storable[_KEPT_CHAINS] = [record.chain for record in records]
    library = library_attributes(storable)
    for name, group in groups.items():
        group.attrs.update(library)
        _write(store, name, group, "w")
    for name, group in coordinates.items():
        write_coordinates(store, name, group, n_draws, library)
    root = store.root()
    descriptions = describe_group("sample_stats", process)
    for name, array in root[STATISTICS_GROUP].arrays():  # pyright: ignore[reportAttributeAccessIssue]
        if name in descriptions:
            array.attrs["description"] = descriptions[name]
    root.attrs.put(storable)
    store.consolidate()
    return open_result(store.location, [variable.name for variable in model.variables])


def open_result(location: str | os.PathLike[str], variables: Sequence[str] = ()) -> xarray.DataTree:
    """Open a run on disk that has come to a result; values are read when they are asked for.

    Parameters
    ----------
    location : path or URL
    variables : sequence of str
        The order that variables of the posterior are to have: zarr sorts them by name.
    """
    import xarray

    tree = xarray.open_datatree(
        os.fspath(location), engine="zarr", chunks=None, cache=False, consolidated=True, zarr_format=3
    )
    for group in (POSTERIOR, f"warmup_{POSTERIOR}"):
        if group in tree.children:
            dataset = tree[group].to_dataset()
            tree[group].dataset = dataset[sorted(dataset.data_vars, key=_position_in(variables))]
    kept = tree.attrs.get(_KEPT_CHAINS)
    if kept is not None:
        for name in (POSITION, STATISTICS_GROUP, POSTERIOR, GROUP):
            if name in tree.children:
                tree[name].dataset = tree[name].to_dataset().isel(chain=list(kept))
    return tree


def _position_in(names: Sequence[str]) -> Callable[[Hashable], int]:
    """A key to sort by: as in `names`, the others after them."""
    positions = {name: position for position, name in enumerate(names)}
    return lambda name: positions.get(str(name), len(positions))


def loaded_part(result: xarray.DataTree) -> xarray.DataTree:
    """A result in memory: all of its draws or, of more than 32 million numbers, every so many of each chain.

    The attribute ``diagnosed_draws`` says how many these are.
    """
    draws = result[POSITION]["position"]
    thinning = max(1, -(-draws.size // _MOST_NUMBERS))
    part = result.copy()
    if GROUP in part.children:  # of the run before it was extended
        del part[GROUP]
    if thinning > 1:
        for name in (POSITION, STATISTICS_GROUP, POSTERIOR):
            if name in part.children:
                part[name].dataset = part[name].to_dataset().isel(draw=slice(None, None, thinning))
    loaded = part.load()
    loaded.attrs = dict(result.attrs)
    if thinning > 1:
        loaded.attrs["diagnosed_draws"] = int(loaded[POSITION].sizes["draw"])
    return loaded


_MOST_NUMBERS = 2**25


def write_attribute(store: RunStore, name: str, value: str) -> None:
    """Add an attribute to the root of a result on disk.

    In zarr's own file, which has the descriptions of all arrays as well: these need not be collected again.
    """
    folder = folder_at(store.location)
    metadata = json.loads(folder.read("zarr.json"))
    metadata["attributes"][name] = value
    folder.write("zarr.json", json.dumps(metadata).encode())


def _write(store: RunStore, name: str, group: xarray.Dataset, mode: Literal["w", "a"]) -> None:
    """Write a group, with text of any length: zarr's third format has no specification for that of fixed length."""
    texts = {label: array.astype(object) for label, array in group.variables.items() if array.dtype.kind == "U"}
    group = group.assign_coords({label: texts[label] for label in group.coords if label in texts})
    group = group.assign({label: texts[label] for label in group.data_vars if label in texts})
    group.to_zarr(store.location, group=name, mode=mode, zarr_format=3, consolidated=False)


def write_coordinates(
    store: RunStore, name: str, group: xarray.Dataset, n_draws: int, library: Mapping[str, Any]
) -> None:
    """Write the labels along the dimensions of a group whose arrays are there, and how many draws these have."""
    coordinates = group.drop_vars(list(group.data_vars))
    chains = np.arange(store.settings.chains)
    coordinates = coordinates.drop_vars("chain").assign_coords(chain=chains)
    coordinates.attrs.update(library)
    root = store.root()
    for label in coordinates.coords:
        if f"{name}/{label}" in root:
            del root[f"{name}/{label}"]
    _write(store, name, coordinates, "a")
    set_lengths(store.location, store.root()[name], n_draws)  # pyright: ignore[reportArgumentType]


def _write_posterior(
    store: RunStore,
    records: Sequence[ChainRecord],
    model: LogDensity,
    n_draws: int,
    interruptible: Callable[[], AbstractContextManager[object]],
) -> tuple[xarray.Dataset | None, dict[str, int]]:
    """Write the model's variables; their labels, and how often which could not be computed."""
    counts: dict[int, dict[str, int]] = {}  # by piece: one may be computed twice
    n_pieces = len(records) * max(1, -(-n_draws // store.rows_at_once))
    seen = 0

    def compute(record: ChainRecord, draws: np.ndarray) -> xarray.Dataset | None:
        nonlocal seen
        piece: dict[str, int] = {}
        part = posterior_group(POSTERIOR, [record], model, draws[np.newaxis], piece, interruptible)
        counts[seen % n_pieces] = piece
        seen += 1
        return part

    template = write_variables(store, POSTERIOR, records, n_draws, compute)
    total: dict[str, int] = {}
    for piece in counts.values():
        for name, count in piece.items():
            total[name] = total.get(name, 0) + count
    return template, total


def write_variables(
    store: RunStore,
    name: str,
    records: Sequence[ChainRecord],
    n_draws: int,
    compute: Callable[[ChainRecord, np.ndarray], xarray.Dataset | None],
) -> xarray.Dataset | None:
    """Write a group of what is computed from draws, a piece of these at a time; what its labels are, or None.

    `compute` is called with a chain's record and some of its draws, shape (draws, dim); where it gives None there is no
    such group. A variable of integers is real from the first piece on that has NaN.
    """
    root = store.root()
    if name in root:
        del root[name]
    types: dict[str, np.dtype[Any]] = {}
    rows = store.rows_at_once
    template: xarray.Dataset | None = None
    is_complete = False
    while not is_complete:
        group, arrays, is_complete = root.create_group(name, overwrite=True), {}, True
        for record in records:
            for first in range(0, max(n_draws, 1), rows):
                draws = store.draws_of(record.chain, first, min(first + rows, n_draws))
                part = compute(record, draws)
                if part is None:
                    del root[name]
                    return None
                for variable, values in part.data_vars.items():
                    label = str(variable)
                    dtype = np.result_type(types.get(label, values.dtype), values.dtype)
                    is_complete &= types.setdefault(label, dtype) == dtype
                    types[label] = dtype
                    if label not in arrays:
                        arrays[label] = create_draw_array(
                            group,
                            label,
                            shape=(store.settings.chains, n_draws, *values.shape[2:]),
                            dims=[str(dim) for dim in values.dims],
                            dtype=dtype,
                            rows=rows,
                            attributes=values.attrs,
                        )
                    if arrays[label].dtype == dtype:
                        arrays[label][record.chain, first : first + len(draws)] = values.to_numpy()[0]
                if template is None:
                    template = part
    if template is None:
        return None
    labels = template.drop_vars(list(template.data_vars)).drop_dims(["chain", "draw"], errors="ignore")
    return labels.assign_coords(chain=[record.chain for record in records], draw=np.arange(n_draws))
