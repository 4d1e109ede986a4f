"""Leapfrog (velocity Verlet) as a Nyström method: one gradient a step, order 2.

Its companion is Euler's velocity, q0' + h f_0: an error estimate of h/2 (f_1 - f_0) = O(h²), coarse, and needed only
where a chain that will take leapfrog steps of one size first finds its way with adaptive ones.

References
----------
Verlet (1967), Physical Review 159, 98-103.
"""

from __future__ import annotations

from grhmc.dynamics.nystrom_tableau import NystromTableau, exact

LEAPFROG = NystromTableau(
    name="leapfrog",
    nodes=exact("0  1"),
    matrix=((), exact("1/2")),
    velocity_weights=exact("1/2  1/2"),
    embedded_position_weights=exact("1/2  0"),
    embedded_velocity_weights=exact("1  0"),
    quadrature_weights=exact("1/2  1/2"),
    order=2,
    embedded_order=1,
)
