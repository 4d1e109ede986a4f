"""ISG: integrated squared gradients, often better under correlation or non-linearity."""

from __future__ import annotations

import numpy as np

from grhmc._jit import kernel


@kernel
def isg_scale(position_variance: float, squared_gradient: float) -> float:
    """1/√E[g²]: for a Gaussian with precision matrix Q, 1/√Q_jj.

    References
    ----------
    Tran & Kleppe (2024), section 3.
    """
    return 1.0 / np.sqrt(squared_gradient)
