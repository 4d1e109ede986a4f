"""Short runs of a small model through the public interface, for the tests of that interface."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

import grhmc

SD = np.array([1.0, 0.1, 10.0])
NAMES = {"a": (), "b": 2}


@numba.njit
def normals(q, gradient, sd):
    log_density = 0.0
    for j in range(q.size):
        z = q[j] / sd[j]
        gradient[j] = -z / sd[j]
        log_density -= 0.5 * z * z
    return log_density


def model() -> grhmc.LogDensity:
    """Three independent normals, a and b[0..1]."""
    return grhmc.from_numba(normals, 3, NAMES, data=(SD,))


def sample(density: grhmc.LogDensity | None = None, **settings: Any) -> Any:
    """Two chains of a hundred draws, unless told otherwise."""
    defaults: dict[str, Any] = {"draws": 100, "tune": 100, "chains": 2, "cores": 1, "seed": 1, "progress_bar": False}
    return grhmc.sample(model() if density is None else density, **(defaults | settings))


def draws_of(result: Any) -> np.ndarray:
    """Unconstrained draws, shape (chains, draws, dim)."""
    return result["unconstrained_posterior"]["position"].to_numpy()
