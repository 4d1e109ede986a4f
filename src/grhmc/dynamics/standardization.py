"""The affine change of variables q = m + S q̄ in which the dynamics run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grhmc._jit import kernel


class Standardization(NamedTuple):
    """Centre and diagonal scale, both changed in place by `restandardize`.

    Attributes
    ----------
    centre : ndarray, shape (dim,)
        m, in the units of the parameters.
    scale : ndarray, shape (dim,)
        The diagonal of S, all positive, in the units of the parameters. The mass matrix is S⁻².
    """

    centre: np.ndarray
    scale: np.ndarray


@kernel
def restandardize(
    standardization: Standardization,
    new_centre: np.ndarray,
    new_scale: np.ndarray,
    position: np.ndarray,
    force: np.ndarray,
) -> None:
    """Change m and S while q stays where it is; updates `standardization`, `position` and `force` in place.

    The standardized momentum is kept: it is N(0, I) in every standardization. The force S g(q) is rescaled, not
    evaluated again.

    References
    ----------
    Tran & Kleppe (2024), section 2.
    """
    centre, scale = standardization.centre, standardization.scale
    for k in range(position.shape[0]):
        position[k] = (centre[k] - new_centre[k] + scale[k] * position[k]) / new_scale[k]
        force[k] *= new_scale[k] / scale[k]
        centre[k] = new_centre[k]
        scale[k] = new_scale[k]


@kernel
def destandardize(standardization: Standardization, point: np.ndarray) -> None:
    """Turn a standardized position into one in the units of the parameters; updates `point`."""
    for k in range(point.shape[0]):
        point[k] = standardization.centre[k] + standardization.scale[k] * point[k]
