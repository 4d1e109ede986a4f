"""VARI: marginal standard deviations, today's habit."""

from __future__ import annotations

import numpy as np

from grhmc._jit import kernel


@kernel
def vari_scale(position_variance: float, squared_gradient: float) -> float:
    """√Var(q): for a Gaussian its marginal standard deviation.

    References
    ----------
    Tran & Kleppe (2024), section 3.
    """
    return np.sqrt(position_variance)
