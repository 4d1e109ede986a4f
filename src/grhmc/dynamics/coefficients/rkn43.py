"""RKN 4(3)4FM: four stages, three gradients a step, order 4 with an embedded order 3.

References
----------
Dormand, El-Mikkawy & Prince (1987), "Families of Runge-Kutta-Nyström formulae", IMA Journal of
Numerical Analysis 7, 235-250.
"""

from __future__ import annotations

from grhmc.dynamics.nystrom_tableau import NystromTableau, exact

_VELOCITY_WEIGHTS = exact("1/14  32/81  250/567  5/54")

RKN43 = NystromTableau(
    name="RKN 4(3)",
    nodes=exact("0  1/4  7/10  1"),
    matrix=(
        (),
        exact("1/32"),
        exact("7/1000  119/500"),
        exact("1/14  8/27  25/189"),
    ),
    velocity_weights=_VELOCITY_WEIGHTS,
    embedded_position_weights=exact("-7/150  67/150  3/20  -1/20"),
    embedded_velocity_weights=exact("13/21  -20/27  275/189  -1/3"),
    quadrature_weights=_VELOCITY_WEIGHTS,
    order=4,
    embedded_order=3,
)
