"""Data for a compiled density: laid out in memory behind the user pointer, and read back.

The pointer leads to a table of 8-byte words, so new data of the same types need no new compilation:

    word 0      1 once the density has raised an exception, else 0
    word 1      index of the word where the failing position starts
    then        the data: a scalar takes one word; an array its address and its lengths
    at the end  dim words for the position at which the density raised

Arrays are read back without a reference count (the model keeps them alive): counting costs an
atomic operation per array and evaluation, and threads that share a model would wait for each
other.
"""

from __future__ import annotations

import functools
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from grhmc.argument_checks import reject_masked

N_HEADER_WORDS = 2

_WORD = ir.IntType(64)


def as_data(data: Any) -> tuple[Any, ...]:
    """Check and copy a front-end's `data`: C-contiguous arrays, and int, float or bool scalars.

    Raises
    ------
    TypeError
        If `data` is not a tuple or list, or an item is neither numeric nor convertible to an array.
    """
    if not isinstance(data, tuple | list):
        raise TypeError(
            f"data must be a tuple of arrays and numbers, got {type(data).__name__}; for a single "
            "item write data=(item,)"
        )
    return tuple(_as_item(index, item) for index, item in enumerate(data))


def data_types(data: tuple[Any, ...]) -> tuple[types.Type, ...]:
    """Numba's types of the items that `as_data` returned: what a compilation depends on."""
    return tuple(numba.typeof(item) for item in data)


def fill_table(data: tuple[Any, ...], dim: int) -> np.ndarray:
    """Lay out the items that `as_data` returned; they must outlive the table's use."""
    words: list[int] = [0, 0]
    for item in data:
        if isinstance(item, np.ndarray):
            words += [item.ctypes.data, *item.shape]
        elif isinstance(item, float):
            words.append(int(np.float64(item).view(np.int64)))
        else:
            words.append(int(item))
    words[1] = len(words)
    return np.array(words + [0] * dim, dtype=np.int64)


def failing_position(table: np.ndarray) -> np.ndarray | None:
    """Position at which the density raised, or None; clears the record."""
    if table[0] == 0:
        return None
    table[0] = 0
    return table[table[1] :].view(np.float64).copy()


@intrinsic
def record_failure(_typing_context, dim, q_pointer, user_data):
    """Note in the table that the density raised at q, from compiled code.

    Written as an intrinsic because the same as loops over arrays takes 0.7 s to compile per model.
    """

    def generate(context, builder, _signature, arguments):
        length, position, user = arguments
        words = builder.bitcast(user, _WORD.as_pointer())
        start = builder.load(builder.gep(words, [_WORD(1)]))
        cgutils.raw_memcpy(builder, builder.gep(words, [start]), position, length, 8)
        builder.store(_WORD(1), words)
        return context.get_dummy_value()

    return types.none(dim, q_pointer, user_data), generate


@functools.lru_cache(maxsize=128)
def data_reader(item_types: tuple[types.Type, ...]) -> Any:
    """Make the inverse of `fill_table` for compiled code: ``read(user_data)`` gives the items."""
    data_type = types.Tuple(item_types)

    @intrinsic
    def read(_typing_context, user_data):
        def generate(context, builder, _signature, arguments):
            words = builder.bitcast(arguments[0], _WORD.as_pointer())
            position = N_HEADER_WORDS
            items = []
            for item_type in item_types:
                n_words = 1 + item_type.ndim if isinstance(item_type, types.Array) else 1
                item_words = [builder.load(builder.gep(words, [_WORD(position + k)])) for k in range(n_words)]
                items.append(_read_item(context, builder, item_type, item_words))
                position += n_words
            return context.make_tuple(builder, data_type, items)

        return data_type(types.voidptr), generate

    return read


def _read_item(context: Any, builder: Any, item_type: types.Type, words: list[Any]) -> Any:
    if isinstance(item_type, types.Array):
        return _read_array(context, builder, item_type, words)
    if isinstance(item_type, types.Float):
        return builder.bitcast(words[0], ir.DoubleType())
    if isinstance(item_type, types.Boolean):
        return builder.icmp_signed("!=", words[0], _WORD(0))
    return words[0]


_VECTOR = types.Array(types.float64, 1, "C")


@intrinsic
def vectors_at(_typing_context, dim, q_pointer, gradient_pointer):
    """The position and the gradient as arrays without a reference count.

    A function that takes arrays counts its references to them. Whether Numba finds that needless and leaves it out
    depends on the processor, by what LLVM makes of the function for it.
    """

    def generate(context, builder, signature, arguments):
        length, *pointers = arguments
        arrays = [_array_at(context, builder, _VECTOR, pointer, [length]) for pointer in pointers]
        return context.make_tuple(builder, signature.return_type, arrays)

    return types.UniTuple(_VECTOR, 2)(dim, q_pointer, gradient_pointer), generate


def _read_array(context: Any, builder: Any, array_type: types.Array, words: list[Any]) -> Any:
    address, *lengths = words
    element = context.get_data_type(array_type.dtype)
    return _array_at(context, builder, array_type, builder.inttoptr(address, element.as_pointer()), lengths)


def _array_at(context: Any, builder: Any, array_type: types.Array, pointer: Any, lengths: list[Any]) -> Any:
    array = make_array(array_type)(context, builder)
    element = context.get_data_type(array_type.dtype)
    item_size = context.get_abi_sizeof(element)
    strides = []
    stride = _WORD(item_size)
    for length in reversed(lengths):
        strides.insert(0, stride)
        stride = builder.mul(stride, length)
    populate_array(
        array,
        data=pointer,
        shape=lengths,
        strides=strides,
        itemsize=item_size,
        meminfo=None,
    )
    return array._getvalue()


def _as_item(index: int, item: Any) -> Any:
    reject_masked(f"data[{index}]", item)
    array = np.asarray(item)
    kind = array.dtype.kind
    if kind not in "biufc" or (array.ndim == 0 and kind == "c"):
        raise TypeError(
            f"data[{index}] must be a numeric array or a real number, got {type(item).__name__} "
            f"(as an array: dtype {array.dtype}); convert it first"
        )
    if array.ndim == 0:
        return _as_scalar(index, array)
    dtype = array.dtype.newbyteorder("=")
    if kind == "f" and dtype != np.float32:
        dtype = np.dtype(np.float64)  # Numba has neither half nor extended precision
    return np.array(array, dtype=dtype, order="C", subok=False)


def _as_scalar(index: int, array: np.ndarray) -> bool | int | float:
    value = array.item()
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise TypeError(f"data[{index}] = {value} does not fit a 64-bit integer; pass it as a float instead")
    return value if isinstance(value, bool | int) else float(value)
