"""The C function pointer behind every model: its signature, its return codes, a call of it.

    int64 f(uint64 dim, const double *q, double *grad, double *logp, void *user_data)

The argument order is that of nutpie, so a density compiled for one can serve the other.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numba import types

FINE = 0
NON_FINITE_DENSITY = 1  # outside the support here: the sampler turns back
NON_FINITE_GRADIENT = 2  # likewise
EXCEPTION = 3  # fatal: sampling stops and reports LogDensity.take_exception()

DENSITY_SIGNATURE = types.int64(
    types.uint64,
    types.CPointer(types.float64),
    types.CPointer(types.float64),
    types.CPointer(types.float64),
    types.voidptr,
)
"""The signature for `numba.cfunc`: ``@numba.cfunc(grhmc.models.DENSITY_SIGNATURE)``."""

# Plain addresses (void pointers): a call from Python then needs no casts.
DENSITY_PROTOTYPE = ctypes.CFUNCTYPE(
    ctypes.c_int64,
    ctypes.c_uint64,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
)


def call_density(function: Any, user_data: int, q: np.ndarray, gradient: np.ndarray) -> tuple[float, int]:
    """Call a `DENSITY_PROTOTYPE` function at `q`; write `gradient`, return log density and code.

    Both outputs start as NaN, so an entry that the function forgets to write shows as non-finite
    instead of as whatever the memory held.
    """
    log_density = np.full(1, np.nan)
    gradient.fill(np.nan)
    code = function(q.size, q.ctypes.data, gradient.ctypes.data, log_density.ctypes.data, user_data)
    value = float(log_density[0])
    if code == FINE:
        if not np.isfinite(value):
            code = NON_FINITE_DENSITY
        elif not np.all(np.isfinite(gradient)):
            code = NON_FINITE_GRADIENT
    return value, int(code)
