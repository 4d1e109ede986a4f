"""The affine change of variables q = m + S F q̄ in which the dynamics run, with F = I + U (Λ^½ − I) Uᵀ.

S is the diagonal scale. F turns and stretches k directions, the columns of the orthonormal U; it is symmetric, and the
identity where k = 0. In q̄ momenta are N(0, I) whatever S and F are, so processes need to know neither.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grhmc._jit import array_kernel, inner_kernel, kernel
from grhmc.dynamics.aligned import aligned_zeros


class Standardization(NamedTuple):
    """Centre, diagonal scale and low-rank factor; all are changed in place.

    Attributes
    ----------
    centre : ndarray, shape (dim,)
        m, in the units of the parameters.
    scale : ndarray, shape (dim,)
        The diagonal of S, all positive, in the units of the parameters. The mass matrix is (S F² S)⁻¹.
    rank : ndarray of int, shape (1,)
        k: how many directions are stretched.
    directions : ndarray, shape (max_rank, dim)
        Uᵀ in the first k rows.
    stretch, shrinkage : ndarray, shape (max_rank,)
        λ^½ − 1 and λ^(−½) − 1 of each: what F and its inverse add.
    coefficients : ndarray, shape (max_rank,)
        Scratch.
    """

    centre: np.ndarray
    scale: np.ndarray
    rank: np.ndarray
    directions: np.ndarray
    stretch: np.ndarray
    shrinkage: np.ndarray
    coefficients: np.ndarray


def init_standardization(centre: np.ndarray, scale: np.ndarray, max_rank: int = 0) -> Standardization:
    """A diagonal one, with room for `max_rank` directions; copies its arguments."""
    return Standardization(
        centre=centre.copy(),
        scale=scale.copy(),
        rank=np.zeros(1, dtype=np.int64),
        directions=aligned_zeros(max_rank, len(centre)),
        stretch=np.zeros(max_rank),
        shrinkage=np.zeros(max_rank),
        coefficients=np.zeros(max_rank),
    )


def set_directions(standardization: Standardization, directions: np.ndarray, eigenvalues: np.ndarray) -> None:
    """Replace Uᵀ, shape (k, dim), and Λ, shape (k,); updates `standardization`. The position is left to the caller.

    Raises
    ------
    ValueError
        If there is no room for so many.
    """
    k = len(eigenvalues)
    if k > len(standardization.stretch):
        raise ValueError(f"there is room for {len(standardization.stretch)} directions, not for {k}")
    standardization.rank[0] = k
    standardization.directions[:k] = directions
    standardization.stretch[:k] = np.sqrt(eigenvalues) - 1.0
    standardization.shrinkage[:k] = 1.0 / np.sqrt(eigenvalues) - 1.0


@kernel
def is_diagonal(standardization: Standardization) -> bool:
    """Whether F is the identity."""
    return standardization.rank[0] == 0


@kernel
def extreme_eigenvalues(standardization: Standardization) -> tuple[float, float]:
    """The smallest and the largest eigenvalue of F²."""
    lowest = highest = 0.0
    for j in range(standardization.rank[0]):
        lowest = min(lowest, standardization.stretch[j])
        highest = max(highest, standardization.stretch[j])
    return (1.0 + lowest) ** 2, (1.0 + highest) ** 2


@array_kernel
def _add_directions(
    directions: np.ndarray, amounts: np.ndarray, rank: int, coefficients: np.ndarray, vector: np.ndarray
) -> None:
    """Add Σ_j amounts_j (U_j · v) U_j to the vector v; four directions a pass, so that v is read less often.

    Called with `rank` above 0. Directions are orthonormal, so that a pass does not disturb the products of the next.
    """
    dim = vector.shape[0]
    whole = rank - rank % 4
    for j in range(0, whole, 4):
        a = b = c = d = 0.0
        for k in range(dim):
            v = vector[k]
            a += directions[j, k] * v
            b += directions[j + 1, k] * v
            c += directions[j + 2, k] * v
            d += directions[j + 3, k] * v
        coefficients[j], coefficients[j + 1] = amounts[j] * a, amounts[j + 1] * b
        coefficients[j + 2], coefficients[j + 3] = amounts[j + 2] * c, amounts[j + 3] * d
    for j in range(whole, rank):
        a = 0.0
        for k in range(dim):
            a += directions[j, k] * vector[k]
        coefficients[j] = amounts[j] * a
    for j in range(0, whole, 4):
        a, b, c, d = coefficients[j], coefficients[j + 1], coefficients[j + 2], coefficients[j + 3]
        for k in range(dim):
            first = a * directions[j, k] + b * directions[j + 1, k]
            vector[k] += first + c * directions[j + 2, k] + d * directions[j + 3, k]
    for j in range(whole, rank):
        a = coefficients[j]
        for k in range(dim):
            vector[k] += a * directions[j, k]


@inner_kernel
def _multiply(standardization: Standardization, amounts: np.ndarray, vector: np.ndarray) -> None:
    directions, coefficients = standardization.directions, standardization.coefficients
    _add_directions(directions, amounts, standardization.rank[0], coefficients, vector)


@kernel
def apply_factor(standardization: Standardization, vector: np.ndarray) -> None:
    """Multiply a vector by F; updates `vector`."""
    if not is_diagonal(standardization):
        _multiply(standardization, standardization.stretch, vector)


@kernel
def apply_inverse_factor(standardization: Standardization, vector: np.ndarray) -> None:
    """Multiply a vector by F⁻¹; updates `vector`."""
    if not is_diagonal(standardization):
        _multiply(standardization, standardization.shrinkage, vector)


@kernel
def to_parameters(standardization: Standardization, position: np.ndarray, point: np.ndarray) -> None:
    """Write q = m + S F q̄ to `point`, which may be `position` itself."""
    if is_diagonal(standardization):
        unscale(standardization, position, point)
        return
    to_scaled(standardization, position, point)
    unscale(standardization, point, point)


@kernel
def to_scaled(standardization: Standardization, position: np.ndarray, scaled: np.ndarray) -> None:
    """Write y = F q̄ to `scaled`, which may be `position` itself."""
    for k in range(scaled.shape[0]):
        scaled[k] = position[k]
    apply_factor(standardization, scaled)


@kernel
def unscale(standardization: Standardization, scaled: np.ndarray, point: np.ndarray) -> None:
    """Write q = m + S y to `point`, where y = F q̄ is `scaled`, which may be `point` itself."""
    centre, scale = standardization.centre, standardization.scale
    for k in range(point.shape[0]):
        point[k] = centre[k] + scale[k] * scaled[k]


@kernel
def from_parameters(standardization: Standardization, point: np.ndarray, position: np.ndarray) -> None:
    """Write q̄ = F⁻¹ S⁻¹ (q − m) to `position`, which may be `point` itself."""
    centre, scale = standardization.centre, standardization.scale
    for k in range(point.shape[0]):
        position[k] = (point[k] - centre[k]) / scale[k]
    apply_inverse_factor(standardization, position)


@kernel
def gradient_of_force(standardization: Standardization, force: np.ndarray, gradient: np.ndarray) -> None:
    """Write the gradient g = S⁻¹ F⁻¹ f of the log density in the units of the parameters to `gradient`."""
    scale = standardization.scale
    for k in range(force.shape[0]):
        gradient[k] = force[k]
    apply_inverse_factor(standardization, gradient)
    for k in range(force.shape[0]):
        gradient[k] /= scale[k]


@kernel
def restandardize(
    standardization: Standardization,
    new_centre: np.ndarray,
    new_scale: np.ndarray,
    position: np.ndarray,
    force: np.ndarray,
) -> None:
    """Change m and S of a diagonal standardization while q stays where it is.

    Updates `standardization`, `position` and `force` in place. The standardized momentum is kept: it is N(0, I) in
    every standardization. The force S g(q) is rescaled, not evaluated again.

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


def change_factor(
    standardization: Standardization,
    new_centre: np.ndarray,
    new_scale: np.ndarray,
    directions: np.ndarray,
    eigenvalues: np.ndarray,
    position: np.ndarray,
    force: np.ndarray,
) -> None:
    """`restandardize` that replaces U and Λ too; updates `standardization`, `position` and `force` in place."""
    to_parameters(standardization, position, position)
    gradient_of_force(standardization, force, force)
    standardization.centre[:], standardization.scale[:] = new_centre, new_scale
    set_directions(standardization, directions, eigenvalues)
    from_parameters(standardization, position, position)
    force *= new_scale
    apply_factor(standardization, force)
