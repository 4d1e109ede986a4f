"""e^−x for x ≥ 0: what every trajectory asks for twice, how much momentum it keeps and how likely it is accepted.

It is computed where it is needed, in some thirty instructions and without a call. The C library's function takes 75,
and keeps nothing of what its caller has in registers.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from grhmc._jit import kernel
from grhmc.dynamics.double_bits import bits_of, double_of

_PARTS_SHIFT, _PARTS = 5, 32
_POWERS = np.array([float(Decimal(2) ** (Decimal(-j) / _PARTS)) for j in range(_PARTS)])
# Of 2: 2^(−j/32), each the nearest double.
_PARTS_PER_UNIT, _PART = _PARTS / np.log(2.0), np.log(2.0) / _PARTS
_LARGEST = 700.0
_EXPONENT_SHIFT = 52


@kernel
def decay(x: float) -> float:
    """e^−x with a relative error of at most (1 + x) 2⁻⁵²; 1 for negative x, and e^−700 for those above 700.

    With x = n ln 2 / 32 − r it is 2^(−n/32) e^r: a whole power of 2, which goes to the exponent's bits, times one of 32
    from a table, times a polynomial in r, at most 0.011 in size.
    """
    x = min(max(x, 0.0), _LARGEST)
    nearest = np.floor(x * _PARTS_PER_UNIT + 0.5)
    r = nearest * _PART - x
    n = int(nearest)
    power = double_of(bits_of(_POWERS[n & (_PARTS - 1)]) - ((n >> _PARTS_SHIFT) << _EXPONENT_SHIFT))
    square = r * r
    high = 1.0 / 24.0 + r * (1.0 / 120.0) + square * (1.0 / 720.0)
    return power + power * (r + square * (0.5 + r * (1.0 / 6.0) + square * high))
