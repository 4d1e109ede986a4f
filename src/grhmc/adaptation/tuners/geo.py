"""GEO: the geometric mean of VARI's and ISG's scales."""

from __future__ import annotations

import numpy as np

from grhmc._jit import kernel


@kernel
def geo_scale(position_variance: float, squared_gradient: float) -> float:
    """√(√Var(q) / √E[g²]), which minimizes a Fisher divergence between the target and an independent normal."""
    return np.sqrt(np.sqrt(position_variance / squared_gradient))
