"""The call through the C pointer of a log density: the only place where kernels leave the package.

The pointer travels as a plain integer, so one compiled kernel serves every model. An intrinsic makes the call: it
costs about 1 ns, where Numba's first-class function types cost about 40 ns.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils, config
from numba.extending import intrinsic

from grhmc._jit import array_kernel, kernel
from grhmc.density_pointer import DENSITY_PROTOTYPE, EXCEPTION, FINE, NON_FINITE_DENSITY, NON_FINITE_GRADIENT
from grhmc.dynamics.aligned import aligned_zeros
from grhmc.dynamics.standardization import Standardization, apply_factor, to_parameters


class Density(NamedTuple):
    """A log density behind a C pointer, with room for its input and output.

    Attributes
    ----------
    address, user_data : int
        ``int64 f(uint64 dim, const double* q, double* grad, double* logp, void* user)`` and its last argument.
    point, gradient : ndarray, shape (dim,)
        Scratch: where it is evaluated, and the gradient there.
    value : ndarray, shape (1,)
        Scratch: the log density.
    stop : ndarray of int, shape (1,)
        `GO_ON`; another thread writes `PAUSE` to have the chain return between two steps or trajectories, or `STOP` to
        have the next evaluation left out, which answers with `STOPPED` and the code of an exception. So a chain stops
        within a gradient, however long its trajectories are.
    """

    address: int
    user_data: int
    point: np.ndarray
    gradient: np.ndarray
    value: np.ndarray
    stop: np.ndarray


GO_ON, PAUSE, STOP, STOPPED = 0, -1, 1, 2


def init_density(address: int, user_data: int, dim: int) -> Density:
    """Allocate the scratch that goes with a pointer."""
    return Density(address, user_data, aligned_zeros(dim), aligned_zeros(dim), np.zeros(1), np.zeros(1, dtype=np.int64))


_DOUBLE_POINTER = ir.DoubleType().as_pointer()
_VOID_POINTER = ir.IntType(8).as_pointer()
_C_FUNCTION = ir.FunctionType(
    ir.IntType(64),
    [ir.IntType(64), _DOUBLE_POINTER, _DOUBLE_POINTER, _DOUBLE_POINTER, _VOID_POINTER],
)


@intrinsic
def _call_compiled(typing_context, address, user_data, point, output, value):
    def codegen(context, builder, signature, arguments):
        function = builder.inttoptr(arguments[0], _C_FUNCTION.as_pointer())
        user = builder.inttoptr(arguments[1], _VOID_POINTER)
        arrays = [
            context.make_array(array_type)(context, builder, array)
            for array_type, array in zip(signature.args[2:], arguments[2:], strict=True)
        ]
        (dim,) = cgutils.unpack_tuple(builder, arrays[0].shape)
        return builder.call(function, [dim, *(array.data for array in arrays), user])

    return types.int64(address, user_data, point, output, value), codegen


def _call_interpreted(address, user_data, point, output, value):
    function = DENSITY_PROTOTYPE(address)
    return function(point.shape[0], point.ctypes.data, output.ctypes.data, value.ctypes.data, user_data)


call_pointer: Any = _call_interpreted if config.DISABLE_JIT else _call_compiled  # pyright: ignore[reportAttributeAccessIssue]


@kernel
def evaluate_force(
    density: Density, standardization: Standardization, position: np.ndarray, force: np.ndarray
) -> tuple[int, float]:
    """Evaluate log density and standardized force F S g(m + S F q̄); writes `force` and the scratch of `density`.

    Returns
    -------
    code : int
        `FINE`, or what is wrong here; `force` is then meaningless.
    log_density : float
    """
    to_parameters(standardization, position, density.point)
    return evaluate_at_point(density, standardization, force)


@kernel
def evaluate_at_point(density: Density, standardization: Standardization, force: np.ndarray) -> tuple[int, float]:
    """`evaluate_force` where `density.point` holds the position already, in the units of the parameters."""
    point, gradient = density.point, density.gradient
    if density.stop[0] > GO_ON:
        density.stop[0] = STOPPED
        return EXCEPTION, -np.inf
    code = call_pointer(density.address, density.user_data, point, gradient, density.value)
    if code != FINE:
        return code, -np.inf
    log_density = density.value[0]
    if not np.isfinite(log_density):
        return NON_FINITE_DENSITY, -np.inf
    poison = _scale_gradient(standardization.scale, gradient, force)
    if poison != 0.0:
        return NON_FINITE_GRADIENT, -np.inf
    apply_factor(standardization, force)
    return FINE, log_density


@array_kernel
def _scale_gradient(scale: np.ndarray, gradient: np.ndarray, force: np.ndarray) -> float:
    """Write S g to `force`; returns 0 if it is finite: 0 * inf and 0 * nan are nan, and a sum keeps it."""
    poison = 0.0
    for k in range(force.shape[0]):
        scaled = scale[k] * gradient[k]
        force[k] = scaled
        poison += 0.0 * scaled
    return poison
