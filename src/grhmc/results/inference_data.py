"""A result as what the installed ArviZ and PyMC take: InferenceData before ArviZ 1, DataTree since."""

from __future__ import annotations

import importlib
import warnings
from importlib import metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import xarray


def to_inference_data(result: xarray.DataTree) -> Any:
    """Give a result in the form that the installed versions of ArviZ and PyMC take.

    Parameters
    ----------
    result : xarray.DataTree
        Of `sample`.

    Returns
    -------
    arviz.InferenceData or xarray.DataTree
        Where ArviZ before version 1 is installed, as for PyMC 5, an InferenceData of the same groups; its arrays are
        those of `result`. Else `result` itself, which PyMC 6 and ArviZ 1 take as it is.

    Raises
    ------
    TypeError
        If `result` has no groups.
    """
    if not hasattr(result, "children"):
        raise TypeError(f"result must be the DataTree that grhmc.sample gives, got {type(result).__name__}")
    try:
        version = metadata.version("arviz")
    except metadata.PackageNotFoundError:
        return result
    if int(version.partition(".")[0]) >= 1:
        return result
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of ArviZ about itself; and about groups that its schema does not know
        arviz = importlib.import_module("arviz")
        groups = {name: child.to_dataset() for name, child in result.children.items()}
        return arviz.InferenceData(attrs=dict(result.attrs), **groups, save_warmup=True)
