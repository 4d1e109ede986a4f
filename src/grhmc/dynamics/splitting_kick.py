"""The kick of the two-stage splitting that suits a step: with it normal coordinates keep their energy.

One step of the splitting is a linear map for a normal coordinate, x'' = −ω² x. Its matrix has equal entries on the
diagonal and determinant 1, so that it is a rotation, which conserves the energy of every state, where the other two
entries are equal and opposite. With θ = ω h for a step h that is, for the weight b of the first and the last kick,

    b² − 3 b / 2 + 1/4 + (θ² / 4) b² (1 − 2 b) = 0,

whose root goes from (3 − √5) / 4 = 0.19 for short steps to 1/4 at θ = √8. In many dimensions it is the energy errors of
many such coordinates, added up, that limit the step; other frequencies have errors of second order in the difference.
A kick that depends on the step's duration alone leaves the step reversible and volume as it is.
"""

from __future__ import annotations

from grhmc._jit import kernel
from grhmc.dynamics.nystrom_tableau import TableauArrays

_STAGES = 3
_LARGEST_QUARTER_SQUARE = 2.0  # of θ²/4, where b is 1/4
_FIRST_GUESS = (0.190979, 0.0202274, 0.003104, 0.00077034)
# Powers of θ²/4: Chebyshev interpolation of the root on [0, 2], right to 1.3e-5; one step of Newton's makes it 3e-11.


@kernel
def constant_energy_kick(angle: float) -> float:
    """The weight b with which a coordinate of frequency ω keeps its energy; `angle` is ω h, positive, of any size."""
    t = min(0.25 * angle * angle, _LARGEST_QUARTER_SQUARE)
    kick = _FIRST_GUESS[0] + t * (_FIRST_GUESS[1] + t * (_FIRST_GUESS[2] + t * _FIRST_GUESS[3]))
    value = kick * kick - 1.5 * kick + 0.25 + t * kick * kick * (1.0 - 2.0 * kick)
    slope = 2.0 * kick - 1.5 + t * (2.0 * kick - 6.0 * kick * kick)
    return kick - value / slope


@kernel
def has_kick(tableau: TableauArrays) -> bool:
    """Whether it is the splitting's, of all integrators that preserve volume."""
    return tableau.nodes.shape[0] == _STAGES


@kernel
def set_kick(tableau: TableauArrays, kick: float) -> None:
    """Make a tableau of the splitting that of the weight `kick`, but for its error estimates; updates `tableau`."""
    matrix, weights = tableau.matrix, tableau.velocity_weights
    matrix[1, 0] = 0.5 * kick
    matrix[2, 0], matrix[2, 1] = kick, 0.5 - kick
    weights[0], weights[1], weights[2] = kick, 1.0 - 2.0 * kick, kick
