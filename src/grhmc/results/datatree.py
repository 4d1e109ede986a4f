"""Turn the chains' records into an `xarray.DataTree` in ArviZ's schema, with the model's names."""

from __future__ import annotations

import json
import math
import numbers
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from grhmc.models.outputs import describe
from grhmc.results.constrained import constrained
from grhmc.results.descriptions import describe_group, process_of
from grhmc.results.intervals import join_intervals
from grhmc.results.side_by_side import side_by_side

if TYPE_CHECKING:
    import xarray

    from grhmc.models.log_density import LogDensity
    from grhmc.results.record import ChainRecord

UNCONSTRAINED = "unconstrained"
"""The dimension of the sampler's own coordinates."""


def build_datatree(
    records: Sequence[ChainRecord],
    model: LogDensity,
    attrs: Mapping[str, Any],
    function_names: Sequence[str] = (),
    interruptible: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> xarray.DataTree:
    """Put the chains' records together, without a copy of the draws where they lie side by side in memory.

    Chains of unequal length, as an interrupt leaves them, are cut to the shortest. What the model cannot compute is
    left out, with a warning: the draws as the sampler sees them are always there.

    Parameters
    ----------
    records : sequence of ChainRecord
        One per chain, at least one.
    model : LogDensity
        Gives names, shapes, dims and coords, and turns draws into its variables.
    attrs : mapping of str to value
        Settings and versions, for the root's attributes. What a file cannot hold as it is (dicts,
        None, integers beyond 64 bits) is written as text.
    function_names : sequence of str
        Of the time-averaged functions.
    interruptible : callable
        Makes the context in which the model computes its variables: where a Ctrl-C may be raised.

    Returns
    -------
    xarray.DataTree
        Groups: ``posterior`` (chain, draw, ...) and ``sample_stats`` (chain, draw), with their
        ``warmup_`` twins if draws of the warm-up were kept; ``unconstrained_posterior`` with the
        draws as the sampler sees them, ``position`` (chain, draw, unconstrained); ``time_average``
        (chain, interval, ...); ``tuning`` (chain, ...) with the scale and its ``history_``, and
        ``warmup_seconds`` and ``sampling_seconds`` (chain,), the wall-clock time of each chain;
        ``observed_data`` and ``constant_data`` if the model knows its data. It can be written to NetCDF and zarr.

    Raises
    ------
    ValueError
        If there are no records.

    Warns
    -----
    UserWarning
        If the model cannot compute its variables: at some draws, where they are NaN then, and the attribute
        ``failed_outputs`` counts them; or at all, and then the group ``posterior`` is missing.
    """
    if not records:
        raise ValueError("records must hold at least one chain")
    import xarray  # here, because it needs pandas, and `import grhmc` should be quick

    draws = _stack([record.draws for record in records])
    failed: dict[str, int] = {}
    process = process_of(attrs)
    groups = _groups_of_draws("", draws, records, model, process, failed, interruptible)
    groups |= warmup_groups(records, model, process, failed, interruptible)
    groups["unconstrained_posterior"] = unconstrained_group(records, model, draws)
    groups |= groups_without_draws(records, model, process, function_names)
    storable = storable_attributes(attrs, failed)
    for group in groups.values():
        group.attrs.update(library_attributes(storable))
    tree = xarray.DataTree.from_dict(groups)
    tree.attrs = storable
    return tree


def unconstrained_group(records: Sequence[ChainRecord], model: LogDensity, draws: np.ndarray) -> xarray.Dataset:
    """The draws as the sampler sees them, of shape (chains, draws, dim)."""
    coordinates = {UNCONSTRAINED: np.array(model.coordinate_names, dtype=np.str_)}
    return _dataset(records, {"position": draws}, dims={"position": [UNCONSTRAINED]}, coords=coordinates)


def groups_without_draws(
    records: Sequence[ChainRecord], model: LogDensity, process: str | None, function_names: Sequence[str]
) -> dict[str, xarray.Dataset]:
    """The groups whose size does not depend on the number of draws."""
    coordinates = {UNCONSTRAINED: np.array(model.coordinate_names, dtype=np.str_)}
    groups = {
        "time_average": _time_average(records, coordinates, function_names, process),
        "tuning": _tuning(records, coordinates, process),
    }
    return groups | _data_groups(records, model)


def warmup_groups(
    records: Sequence[ChainRecord],
    model: LogDensity,
    process: str | None,
    failed: dict[str, int],
    interruptible: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> dict[str, xarray.Dataset]:
    """The draws of the warm-up and their statistics, if they were kept; adds to `failed`."""
    draws = _stack([record.warmup_draws for record in records])
    if not draws.shape[1]:
        return {}
    return _groups_of_draws("warmup_", draws, records, model, process, failed, interruptible)


def _groups_of_draws(
    prefix: str,
    draws: np.ndarray,
    records: Sequence[ChainRecord],
    model: LogDensity,
    process: str | None,
    failed: dict[str, int],
    interruptible: Callable[[], AbstractContextManager[object]],
) -> dict[str, xarray.Dataset]:
    """``posterior``, if it can be computed, and ``sample_stats``, of sampling or of the warm-up."""
    groups = {}
    statistics = [record.warmup_statistics if prefix else record.statistics for record in records]
    posterior = posterior_group(f"{prefix}posterior", records, model, draws, failed, interruptible)
    if posterior is not None:
        groups[f"{prefix}posterior"] = posterior
    groups[f"{prefix}sample_stats"] = _dataset(
        records,
        _typed(_stack_each(statistics, draws.shape[1])),
        descriptions=describe_group("sample_stats", process),
    )
    return groups


def storable_attributes(attrs: Mapping[str, Any], failed: Mapping[str, int]) -> dict[str, Any]:
    """Attributes of the root, as files can hold them; with how often variables could not be computed."""
    storable = {str(name): _storable(value) for name, value in attrs.items()}
    return storable | {"failed_outputs": json.dumps(failed)} if failed else storable


def library_attributes(storable: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the root that ArviZ's schema wants in every group."""
    return {name: storable[name] for name in _LIBRARY if name in storable}


_LIBRARY = ("inference_library", "inference_library_version")


def build_plain_datatree(
    records: Sequence[ChainRecord], model: LogDensity, attrs: Mapping[str, Any]
) -> xarray.DataTree:
    """The draws as the sampler sees them and their statistics, by xarray alone: for when `build_datatree` fails."""
    import xarray

    chains = {"chain": [int(record.chain) for record in records]}
    draws = _stack([record.draws for record in records])
    statistics = _typed(_stack_each([record.statistics for record in records], draws.shape[1]))
    position = xarray.Dataset({"position": (("chain", "draw", UNCONSTRAINED), draws)}, chains)
    position = position.assign_coords({UNCONSTRAINED: np.array(model.coordinate_names, dtype=np.str_)})
    dataset = xarray.Dataset({name: (("chain", "draw"), values) for name, values in statistics.items()}, chains)
    tree = xarray.DataTree.from_dict({"unconstrained_posterior": position, "sample_stats": dataset})
    tree.attrs = {str(name): _storable(value) for name, value in attrs.items()}
    return tree


def plain_arrays(records: Sequence[ChainRecord]) -> dict[str, np.ndarray]:
    """The same as arrays: ``position`` (chain, draw, unconstrained) and statistics (chain, draw); needs no library."""
    draws = _stack([record.draws for record in records])
    return {"position": draws, **_stack_each([record.statistics for record in records], draws.shape[1])}


def _dataset(
    records: Sequence[ChainRecord],
    variables: Mapping[str, np.ndarray],
    *,
    descriptions: Mapping[str, str] | None = None,
    sample_dims: Sequence[str] = ("chain", "draw"),
    dims: Mapping[str, Sequence[str]] | None = None,
    coords: Mapping[str, Any] | None = None,
) -> xarray.Dataset:
    """One group, by ArviZ's rules for dims and coords.

    Not `arviz_base.from_dict` on everything at once: it knows one set of dims per name for all
    groups, and a posterior may well have a variable called "scale".
    """
    import xarray
    from arviz_base import generate_dims_coords, make_attrs

    # Not `arviz_base.dict_to_dataset`, which follows the same rules but makes and aligns a DataArray for every
    # variable: that took longer than a short run.
    coordinates = {"chain": [int(record.chain) for record in records], **(coords or {})}
    arrays: dict[str, tuple[list[Any], np.ndarray]] = {}
    used: dict[Any, Any] = {}
    for name, values in variables.items():
        named = [*sample_dims, *(dims or {}).get(name, ())]
        # It warns where there are more chains than draws.
        axes, found = generate_dims_coords(values.shape, name, named, coordinates, check_conventions=False)
        arrays[name] = (axes, _without_objects(values))
        used.update(found)
    result = xarray.Dataset(arrays, coords=used, attrs=make_attrs())
    for name, description in (descriptions or {}).items():
        if name in result:
            result[name].attrs["description"] = description
    return result


def _without_objects(values: np.ndarray) -> np.ndarray:
    """As they are, or as text: a file that holds Python objects could run code when it is read."""
    return np.array(values.astype(str), dtype=np.str_) if values.dtype.hasobject else values


def posterior_group(
    group: str,
    records: Sequence[ChainRecord],
    model: LogDensity,
    draws: np.ndarray,
    failed: dict[str, int],
    interruptible: Callable[[], AbstractContextManager[object]],
) -> xarray.Dataset | None:
    """The model's variables from unconstrained draws of shape (chains, draws, dim); None if it cannot compute them.

    Adds to `failed` how often each variable could not be computed.
    """
    try:
        variables, counts, message = constrained(model, draws, interruptible)
        dataset = _dataset(
            records,
            variables,
            dims={v.name: v.dims for v in model.variables if v.dims is not None},
            coords=model.coords,
        )
    except (Exception, KeyboardInterrupt) as error:
        warnings.warn(
            f"the result has no group {group}: the model's variables could not be computed from the draws. These are "
            f"in unconstrained_posterior. The reason: {describe(error)}",
            stacklevel=3,
        )
        return None
    n_draws = draws.shape[0] * draws.shape[1]
    for name, count in counts.items():
        failed[name] = failed.get(name, 0) + count
    if counts:
        names = ", ".join(list(counts)[:_MOST_NAMED]) + (", ..." if len(counts) > _MOST_NAMED else "")
        warnings.warn(
            f"{names} could not be computed in {max(counts.values())} of {n_draws} draws of {group}, and {_IS_NAN}: "
            f"{message}",
            stacklevel=3,
        )
    return dataset


_MOST_NAMED = 8
_IS_NAN = "is NaN there. Means that leave NaN out, as those of xarray, are then means given that nothing failed"


def _data_groups(records: Sequence[ChainRecord], model: LogDensity) -> dict[str, xarray.Dataset]:
    """The model's data, if it knows them and they can be stored."""
    groups = {}
    for group in ("observed_data", "constant_data"):
        data = {name: np.asarray(values) for name, values in getattr(model, group).items()}
        if not data:
            continue
        try:
            groups[group] = _dataset(records, data, sample_dims=(), dims=model.data_dims, coords=model.coords)
        except Exception as error:
            warnings.warn(f"the result has no group {group}: {describe(error)}", stacklevel=3)
    return groups


def _time_average(
    records: Sequence[ChainRecord], coordinates: Mapping[str, Any], function_names: Sequence[str], process: str | None
) -> xarray.Dataset:
    longest = max(record.draws_per_interval for record in records)
    averages = [join_intervals(record.time_average, longest // record.draws_per_interval) for record in records]
    coords = dict(coordinates)
    if function_names:
        coords["function"] = list(function_names)
    else:
        for average in averages:
            del average["functions"]
    n_intervals = min(len(average["duration"]) for average in averages)
    return _dataset(
        records,
        _stack_each(averages, n_intervals),
        sample_dims=("chain", "interval"),
        dims={
            "position": [UNCONSTRAINED],
            "position_squared": [UNCONSTRAINED],
            "functions": ["function"],
        },
        coords=coords,
        descriptions=describe_group("time_average", process),
    )


_OWN_DIMENSIONS = {"places": ["place"], "metric_eigenvalues": ["direction"], "metric_directions": ["direction"]}
# Of variables of the group "tuning" that have one beside chain and parameter.


def _tuning(records: Sequence[ChainRecord], coordinates: Mapping[str, Any], process: str | None) -> xarray.Dataset:
    dim = len(coordinates[UNCONSTRAINED])
    variables, dims = {}, {}
    for name in records[0].tuning:
        per_chain = [np.asarray(record.tuning[name]) for record in records]
        axes = ["history"] if name.startswith("history_") else _OWN_DIMENSIONS.get(name, [])[:]
        is_padded = axes in (["history"], ["direction"])
        if axes == ["direction"] and not any(len(rows) for rows in per_chain):
            continue
        variables[name] = _stack_padded(per_chain) if is_padded else np.stack(per_chain)
        if variables[name].shape[1 + len(axes) :] == (dim,):
            axes.append(UNCONSTRAINED)
        dims[name] = axes
    variables["warmup_seconds"] = np.array([record.warmup_seconds for record in records])
    variables["sampling_seconds"] = np.array([record.sampling_seconds for record in records])
    descriptions = describe_group("tuning", process)
    return _dataset(
        records, variables, sample_dims=("chain",), dims=dims, coords=coordinates, descriptions=descriptions
    )


def _stack(per_chain: Sequence[np.ndarray], length: int | None = None) -> np.ndarray:
    """Stack along a new first axis, cut to the shortest, or to `length`; a view where `side_by_side` finds one."""
    if length is None:
        length = min(len(rows) for rows in per_chain)
    return side_by_side([rows[:length] for rows in per_chain])


def _stack_each(per_chain: Sequence[Mapping[str, np.ndarray]], length: int) -> dict[str, np.ndarray]:
    return {name: _stack([arrays[name] for arrays in per_chain], length) for name in per_chain[0]}


def _typed(statistics: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Kernels write doubles."""
    return {name: values.astype(statistic_type(name), copy=False) for name, values in statistics.items()}


def statistic_type(name: str) -> type:
    """Counts are integers, flags booleans."""
    return np.int64 if name.startswith("n_") else np.bool_ if name == "diverging" else np.float64


def _stack_padded(per_chain: Sequence[np.ndarray]) -> np.ndarray:
    """Stack histories, whose rows are one per so much process time and so differ in number."""
    length = max(len(rows) for rows in per_chain)
    is_float = per_chain[0].dtype.kind == "f"
    shape = (len(per_chain), length, *per_chain[0].shape[1:])
    padded = np.full(shape, np.nan if is_float else -1, dtype=per_chain[0].dtype)
    for chain, rows in enumerate(per_chain):
        padded[chain, : len(rows)] = rows
    return padded


def _storable(value: Any) -> str | int | float:
    """What NetCDF and zarr (JSON) both hold as an attribute; anything else becomes text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return str(value)
    if isinstance(value, numbers.Integral):  # bool too: NetCDF has none
        integer = int(value)
        return integer if -(2**63) <= integer < 2**63 else str(integer)
    if isinstance(value, numbers.Real):
        return float(value) if math.isfinite(value) else str(float(value))
    return json.dumps(value, default=_jsonable)


def _jsonable(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)
