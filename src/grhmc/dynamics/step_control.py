"""Step sizes: from the local error to the next step, and steps that end exactly on a known event."""

from __future__ import annotations

import numpy as np

from grhmc._jit import kernel
from grhmc.dynamics.double_bits import bits_of, double_of

SAFETY = 0.7
SMALLEST_FACTOR = 0.2
LARGEST_FACTOR = 1.5
MEMORY = 0.5
# Along an orbit the local error passes through zero and back. A controller that follows it at once lengthens the step
# there and has the next one rejected, one in five at loose tolerances. Slow growth, and half of the previous step's
# error where that is larger, bring rejections under 5 % on smooth targets at the same number of gradients.

NOT_FINITE_FACTOR = 0.25
"""Step reduction where the density is not finite: no error estimate says how far to go back."""

_STRETCH = 1.1
# A step may be this much longer than proposed if it then ends on the event: the error grows by less than the safety
# factor allows for, and a whole step is saved.


_MANTISSA = float(1 << 52)
_BIAS = 1023.0 - 0.0430
# The bits of a double, read as an integer, are its logarithm to base 2 up to a straight line between powers of two; the
# constant halves the largest error of that.


@kernel
def rough_power(base: float, exponent: float) -> float:
    """base**exponent to within 5 % for exponents in [-1/3, 0]: enough for a step size, at a tenth of the time of pow.

    `base` must be positive and finite.
    """
    logarithm = np.float64(bits_of(base)) / _MANTISSA - _BIAS
    return double_of(np.int64((exponent * logarithm + _BIAS) * _MANTISSA))


@kernel
def step_factor(error_ratio: float, previous_ratio: float, error_order: float) -> float:
    """Factor between a step and the next.

    Parameters
    ----------
    error_ratio, previous_ratio : float
        Local error over the tolerance, of this step and of the one accepted before it.
    error_order : float
        The local error behaves as h^error_order.
    """
    ratio = max(error_ratio, MEMORY * previous_ratio) if error_ratio <= 1.0 else error_ratio
    if ratio <= 0.0:
        return LARGEST_FACTOR
    factor = SAFETY * rough_power(ratio, -1.0 / error_order)
    return min(LARGEST_FACTOR, max(SMALLEST_FACTOR, factor))


@kernel
def fit_to_event(step_size: float, remaining: float) -> float:
    """The step to take when an event falls due after `remaining`: one lands on it, and the last two are equal.

    An event then costs no gradient: the refreshment leaves the position, hence the force, as it is.
    """
    if remaining <= _STRETCH * step_size:
        return remaining
    if remaining < 2.0 * step_size:
        return 0.5 * remaining
    return step_size
