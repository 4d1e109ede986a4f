"""Anyone's result as a DataTree: InferenceData, datasets, other orders of axes, chains that have no numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray

_SAMPLES = ("chain", "draw")


def as_datatree(result: Any) -> xarray.DataTree:
    """Read a result of any sampler, as ArviZ knows them; a DataTree is returned as it is.

    Parameters
    ----------
    result : DataTree, InferenceData or Dataset
        A dataset is taken for the posterior.

    Raises
    ------
    TypeError
        If it is something else.
    """
    import xarray

    if isinstance(result, xarray.DataTree):
        return result
    if isinstance(result, xarray.Dataset):
        return xarray.DataTree.from_dict({"posterior": result})
    # InferenceData is not importable with ArviZ 1, and PyMC 5 and nutpie bring their own ArviZ.
    groups = getattr(result, "groups", None)
    if callable(groups):
        names: Any = groups()
        datasets = {str(name).strip("/"): result[name] for name in names if str(name).strip("/")}
        if datasets and all(isinstance(dataset, xarray.Dataset) for dataset in datasets.values()):
            tree = xarray.DataTree.from_dict(datasets)
            tree.attrs = dict(getattr(result, "attrs", None) or {})
            return tree
    raise TypeError(
        "result must be an xarray.DataTree, an arviz.InferenceData or an xarray.Dataset of draws over (chain, draw), "
        f"got {type(result).__name__}; arviz has from_pymc, from_cmdstanpy, from_numpyro, from_emcee, from_dict, ..."
    )


def is_of_grhmc(result: xarray.DataTree) -> bool:
    """Whether this package drew it."""
    return (
        "tuning" in result.children
        or result.attrs.get("inference_library") == "grhmc"
        or "process" in result.attrs
        or (
            "unconstrained_posterior" in result.children
            and result["unconstrained_posterior"].attrs.get("inference_library") == "grhmc"
        )
    )


def find_statistic(result: xarray.DataTree, names: Sequence[str]) -> np.ndarray | None:
    """Of these statistics the first that the result has for each draw, shape (chains, draws); None if it has none."""
    if "sample_stats" not in result.children:
        return None
    statistics = result["sample_stats"].to_dataset()
    for name in names:
        if name in statistics and set(statistics[name].dims) == set(_SAMPLES) and statistics[name].dtype.kind in "biuf":
            return statistics[name].transpose(*_SAMPLES).to_numpy()
    return None


def draws_of_group(result: xarray.DataTree, group: str) -> xarray.Dataset:
    """Variables of a group that have draws, over (chain, draw, ...), with chains numbered.

    Raises
    ------
    ValueError
        If the group is missing or has no variable over chains and draws.
    """
    if group not in result.children:
        raise ValueError(f"the result has no group {group!r}; it has {', '.join(result.children) or 'none at all'}")
    dataset = result[group].to_dataset()
    kept = [name for name, array in dataset.data_vars.items() if set(_SAMPLES) <= set(array.dims)]
    if not kept:
        raise ValueError(
            f"the group {group!r} has no variable over the dimensions chain and draw; its dimensions are "
            f"{', '.join(map(str, dataset.dims)) or 'none'}. Draws that were stacked can be taken apart by unstack()"
        )
    dataset = dataset[kept]
    labels: dict[str, Any] = {}
    if "chain" not in dataset.coords or np.asarray(dataset["chain"]).dtype.kind not in "iu":
        labels["chain"] = np.arange(dataset.sizes["chain"])
    if "draw" not in dataset.coords:
        labels["draw"] = np.arange(dataset.sizes["draw"])
    return dataset.assign_coords(labels).transpose("chain", "draw", ...)
