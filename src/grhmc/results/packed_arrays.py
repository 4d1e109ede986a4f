"""Arrays by name in one row of bytes, compressed: what a result holds of a chain's state."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from grhmc.results.checkpoint import CheckpointError

_LENGTH_BYTES = 8
_LEVEL = 1  # most of it are random digits, which no effort makes smaller


def pack_arrays(arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """The arrays as bytes, shape (n,); of any dtype but object.

    Compressed: the length of a header, the header (a name, dtype and shape per array, in JSON), and the values of all.
    """
    header = json.dumps([[name, _dtype_to_json(array.dtype), list(array.shape)] for name, array in arrays.items()])
    content = header.encode()
    parts = [len(content).to_bytes(_LENGTH_BYTES, "little"), content, *(array.tobytes() for array in arrays.values())]
    return np.frombuffer(zlib.compress(b"".join(parts), _LEVEL), dtype=np.uint8)


def unpack_arrays(packed: np.ndarray, place: str) -> dict[str, np.ndarray]:
    """The arrays of `pack_arrays`; what follows in the row is left alone. `place` is what to call it in errors.

    Raises
    ------
    CheckpointError
        If it is damaged.
    """
    try:
        content = zlib.decompressobj().decompress(np.ascontiguousarray(packed, dtype=np.uint8).tobytes())
        start = _LENGTH_BYTES + int.from_bytes(content[:_LENGTH_BYTES], "little")
        arrays = {}
        for name, written, shape in json.loads(content[_LENGTH_BYTES:start]):
            dtype = _dtype_from_json(written)
            end = start + dtype.itemsize * math.prod(shape)
            if dtype.hasobject or not isinstance(name, str) or not start <= end <= len(content):
                raise ValueError(f"it has no array {name!r} of dtype {dtype} and shape {shape}")
            arrays[name] = np.frombuffer(content[start:end], dtype=dtype).reshape(shape).copy()
            start = end
    except (zlib.error, ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise CheckpointError(f"{place} is damaged ({error})") from error
    return arrays


def _dtype_to_json(dtype: np.dtype[Any]) -> Any:
    return dtype.descr if dtype.names else dtype.str


def _dtype_from_json(written: Any) -> np.dtype[Any]:
    return np.dtype([(str(name), str(kind)) for name, kind in written] if isinstance(written, list) else str(written))
