"""Counts gradients where a sampler calls the density, in compiled code and whatever the number of threads."""

from __future__ import annotations

import functools
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from grhmc.density_pointer import DENSITY_SIGNATURE
from grhmc.models.log_density import LogDensity

_COUNT, _ADDRESS, _USER_DATA, _MINUS_INFINITY = range(4)

_DOUBLE_POINTER = ir.DoubleType().as_pointer()
_VOID_POINTER = ir.IntType(8).as_pointer()
_WORD = ir.IntType(64)
_FUNCTION = ir.FunctionType(_WORD, [_WORD, _DOUBLE_POINTER, _DOUBLE_POINTER, _DOUBLE_POINTER, _VOID_POINTER])


@intrinsic
def _count_and_call(_typing_context, dim, q, gradient, log_density, table):
    """Add one to the table's count, atomically, and call the density that the table names."""

    def generate(_context, builder, _signature, arguments):
        dim_value, q_value, gradient_value, value, table_value = arguments
        words = builder.bitcast(table_value, _WORD.as_pointer())
        builder.atomic_rmw("add", words, _WORD(1), "monotonic")
        address = builder.load(builder.gep(words, [_WORD(_ADDRESS)]))
        user_data = builder.load(builder.gep(words, [_WORD(_USER_DATA)]))
        function = builder.inttoptr(address, _FUNCTION.as_pointer())
        user = builder.inttoptr(user_data, _VOID_POINTER)
        return builder.call(function, [dim_value, q_value, gradient_value, value, user])

    return types.int64(dim, q, gradient, log_density, table), generate


def _counted(dim, q, gradient, log_density, table):
    """The density that samplers are given; a table with a fourth word of 1 turns rejections into -inf."""
    code = _count_and_call(dim, q, gradient, log_density, table)  # pyright: ignore[reportCallIssue]
    words = numba.carray(table, (4,), np.int64)
    if words[3] == 1:
        poison = 0.0 * log_density[0]  # 0 * inf and 0 * nan are nan
        for j in range(dim):
            poison += 0.0 * gradient[j]
        if code != 0 or poison != 0.0:
            log_density[0] = -np.inf
            for j in range(dim):
                gradient[j] = 0.0
        return 0
    return code


@functools.cache
def _compiled() -> Any:
    return numba.cfunc(DENSITY_SIGNATURE, error_model="numpy")(_counted)


@functools.cache
def _compiled_for_values() -> Any:
    """The same with the signature ``double f(intptr dim, const double *q, double *grad, void *user_data)``."""
    counted = numba.njit(_counted, error_model="numpy")

    def value(dim, q, gradient, table):
        output = np.empty(1)
        counted(dim, q, gradient, _pointer_to(output), table)
        return output[0]

    signature = types.float64(types.intp, types.CPointer(types.float64), types.CPointer(types.float64), types.voidptr)
    return numba.cfunc(signature, error_model="numpy")(value)


@intrinsic
def _pointer_to(_typing_context, array):
    def generate(context, builder, signature, arguments):
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data

    return types.CPointer(types.float64)(array), generate


@intrinsic
def _as_pointer(_typing_context, address):
    def generate(_context, builder, _signature, arguments):
        return builder.inttoptr(arguments[0], _VOID_POINTER)

    return types.voidptr(address), generate


@intrinsic
def _as_words(_typing_context, pointer):
    def generate(_context, builder, _signature, arguments):
        return builder.bitcast(arguments[0], _WORD.as_pointer())

    return types.CPointer(types.int64)(pointer), generate


@functools.cache
def compiled_for_xla() -> Any:
    """The same as a custom call of XLA's: inputs q, (dim, user data); outputs log density, gradient."""
    counted = numba.njit(_counted, error_model="numpy")

    def custom_call(outputs, inputs, _status):
        numbers = numba.carray(_as_words(inputs[1]), (2,))
        counted(numbers[0], inputs[0], outputs[1], outputs[0], _as_pointer(numbers[1]))

    double_pointers = types.CPointer(types.CPointer(types.float64))
    return numba.cfunc(types.void(double_pointers, double_pointers, types.voidptr), error_model="numpy")(custom_call)


class CountedDensity:
    """A model's pointer behind a counter.

    Parameters
    ----------
    model : LogDensity
    reject_with_minus_infinity : bool
        For samplers that take no error code: where the density is not finite, return 0 and a log density of -inf.

    Attributes
    ----------
    address, user_data : int
        What to give to a sampler; the signature is `DENSITY_SIGNATURE`.
    value_address : int
        The same as ``double f(intptr dim, const double *q, double *grad, void *user_data)``; -inf where rejected.
    """

    def __init__(self, model: LogDensity, *, reject_with_minus_infinity: bool = False) -> None:
        self.model = model
        self._table = np.zeros(4, dtype=np.int64)
        self._table[_ADDRESS] = model.address
        self._table[_USER_DATA] = model.user_data
        self._table[_MINUS_INFINITY] = reject_with_minus_infinity
        self.address: int = _compiled().address
        self.user_data: int = self._table.ctypes.data

    @property
    def value_address(self) -> int:
        """Compiled when asked for."""
        return _compiled_for_values().address

    @property
    def count(self) -> int:
        """Gradients since the last `reset`."""
        return int(self._table[_COUNT])

    def reset(self) -> None:
        """Start counting at zero."""
        self._table[_COUNT] = 0
