"""Times to a U-turn on N(0, I) in closed form, and the event rates that they lead to by either rule."""

from __future__ import annotations

import numpy as np


def u_turn_time(position: np.ndarray, momentum: np.ndarray) -> np.ndarray:
    """The first root of (q(t) − q(0))·p(t) on orbits of N(0, I); both arguments have shape (n, dim).

    With u = t/2 the speed is, but for the factor 2 sin u, E cos u + R cos(3u + φ): E is the mean of |p|² and |q|²,
    R cos φ half their difference and R sin φ = q·p. In x = tan u that is a cubic: its smallest positive root gives the
    time, or its most negative one where none is positive.
    """
    square, other = np.sum(position**2, axis=1), np.sum(momentum**2, axis=1)
    energy = 0.5 * (square + other)
    return first_root(0.5 * (other - square) / energy, np.sum(position * momentum, axis=1) / energy)


def first_root(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """2 arctan of the first root of b x³ + (1 − 3a) x² − 3b x + 1 + a, for a = R cos φ/E and b = R sin φ/E."""
    b = np.where(np.abs(b) < 1e-12, 1e-12, b)
    companion = np.zeros((len(a), 3, 3))
    companion[:, 1, 0] = companion[:, 2, 1] = 1.0
    companion[:, 0, 2] = -(1.0 + a) / b
    companion[:, 1, 2] = 3.0
    companion[:, 2, 2] = -(1.0 - 3.0 * a) / b
    roots = np.linalg.eigvals(companion)
    is_real = np.abs(roots.imag) < 1e-7 * (1.0 + np.abs(roots.real))
    angle = np.where(is_real, np.mod(np.arctan(roots.real), np.pi), np.pi)
    return 2.0 * angle.min(axis=1)


def mean_log_time(dim: int, n: int = 300) -> float:
    """E log τ over stationary starts of N(0, I), dim > 1, by quadrature.

    φ is uniform, and 1 − (R/E)² is U^(2/(dim − 1)) with U uniform.
    """
    middle = (np.arange(n) + 0.5) / n
    ratios, angles = np.sqrt(1.0 - middle ** (2.0 / (dim - 1))), 2.0 * np.pi * middle
    ratio, angle = (grid.ravel() for grid in np.meshgrid(ratios, angles))
    return float(np.log(first_root(ratio * np.cos(angle), ratio * np.sin(angle))).mean())


def mean_log_time_with_overshoot(dim: int, n: int = 100_000, seed: int = 1) -> tuple[float, float]:
    """The fixed point s = E log(τ + max(τ' − ℓ, 0)), ℓ exponential with mean e^s, and its standard error.

    τ' is the time to the U-turn of the path before, which was refreshed after ℓ.
    """
    rng = np.random.default_rng(seed)
    position, momentum, next_momentum = rng.standard_normal((3, n, dim))
    unit, before = rng.standard_exponential(n), u_turn_time(position, momentum)
    log_time = float(np.log(before).mean())
    values = np.zeros(n)
    for _ in range(8):
        length = unit * np.exp(log_time)
        after = u_turn_time(
            position * np.cos(length)[:, np.newaxis] + momentum * np.sin(length)[:, np.newaxis], next_momentum
        )
        values = np.log(after + np.maximum(before - length, 0.0))
        log_time = float(values.mean())
    return log_time, float(values.std() / np.sqrt(n))
