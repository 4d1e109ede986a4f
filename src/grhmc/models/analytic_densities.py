"""The C functions behind the analytic targets: one per family, compiled once per machine.

Each reads its parameters from the user pointer, a float64 array whose layout its docstring gives.
Being plain module-level functions of C types, they are cached on disk: another process loads one in
milliseconds. Each must stay self-contained: Numba does not notice a change in a function called
from another file.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.numpy_support import carray

from grhmc._jit import cached_c_function
from grhmc.density_pointer import DENSITY_SIGNATURE
from grhmc.models.log_density import LogDensity
from grhmc.models.variables import Names, parse_names, shapes_by_name

# Sums may be reordered, hence vectorized; nan and inf keep their meaning.
_FAST_MATH = {"contract", "nsz", "arcp", "reassoc"}

ROWS_PER_BLOCK = 128
"""Rows of a logistic regression handled together: the fastest of 64 to 512 at 8 and 25 columns.

2 to this power must not overflow.
"""


@functools.cache
def compile_density(function: Callable[..., int]) -> Any:
    """Compile one of this module's functions, or load it from the disk cache."""
    return cached_c_function(function, DENSITY_SIGNATURE, fastmath=_FAST_MATH, error_model="numpy")


def analytic_density(
    function: Callable[..., int], dim: int, parameters: Sequence[np.ndarray], names: Names = None
) -> LogDensity:
    """Make a model from one of the functions below and its parameters, in its layout's order."""
    table = np.concatenate([np.ravel(p) for p in parameters] or [np.empty(0)]).astype(np.float64)
    compiled = compile_density(function)
    variables = parse_names(names, dim)
    return LogDensity(
        dim,
        compiled.address,
        user_data=table.ctypes.data,
        variables=variables,
        keep_alive=(compiled, table),
        rebuild=(analytic_density, (function, dim, (table,), shapes_by_name(variables))),
    )


def logistic_table(signed_rows: np.ndarray) -> np.ndarray:
    """Lay out rows, shape (n, dim), as `logistic_regression` reads them."""
    starts = range(0, len(signed_rows), ROWS_PER_BLOCK)
    blocks = [signed_rows[start : start + ROWS_PER_BLOCK].T.ravel() for start in starts]
    return np.concatenate(blocks or [np.empty(0)])


@intrinsic
def power_of_two(_typing_context, exponent):
    """2.0**exponent for an integral float64 from -1022 to 1023, by setting the bits."""

    def generate(_context, builder, _signature, arguments):
        integer = builder.sext(builder.fptosi(arguments[0], ir.IntType(32)), ir.IntType(64))
        bits = builder.shl(builder.add(integer, ir.IntType(64)(1023)), ir.IntType(64)(52))
        return builder.bitcast(bits, ir.DoubleType())

    return types.float64(types.float64), generate


def gaussian(dim, q_pointer, gradient_pointer, log_density_pointer, parameters):
    """Multivariate normal; parameters: mean (dim), precision matrix (dim, dim)."""
    q = carray(q_pointer, (dim,))
    gradient = carray(gradient_pointer, (dim,))
    table = carray(parameters, (dim + dim * dim,), np.float64)
    mean = table[:dim]
    log_density = 0.0
    for i in range(dim):
        row = table[dim + dim * i : 2 * dim + dim * i]
        total = 0.0
        for j in range(dim):
            total += row[j] * (q[j] - mean[j])
        gradient[i] = -total
        log_density -= 0.5 * total * (q[i] - mean[i])
    log_density_pointer[0] = log_density
    return 0


def independent_normals(dim, q_pointer, gradient_pointer, log_density_pointer, parameters):
    """Independent normals; parameters: mean (dim), 1 / variance (dim)."""
    q = carray(q_pointer, (dim,))
    gradient = carray(gradient_pointer, (dim,))
    table = carray(parameters, (2 * dim,), np.float64)
    log_density = 0.0
    for j in range(dim):
        deviation = q[j] - table[j]
        slope = -table[dim + j] * deviation
        gradient[j] = slope
        log_density += 0.5 * slope * deviation
    log_density_pointer[0] = log_density
    return 0


def student_t(dim, q_pointer, gradient_pointer, log_density_pointer, parameters):
    """Multivariate Student t; parameters: degrees of freedom, mean (dim), scale⁻¹ (dim, dim)."""
    q = carray(q_pointer, (dim,))
    gradient = carray(gradient_pointer, (dim,))
    table = carray(parameters, (1 + dim + dim * dim,), np.float64)
    degrees_of_freedom = table[0]
    mean = table[1 : 1 + dim]
    distance = 0.0
    for i in range(dim):
        row = table[1 + dim + dim * i : 1 + 2 * dim + dim * i]
        total = 0.0
        for j in range(dim):
            total += row[j] * (q[j] - mean[j])
        gradient[i] = -total
        distance += total * (q[i] - mean[i])
    power = degrees_of_freedom + dim
    for i in range(dim):
        gradient[i] *= power / (degrees_of_freedom + distance)
    log_density_pointer[0] = -0.5 * power * math.log1p(distance / degrees_of_freedom)
    return 0


def smiley(dim, q_pointer, gradient_pointer, log_density_pointer, _parameters):
    """q1 ~ N(0, 1), q2 | q1 ~ N(q1², 1); no parameters."""
    q = carray(q_pointer, (dim,))
    gradient = carray(gradient_pointer, (dim,))
    residual = q[1] - q[0] * q[0]
    gradient[0] = -q[0] + 2.0 * q[0] * residual
    gradient[1] = -residual
    log_density_pointer[0] = -0.5 * (q[0] * q[0] + residual * residual)
    return 0


def bimodal(dim, q_pointer, gradient_pointer, log_density_pointer, _parameters):
    """q1 with density ∝ exp(−(1 − q1²)²), q2 | q1 ~ N(q1, 1); no parameters."""
    q = carray(q_pointer, (dim,))
    gradient = carray(gradient_pointer, (dim,))
    well = 1.0 - q[0] * q[0]
    residual = q[1] - q[0]
    gradient[0] = 4.0 * q[0] * well + residual
    gradient[1] = -residual
    log_density_pointer[0] = -well * well - 0.5 * residual * residual
    return 0


def funnel(dim, q_pointer, gradient_pointer, log_density_pointer, parameters):
    """q1 ~ N(0, 1), q2 | q1 ~ N(0, exp(ω q1)), a variance; parameters: ω."""
    q = carray(q_pointer, (dim,))
    gradient = carray(gradient_pointer, (dim,))
    omega = carray(parameters, (1,), np.float64)[0]
    precision = math.exp(-omega * q[0])
    square = q[1] * q[1] * precision
    gradient[0] = -q[0] - 0.5 * omega + 0.5 * omega * square
    gradient[1] = -q[1] * precision
    log_density_pointer[0] = -0.5 * (q[0] * q[0] + omega * q[0] + square)
    return 0


def logistic_regression(dim, q_pointer, gradient_pointer, log_density_pointer, parameters):
    """Logistic regression, normal prior with mean 0.

    Parameters: number of rows n, prior variance, then the signed rows x_i (2 y_i − 1) as
    `logistic_table` lays them out: blocks of ROWS_PER_BLOCK rows, each transposed, so that every
    inner loop runs along rows and is vectorized.

    With a_i = ±x_i·β and u_i = exp(−|a_i|), a row's log likelihood is min(a_i, 0) − log(1 + u_i),
    which neither overflows nor cancels. A block needs one logarithm: its factors 1 + u_i lie
    between 1 and 2, so their product does not overflow.
    """
    q = carray(q_pointer, (dim,))
    gradient = carray(gradient_pointer, (dim,))
    header = carray(parameters, (2,), np.float64)
    n_rows = int(header[0])
    prior_precision = 1.0 / header[1]
    table = carray(parameters, (2 + n_rows * dim,), np.float64)
    work = np.empty(ROWS_PER_BLOCK)  # margins, then weights
    log_density = 0.0
    for j in range(dim):
        gradient[j] = -q[j] * prior_precision
        log_density -= 0.5 * q[j] * q[j] * prior_precision
    start = 2
    for first in range(0, n_rows, ROWS_PER_BLOCK):
        n_block = min(ROWS_PER_BLOCK, n_rows - first)
        for i in range(n_block):
            work[i] = 0.0
        for j in range(dim):
            column = table[start + j * n_block : start + (j + 1) * n_block]
            factor = q[j]
            for i in range(n_block):
                work[i] += column[i] * factor
        product = 1.0
        for i in range(n_block):
            margin = work[i]
            log_density += 0.5 * (margin - abs(margin))
            # exp(−|margin|) = 2^k exp(r) with |r| <= log(2) / 2: a call of exp would not vectorize.
            exponent = -abs(margin) if abs(margin) < 700.0 else -700.0
            k = math.floor(exponent * 1.4426950408889634 + 0.5)
            r = exponent - k * 0.6931471805599453
            series = 1.0 / 6227020800.0
            series = series * r + 1.0 / 479001600.0
            series = series * r + 1.0 / 39916800.0
            series = series * r + 1.0 / 3628800.0
            series = series * r + 1.0 / 362880.0
            series = series * r + 1.0 / 40320.0
            series = series * r + 1.0 / 5040.0
            series = series * r + 1.0 / 720.0
            series = series * r + 1.0 / 120.0
            series = series * r + 1.0 / 24.0
            series = series * r + 1.0 / 6.0
            series = series * r + 0.5
            series = series * r + 1.0
            series = series * r + 1.0
            small = series * power_of_two(k)  # pyright: ignore[reportCallIssue]
            product *= 1.0 + small
            work[i] = (small if margin >= 0.0 else 1.0) / (1.0 + small)
        log_density -= math.log(product)
        for j in range(dim):
            column = table[start + j * n_block : start + (j + 1) * n_block]
            slope = 0.0
            for i in range(n_block):
                slope += column[i] * work[i]
            gradient[j] += slope
        start += n_block * dim
    log_density_pointer[0] = log_density
    return 0
