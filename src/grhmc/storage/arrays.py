"""The arrays of a run on disk, in zarr: one chunk is written once, when all of its draws are made."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from grhmc.storage.folders import folder_at

if TYPE_CHECKING:
    import zarr

_CHUNK_BYTES = 2**22
_METADATA = "zarr.json"
_FEWEST_ROWS, _MOST_ROWS = 16, 8192


def rows_of_chunk(dim: int) -> int:
    """Draws of one chain that a chunk holds: 4 MB of them, within bounds."""
    return min(max(_CHUNK_BYTES // (8 * dim), _FEWEST_ROWS), _MOST_ROWS)


def create_draw_array(
    group: zarr.Group,
    name: str,
    *,
    shape: Sequence[int],
    dims: Sequence[str],
    dtype: np.dtype[Any],
    rows: int,
    attributes: Mapping[str, Any] | None = None,
) -> zarr.Array[Any]:
    """An array over (chain, draw, ...) that xarray can read, with nothing in it.

    Parameters
    ----------
    group : zarr.Group
    name : str
    shape : sequence of int
    dims : sequence of str
    dtype : dtype
    rows : int
        Draws per chunk.
    attributes : mapping
    """
    return group.create_array(
        name,
        shape=tuple(shape),
        chunks=(1, rows, *shape[2:]),
        dtype=dtype,
        dimension_names=tuple(dims),
        fill_value=_missing(dtype),
        attributes=dict(attributes or {}),
        overwrite=True,
    )


def _missing(dtype: np.dtype[Any]) -> Any:
    """What draws that were not made are read as."""
    return np.array(np.nan if dtype.kind in "fc" else 0).astype(dtype)[()]


def set_lengths(location: str, group: zarr.Group, n_draws: int) -> None:
    """Say of all arrays of a group with a dimension "draw" how many draws they have.

    In zarr's own metadata file, because `Array.resize` would delete the draws beyond, which a run that goes on has.
    """
    for name, array in group.arrays():
        dims = array.metadata.dimension_names or ()  # pyright: ignore[reportAttributeAccessIssue]
        if len(dims) > 1 and dims[1] == "draw" and array.shape[1] != n_draws:
            folder = folder_at(f"{location}/{group.path}/{name}")
            metadata = json.loads(folder.read(_METADATA))
            metadata["shape"][1] = n_draws
            folder.write(_METADATA, json.dumps(metadata).encode())
