"""The two-stage palindromic splitting as a Nyström method: two gradients a step, order 2.

A step is: kick b h, drift h/2, kick (1 - 2b) h, drift h/2, kick b h. The last kick's force is the
next step's first.

The single free number b decides how large the second-order error is. Three choices from the
literature:

- 0.211781 (Blanes, Casas & Sanz-Serna 2014) minimizes the largest expected energy error on Gaussian
  targets over steps h of 0 to 2 in units of 1 / the highest frequency. The default: long steps are
  what sampling runs at.
- 0.1931833 (McLachlan 1995; Omelyan, Mryglod & Folk 2003, "minimal norm") minimizes the norm of the
  leading error term for general forces, that is for short steps.
- (3 - √3)/6 = 0.2113249 makes the velocity's h³ error from f'(f) vanish; close to the first.

The default process chooses b for each step instead (`grhmc.dynamics.splitting_kick`).

b = 1/4 is two velocity Verlet steps of h/2. At b = 1/6 the kicks are Simpson's weights, so the
error estimate vanishes.

The middle stage q0 + h v0/2 + h² (b/2) f0 is a second-order solution at its node only for b = 1/4,
so the row sums of the tableau are not c²/2. Simpson's rule over the three stages integrates
functions of the position, and applied to the force it gives the embedded velocity; both are of
order 2. The velocity's error estimate is h (b - 1/6) (f_0 - 2 f_1 + f_2) = O(h³). Positions have no
error estimate of their own.

References
----------
McLachlan (1995), "On the numerical integration of ordinary differential equations by symmetric
composition methods", SIAM Journal on Scientific Computing 16, 151-168.
Omelyan, Mryglod & Folk (2003), "Symplectic analytically integrable decomposition algorithms",
Computer Physics Communications 151, 272-314.
Blanes, Casas & Sanz-Serna (2014), "Numerical integrators for the hybrid Monte Carlo method", SIAM
Journal on Scientific Computing 36, A1556-A1580.
"""

from __future__ import annotations

from fractions import Fraction

from grhmc.dynamics.nystrom_tableau import NystromTableau, exact

BLANES_CASAS_SANZ_SERNA_KICK = Fraction("0.211781")


def splitting_tableau(kick: Fraction | float = BLANES_CASAS_SANZ_SERNA_KICK) -> NystromTableau:
    """Tableau of the splitting whose first and last kick have weight `kick`.

    Parameters
    ----------
    kick : Fraction or float
        b, strictly between 0 and 1/2 and not 1/6. A float stands for the exact binary fraction it
        holds, so the order conditions hold exactly for every b.

    Raises
    ------
    ValueError
        If `kick` is out of range, or so close to 1/6 that its error estimate would be rounding
        noise.
    """
    if not 0 < kick < 0.5 or abs(kick - 1 / 6) < 1e-6:
        raise ValueError(
            f"kick is {kick}; it must lie strictly between 0 and 1/2 and not at 1/6, "
            "where the error estimate vanishes. "
            f"The default is {float(BLANES_CASAS_SANZ_SERNA_KICK)}."
        )
    b = Fraction(kick)
    simpson = exact("1/6  4/6  1/6")
    last_row = (b, (1 - 2 * b) / 2)
    return NystromTableau(
        name="two-stage splitting",
        nodes=exact("0  1/2  1"),
        matrix=((), (b / 2,), last_row),
        velocity_weights=(b, 1 - 2 * b, b),
        embedded_position_weights=(*last_row, Fraction(0)),
        embedded_velocity_weights=simpson,
        quadrature_weights=simpson,
        order=2,
        embedded_order=2,
        row_sums_hold=False,
    )


SPLITTING = splitting_tableau()
