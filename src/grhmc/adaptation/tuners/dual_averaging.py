"""Dual averaging: finds where a noisy, increasing function of each coordinate is zero.

With H_k the noisy value seen at the k-th observation of a coordinate, k = 1, 2, ...:

    x = μ − (√k / γ) (H_1 + ... + H_k) / (k + k0)        the iterate: explores
    x̄ = k^(−κ) x + (1 − k^(−κ)) x̄                        its average: converges

References
----------
Nesterov (2009), "Primal-dual subgradient methods for convex problems", Mathematical Programming
120, 221-259.
Hoffman & Gelman (2014), "The No-U-Turn Sampler", Journal of Machine Learning Research 15,
section 3.2, whose t and t0 are k and k0 here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grhmc._jit import kernel


class DualAveraging(NamedTuple):
    """State of independent dual averagings, one per coordinate. Make it with `init_dual_averaging`.

    Attributes
    ----------
    sum_error : ndarray, shape (dim,)
        ΣH.
    log_value_average : ndarray, shape (dim,)
        x̄. The initial value until a coordinate's first observation, which replaces it.
    log_value : ndarray, shape (dim,)
        x.
    iteration : ndarray of int64, shape (dim,)
        k of the coordinate's next observation.
    anchor : ndarray, shape (dim,)
        μ, the value x is drawn towards. Not changed by `observe`.
    gamma : float
        Strength of the pull towards the anchor.
    kappa : float
        Decay of the averaging weight.
    k0 : float
        Damps the first iterations.
    """

    sum_error: np.ndarray
    log_value_average: np.ndarray
    log_value: np.ndarray
    iteration: np.ndarray
    anchor: np.ndarray
    gamma: float
    kappa: float
    k0: float


def init_dual_averaging(
    log_value: np.ndarray,
    anchor: np.ndarray,
    *,
    gamma: float,
    kappa: float = 0.75,
    k0: float = 10.0,
) -> DualAveraging:
    """Start dual averaging in every coordinate.

    Parameters
    ----------
    log_value : array_like, shape (dim,)
        Initial x and x̄. Copied.
    anchor : array_like, shape (dim,)
        μ. Copied.
    gamma : float
        Greater than 0; larger values move less per observation.
    kappa : float
        In (0.5, 1].
    k0 : float
        Non-negative.

    Raises
    ------
    ValueError
        If shapes or settings are not as above.
    """
    log_value = np.array(log_value, dtype=np.float64)
    anchor = np.array(anchor, dtype=np.float64)
    if log_value.ndim != 1 or anchor.shape != log_value.shape:
        raise ValueError(f"log_value has shape {log_value.shape} and anchor {anchor.shape}; both must be (dim,).")
    if not gamma > 0:
        raise ValueError(f"gamma is {gamma}; it must be greater than 0.")
    if not 0.5 < kappa <= 1:
        raise ValueError(f"kappa is {kappa}; it must lie in (0.5, 1].")
    if not k0 >= 0:
        raise ValueError(f"k0 is {k0}; it must be 0 or greater.")
    return DualAveraging(
        sum_error=np.zeros_like(log_value),
        log_value_average=log_value.copy(),
        log_value=log_value,
        iteration=np.ones(log_value.shape, dtype=np.int64),
        anchor=anchor,
        gamma=float(gamma),
        kappa=float(kappa),
        k0=float(k0),
    )


@kernel
def observe(state: DualAveraging, coordinate: int, error: float) -> float:
    """Take in one noisy error H of one coordinate and move its iterate and average.

    A positive error lowers x: H must grow with x. For a crossing-time target, H = target − observed
    time.

    Parameters
    ----------
    state : DualAveraging
        `sum_error`, `log_value`, `log_value_average` and `iteration` are updated in place at
        `coordinate`.
    coordinate : int
        Index in [0, dim).
    error : float
        H, finite.

    Returns
    -------
    float
        The coordinate's new average x̄.
    """
    k = float(state.iteration[coordinate])
    state.sum_error[coordinate] += error
    pull = np.sqrt(k) / state.gamma * state.sum_error[coordinate] / (k + state.k0)
    log_value = state.anchor[coordinate] - pull
    weight = k ** (-state.kappa)
    average = weight * log_value + (1.0 - weight) * state.log_value_average[coordinate]
    state.log_value[coordinate] = log_value
    state.log_value_average[coordinate] = average
    state.iteration[coordinate] += 1
    return average
