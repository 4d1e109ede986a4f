"""The tableaus of the integrator families, by the name a user gives."""

from __future__ import annotations

from types import MappingProxyType

from grhmc.dynamics.coefficients.leapfrog import LEAPFROG
from grhmc.dynamics.coefficients.rkn43 import RKN43
from grhmc.dynamics.coefficients.rkn64 import RKN64
from grhmc.dynamics.coefficients.splitting import SPLITTING, splitting_tableau

TABLEAUS = MappingProxyType({"rkn43": RKN43, "rkn64": RKN64, "splitting": SPLITTING, "leapfrog": LEAPFROG})

__all__ = ["LEAPFROG", "RKN43", "RKN64", "SPLITTING", "TABLEAUS", "splitting_tableau"]
