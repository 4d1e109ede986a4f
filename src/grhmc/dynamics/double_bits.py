"""The bits of a double as an integer and back, in compiled and in interpreted kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.core import config
from numba.extending import intrinsic


@intrinsic
def _bits_compiled(typing_context, value):
    def codegen(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(types.int64))

    return types.int64(types.float64), codegen


@intrinsic
def _double_compiled(typing_context, bits):
    def codegen(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(types.float64))

    return types.float64(types.int64), codegen


def _bits_interpreted(value: float) -> int:
    return int(np.float64(value).view(np.int64))


def _double_interpreted(bits: int) -> float:
    return float(np.int64(bits).view(np.float64))


_is_interpreted = config.DISABLE_JIT  # pyright: ignore[reportAttributeAccessIssue]
bits_of: Any = _bits_interpreted if _is_interpreted else _bits_compiled
double_of: Any = _double_interpreted if _is_interpreted else _double_compiled
