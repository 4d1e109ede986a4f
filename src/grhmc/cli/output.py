"""Where the commands write a result: checked before the run, whole or not at all, and elsewhere if it cannot be."""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grhmc._files import replacing
from grhmc._terminal import print_if_possible, printable

if TYPE_CHECKING:
    import xarray

    from grhmc.models.log_density import LogDensity

_WRITERS = {".nc": ("h5netcdf", "h5py"), ".zarr": ("zarr",)}
_BYTES_PER_VARIABLE = 4096
# What HDF5 needs beside the numbers, generously.


def check_output(path: Path, model: LogDensity | None = None) -> None:
    """Raise unless a result (of the model) can be written there: better before the sampling than after it.

    Raises
    ------
    ValueError, ImportError, OSError
    """
    if path.suffix not in _WRITERS:
        raise ValueError(f"output must end in {' or '.join(_WRITERS)}, got {str(path)!r}")
    if any(importlib.util.find_spec(package) is None for package in _WRITERS[path.suffix]):
        raise ImportError(
            f"writing {path.suffix} needs {' and '.join(_WRITERS[path.suffix])}; pip install 'grhmc[store]'"
        )
    if path.is_dir() and not (path.suffix == ".zarr" and _is_zarr_store(path)):
        raise ValueError(f"output {str(path)!r} is a folder that no result was written to; give another name")
    path.parent.mkdir(parents=True, exist_ok=True)
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"no file can be written to the folder {str(path.parent)!r}")
    if model is not None and path.suffix == ".zarr":
        names = [*model.observed_data, *model.coords, *(variable.name for variable in model.variables)]
        names += [axis for variable in model.variables for axis in variable.dims or ()]
        separated = [name for name in names if "\\" in name]
        if separated:
            raise ValueError(f"zarr takes the backslash of {separated[0]!r} for a path separator; write .nc instead")


def _is_zarr_store(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("zarr.json", ".zgroup")) or not any(folder.iterdir())


def save_result(result: xarray.DataTree, path: Path) -> Path:
    """Write a result; where that fails, to a folder for temporary files, and say so.

    Returns
    -------
    Path
        Where it is.

    Raises
    ------
    OSError
        If it cannot be written there either.
    """
    try:
        write_result(result, path)
        return path
    except Exception as error:
        reason = f"the draws could not be written to {path}: {error}"
    elsewhere = Path(tempfile.mkdtemp(prefix="grhmc-"), path.name)
    try:
        write_result(result, elsewhere)
    except Exception as error:
        raise OSError(f"{reason}; nor to {elsewhere}: {error}. They are lost") from error
    print_if_possible(printable(f"error: {reason}. They are in {elsewhere}", "red"))
    return elsewhere


@contextlib.contextmanager
def saving_what_was_drawn(path: Path | None) -> Iterator[None]:
    """If an exception comes out of the block with a partial result, write that."""
    try:
        yield
    except BaseException as error:
        partial: Any = getattr(error, "partial_result", None)
        if path is not None and hasattr(partial, "to_netcdf") and partial["sample_stats"].sizes["draw"]:
            saved = save_result(partial, path)
            print_if_possible(printable(f"The draws made until then: {saved}", "yellow"))
        raise


def write_result(result: xarray.DataTree, path: Path) -> None:
    """Write a result as NetCDF or zarr; what is there is replaced, once all is written; a link is not followed.

    Raises
    ------
    OSError
        If there is no room for it, or it is not there when it is read again.
    """
    with replacing(path) as complete:
        if path.suffix == ".nc":
            _check_room(complete, result)
            result.to_netcdf(complete, engine="h5netcdf")
        else:
            result.to_zarr(complete, mode="w", consolidated=False)  # zarr 3 has no standard for consolidated metadata
        _check_written(complete, result)


def _check_room(path: Path, result: xarray.DataTree) -> None:
    """Raise if the disk has no room for the file: the HDF5 library crashes where it meets the disk's end."""
    n_bytes, n_variables = 0, 0
    for group in result.subtree:
        for variable in group.to_dataset(inherit=False).variables.values():
            n_bytes += variable.nbytes
            n_variables += 1
    n_bytes += n_variables * _BYTES_PER_VARIABLE
    if not hasattr(os, "posix_fallocate"):
        if shutil.disk_usage(path.parent).free < n_bytes:
            raise OSError(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)}; {n_bytes:,} bytes are needed")
        return
    reserve = path.with_name("reserve")
    try:
        with open(reserve, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, n_bytes)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EINVAL):  # this file system cannot tell
            return
        raise OSError(error.errno, f"{error.strerror}; {n_bytes:,} bytes are needed") from error
    finally:
        reserve.unlink(missing_ok=True)


def _check_written(path: Path, result: xarray.DataTree) -> None:
    """Raise unless the file, opened again, has the groups, their sizes and the last draw."""
    import numpy as np
    import xarray

    options: dict[str, Any] = (
        {"engine": "h5netcdf"} if path.suffix == ".nc" else {"engine": "zarr", "consolidated": False}
    )
    with xarray.open_datatree(path, **options) as written:
        for group in result.subtree:
            there = written[group.path] if group.path in written.groups else None
            if there is None or dict(there.sizes) != dict(group.sizes):
                raise OSError(f"the group {group.path} is not complete in the file")
        last = {"draw": slice(-1, None)}
        expected, found = (tree["sample_stats"].to_dataset()["lp"].isel(last).to_numpy() for tree in (result, written))
        if not np.array_equal(expected, found, equal_nan=True):
            raise OSError("the last draw is not in the file")
