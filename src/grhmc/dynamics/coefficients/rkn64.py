"""RKN 6(4)6FM: six stages, five gradients a step, order 6 with an embedded order 4.

References
----------
Dormand, El-Mikkawy & Prince (1987), "Families of Runge-Kutta-Nyström formulae", IMA Journal of
Numerical Analysis 7, 235-250.
"""

from __future__ import annotations

from grhmc.dynamics.nystrom_tableau import NystromTableau, exact

_VELOCITY_WEIGHTS = exact("151/2142  25/522  275/684  275/252  -78125/112404  1/12")

RKN64 = NystromTableau(
    name="RKN 6(4)",
    nodes=exact("0  1/10  3/10  7/10  17/25  1"),
    matrix=(
        (),
        exact("1/200"),
        exact("-1/2200  1/22"),
        exact("637/6600  -7/110  7/33"),
        exact("225437/1968750  -30073/281250  65569/281250  -9367/984375"),
        exact("151/2142  5/116  385/1368  55/168  -6250/28101"),
    ),
    velocity_weights=_VELOCITY_WEIGHTS,
    embedded_position_weights=exact("1349/157500  7873/50000  192199/900000  521683/2100000  -16/125  0"),
    embedded_velocity_weights=exact("1349/157500  7873/45000  27457/90000  521683/630000  -2/5  1/12"),
    quadrature_weights=_VELOCITY_WEIGHTS,
    order=6,
    embedded_order=4,
)
