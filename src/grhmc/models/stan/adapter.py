"""The C function between the sampler's density pointer and BridgeStan's: compiled once per machine.

The user pointer leads to a table of 8-byte words, so one compiled function serves every Stan model:

    word 0  the model
    word 1  address of bs_log_density_gradient
    word 2  address of bs_free_error_msg
    word 3  the message of the last evaluation that failed, or 0; the table owns it
    word 4  a mutex, or 0 if threads may evaluate at the same time
    word 5  address of pthread_mutex_lock
    word 6  address of pthread_mutex_unlock
"""

from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from grhmc._jit import cached_c_function
from grhmc.density_pointer import DENSITY_SIGNATURE, FINE, NON_FINITE_DENSITY

MODEL, EVALUATE, FREE, MESSAGE, MUTEX, LOCK, UNLOCK = range(7)
N_WORDS = 7

_WORD = ir.IntType(64)
_INT = ir.IntType(32)
_BYTES = ir.IntType(8).as_pointer()
_DOUBLES = ir.DoubleType().as_pointer()


@functools.cache
def adapter_address() -> int:
    """Address of the adapter, compiled or loaded from the disk cache."""
    return cached_c_function(stan_density, DENSITY_SIGNATURE).address


def stan_density(_dim, q, gradient, log_density, user_data):
    """Evaluate the model that the table at `user_data` names; any error means "outside the support"."""
    if _call_stan(user_data, q, gradient, log_density) == 0:  # pyright: ignore[reportCallIssue]
        return FINE
    return NON_FINITE_DENSITY


@intrinsic
def _call_stan(_typing_context: Any, user_data: Any, q: Any, gradient: Any, log_density: Any) -> Any:
    """Status of the call: 0 if fine. Keeps the newest message, frees the one before."""

    def generate(_context, builder, _signature, arguments):
        user, position, slope, value = arguments
        words = builder.bitcast(user, _WORD.as_pointer())

        def word(index):
            return builder.gep(words, [_WORD(index)])

        def call(index, result, values):
            function_type = ir.FunctionType(result, [v.type for v in values])
            address = builder.inttoptr(builder.load(word(index)), function_type.as_pointer())
            return builder.call(address, values)

        mutex = builder.load(word(MUTEX))
        is_locked = builder.icmp_unsigned("!=", mutex, _WORD(0))
        with cgutils.if_unlikely(builder, is_locked):
            call(LOCK, _INT, [builder.inttoptr(mutex, _BYTES)])
        message = cgutils.alloca_once_value(builder, ir.Constant(_BYTES, None))
        # C's bool arguments (drop constants, include the Jacobian) travel like an int.
        status = call(
            EVALUATE,
            _INT,
            [
                builder.inttoptr(builder.load(word(MODEL)), _BYTES),
                _INT(1),
                _INT(1),
                builder.bitcast(position, _DOUBLES),
                builder.bitcast(value, _DOUBLES),
                builder.bitcast(slope, _DOUBLES),
                message,
            ],
        )
        with cgutils.if_unlikely(builder, is_locked):
            call(UNLOCK, _INT, [builder.inttoptr(mutex, _BYTES)])
        with cgutils.if_unlikely(builder, builder.icmp_signed("!=", status, _INT(0))):
            previous = builder.load(word(MESSAGE))
            with builder.if_then(builder.icmp_unsigned("!=", previous, _WORD(0))):
                call(FREE, ir.VoidType(), [builder.inttoptr(previous, _BYTES)])
            builder.store(builder.ptrtoint(builder.load(message), _WORD), word(MESSAGE))
        return status

    return types.int32(user_data, q, gradient, log_density), generate
