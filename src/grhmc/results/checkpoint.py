"""Arrays and JSON in one file, all or nothing: cells of `grhmc paper`, states of chains."""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from grhmc._files import replacing
from grhmc._version import __version__

FORMAT = "grhmc checkpoint"
FORMAT_VERSION = 1

_HEADER = "header.json"
_METADATA = "metadata.json"
_ARRAYS = "arrays/"


class CheckpointError(ValueError):
    """A file is not a checkpoint, is damaged, or was written by another version."""


class Checkpoint(NamedTuple):
    """What a checkpoint holds.

    Attributes
    ----------
    arrays : dict of str to ndarray
    metadata : dict
        As it was saved, except that JSON turns tuples into lists.
    """

    arrays: dict[str, np.ndarray]
    metadata: dict[str, Any]


def save_checkpoint(
    path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray], metadata: Mapping[str, Any]
) -> None:
    """Write one file that replaces `path` only once it is complete.

    A zip archive in NumPy's ``.npz`` layout. It holds no pickled objects, so that loading a
    foreign file runs no code.

    Parameters
    ----------
    path : path-like
        Conventionally ending in ``.npz``. A file that is already there is replaced.
    arrays : mapping of str to array
        Of any dtype but object.
    metadata : mapping
        Anything that JSON can hold.

    Raises
    ------
    TypeError
        If an array holds Python objects, or JSON cannot hold the metadata.
    OSError
        If the file cannot be written. A file at `path` is then as it was.
    """
    path = Path(path)
    with replacing(path) as complete, open(complete, "wb") as file:
        write_checkpoint(file, arrays, metadata)
        file.flush()
        os.fsync(file.fileno())


def write_checkpoint(file: IO[bytes], arrays: Mapping[str, np.ndarray], metadata: Mapping[str, Any]) -> None:
    """Write a checkpoint to an open binary file; see `save_checkpoint`."""
    header = {"format": FORMAT, "version": FORMAT_VERSION, "written_by": __version__}
    try:
        text = json.dumps(dict(metadata))
    except (TypeError, ValueError) as error:
        raise TypeError(f"metadata must be made of what JSON can hold: {error}") from error
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_HEADER, json.dumps(header))
        archive.writestr(_METADATA, text)
        for name, values in arrays.items():
            array = np.asarray(values)
            if array.dtype.hasobject:
                raise TypeError(
                    f"arrays must not hold Python objects, but {name!r} has dtype {array.dtype}; "
                    "convert it to numbers or fixed-width strings"
                )
            # An own zip entry per array, rather than `np.savez`, which takes the names as keywords.
            with archive.open(f"{_ARRAYS}{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)


def load_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Read a file written by `save_checkpoint`.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    Checkpoint

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    CheckpointError
        If it is not a checkpoint, is damaged, or has another format version.
    """
    with open(path, "rb") as file:
        return read_checkpoint(file, str(path))


def read_checkpoint(file: IO[bytes], path: str) -> Checkpoint:
    """Read a checkpoint from an open binary file; `path` is what to call it in errors. See `load_checkpoint`."""
    try:
        with zipfile.ZipFile(file) as archive:
            _check_header(path, archive)
            metadata = json.loads(archive.read(_METADATA))
            arrays = {
                name.removeprefix(_ARRAYS).removesuffix(".npy"): np.lib.format.read_array(
                    io.BytesIO(archive.read(name)), allow_pickle=False
                )
                for name in archive.namelist()
                if name.startswith(_ARRAYS)
            }
            if not isinstance(metadata, dict):
                raise CheckpointError(f"{path} is a damaged checkpoint: its metadata are no mapping")
    except CheckpointError:
        raise
    except zipfile.BadZipFile as error:
        raise CheckpointError(
            f"{path} is not a grhmc checkpoint, or was cut short or damaged ({error}); use "
            "another copy, or delete it and have it made again"
        ) from error
    except (
        KeyError,
        ValueError,
        EOFError,
        RuntimeError,
        zlib.error,
    ) as error:  # RuntimeError: nested too deep, encrypted
        raise CheckpointError(
            f"{path} is a damaged checkpoint ({error}); use another copy, or delete it and have it made again"
        ) from error
    return Checkpoint(arrays, metadata)


def _check_header(path: str, archive: zipfile.ZipFile) -> None:
    """Make sure that the archive is a checkpoint of this version."""
    if _HEADER not in archive.namelist():
        raise CheckpointError(f"{path} is a zip file but not a grhmc checkpoint")
    header = json.loads(archive.read(_HEADER))
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise CheckpointError(f"{path} is a zip file but not a grhmc checkpoint")
    if header.get("version") != FORMAT_VERSION:
        raise CheckpointError(
            f"{path} has checkpoint format {header.get('version')}, written by grhmc "
            f"{header.get('written_by')}; this is grhmc {__version__}, which reads format "
            f"{FORMAT_VERSION}. Read it with the version that wrote it"
        )
