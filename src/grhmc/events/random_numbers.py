"""Random numbers in kernels: NumPy's PCG64, and its uniform, normal and exponential numbers, in every bit.

A generator is a plain array here, so that a chain's state is arrays alone, and its next number is computed where it is
needed: a normal number takes 3.5 ns, of 11 through NumPy's interface, which calls a function through a pointer for the
bits and branches on the sign. Each number comes from a ziggurat: an area under the density, cut into 256 layers of
equal area. A layer is chosen and a point in it; 99 of 100 points lie within the part of the layer that is all below
the density, and are done.

References
----------
O'Neill (2014), "PCG: A family of simple fast space-efficient statistically good algorithms for random number
generation".
Marsaglia & Tsang (2000), "The ziggurat method for generating random variables".
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import config
from numba.extending import intrinsic

from grhmc._jit import array_kernel, kernel

_WORD = (1 << 64) - 1
_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
# Of the linear congruential generator under PCG64: O'Neill's default for 128 bits.

_TABLES = np.loadtxt(Path(__file__).with_name("ziggurat.csv"), delimiter=",", skiprows=1).T
# NumPy's, so that the numbers are: rounded otherwise here and there than the formulas are.
_NORMAL_CERTAIN, _EXPONENTIAL_CERTAIN = _TABLES[0].astype(np.uint64), _TABLES[3].astype(np.uint64)
_NORMAL_WIDTH, _EXPONENTIAL_WIDTH = _TABLES[1].copy(), _TABLES[4].copy()
_NORMAL_HEIGHT, _EXPONENTIAL_HEIGHT = _TABLES[2].copy(), _TABLES[5].copy()
# Of each layer: the integers below which a point lies below the density for certain; the width per integer; and the
# density at the layer's outer end.
_NORMAL_TAIL, _EXPONENTIAL_TAIL = 3.6541528853610087963519472518, 7.69711747013104972
# Where the lowest layer's rectangle ends and its tail begins.

_UNIT = 2.0**-53
_LAYER, _MANTISSA, _ONE = np.uint64(0xFF), np.uint64(2**52 - 1), np.uint64(1)
_3, _8, _9, _11, _58, _63, _64 = (np.uint64(n) for n in (3, 8, 9, 11, 58, 63, 64))


def generator_state(rng: np.random.Generator) -> np.ndarray:
    """A generator's state for kernels, which then goes on by itself.

    Parameters
    ----------
    rng : Generator
        With the bit generator PCG64, as `numpy.random.default_rng` makes it.

    Returns
    -------
    ndarray of uint64, shape (4,)
        The state's upper and lower word, and the increment's.
    """
    state = rng.bit_generator.state["state"]
    words = [part for number in (state["state"], state["inc"]) for part in (number >> 64, number & _WORD)]
    return np.array(words, dtype=np.uint64)


@intrinsic
def _next_state_compiled(typing_context, high, low, increment_high, increment_low):
    def codegen(context, builder, signature, arguments):
        wide, word = ir.IntType(128), ir.IntType(64)
        shift = ir.Constant(wide, 64)
        state, increment = [
            builder.or_(builder.shl(builder.zext(above, wide), shift), builder.zext(below, wide))
            for above, below in (arguments[:2], arguments[2:])
        ]
        state = builder.add(builder.mul(state, ir.Constant(wide, _MULTIPLIER)), increment)
        words = [builder.trunc(builder.lshr(state, shift), word), builder.trunc(state, word)]
        return context.make_tuple(builder, signature.return_type, words)

    return types.UniTuple(types.uint64, 2)(*[types.uint64] * 4), codegen


def _next_state_interpreted(high, low, increment_high, increment_low):
    state = (int(high) << 64 | int(low)) * _MULTIPLIER + (int(increment_high) << 64 | int(increment_low))
    return np.uint64(state >> 64 & _WORD), np.uint64(state & _WORD)


_next_state: Any = _next_state_interpreted if config.DISABLE_JIT else _next_state_compiled  # pyright: ignore[reportAttributeAccessIssue]


@kernel
def next_bits(rng: np.ndarray) -> int:
    """64 random bits; updates `rng`."""
    high, low = _next_state(rng[0], rng[1], rng[2], rng[3])
    rng[0], rng[1] = high, low
    bits, turn = high ^ low, high >> _58
    return (bits >> turn) | (bits << ((_64 - turn) & _63))


@kernel
def uniform(rng: np.ndarray) -> float:
    """A number from [0, 1), of 53 bits; updates `rng`."""
    return np.float64(np.int64(next_bits(rng) >> _11)) * _UNIT


@kernel
def normal(rng: np.ndarray) -> float:
    """A number from N(0, 1); updates `rng`."""
    while True:
        bits = next_bits(rng)
        layer, place = np.int64(bits & _LAYER), (bits >> _9) & _MANTISSA
        sign = 1.0 - 2.0 * np.float64(np.int64((bits >> _8) & _ONE))  # a branch would be mispredicted half of the time
        size = np.float64(np.int64(place)) * _NORMAL_WIDTH[layer]
        if place < _NORMAL_CERTAIN[layer]:
            return sign * size
        if layer == 0:
            return _normal_tail(rng, place)
        above = (_NORMAL_HEIGHT[layer - 1] - _NORMAL_HEIGHT[layer]) * uniform(rng)
        if above + _NORMAL_HEIGHT[layer] < np.exp(-0.5 * size * size):
            return sign * size


@kernel
def _normal_tail(rng: np.ndarray, place: int) -> float:
    """A number from the tail, by Marsaglia's method."""
    while True:
        beyond = -1.0 / _NORMAL_TAIL * np.log1p(-uniform(rng))
        height = -np.log1p(-uniform(rng))
        if height + height > beyond * beyond:
            return -(_NORMAL_TAIL + beyond) if (place >> _8) & _ONE else _NORMAL_TAIL + beyond


@array_kernel
def fill_normal(rng: np.ndarray, numbers: np.ndarray) -> None:
    """Write independent numbers from N(0, 1) to all of `numbers`; updates `rng`."""
    for k in range(numbers.shape[0]):
        numbers[k] = normal(rng)


@array_kernel
def mix_normal(rng: np.ndarray, persistence: float, numbers: np.ndarray, mixed: np.ndarray) -> None:
    """Write φ x + √(1 − φ²) ξ with ξ ~ N(0, I) to `mixed`: from N(0, I), too, if x = `numbers` is; updates `rng`."""
    noise = np.sqrt(1.0 - persistence * persistence)
    fill_normal(rng, mixed)
    for k in range(mixed.shape[0]):
        mixed[k] = persistence * numbers[k] + noise * mixed[k]


@array_kernel
def mix_in_normal(rng: np.ndarray, persistence: float, numbers: np.ndarray) -> None:
    """`mix_normal` in place; updates `rng` and `numbers`."""
    noise = np.sqrt(1.0 - persistence * persistence)
    for k in range(numbers.shape[0]):
        numbers[k] = persistence * numbers[k] + noise * normal(rng)


@kernel
def exponential(rng: np.ndarray) -> float:
    """A number from the exponential distribution of mean 1; updates `rng`."""
    while True:
        bits = next_bits(rng) >> _3
        layer, place = np.int64(bits & _LAYER), bits >> _8
        number = np.float64(np.int64(place)) * _EXPONENTIAL_WIDTH[layer]
        if place < _EXPONENTIAL_CERTAIN[layer]:
            return number
        if layer == 0:
            return _EXPONENTIAL_TAIL - np.log1p(-uniform(rng))
        above = (_EXPONENTIAL_HEIGHT[layer - 1] - _EXPONENTIAL_HEIGHT[layer]) * uniform(rng)
        if above + _EXPONENTIAL_HEIGHT[layer] < np.exp(-number):
            return number
