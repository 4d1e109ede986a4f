"""A planet's orbit with one unknown, the star's mass: one needle of a mode, and others a hundred thousand lower.

The planet starts at (1, 0) with momentum (0, 1) in the field of a star of mass k; forty of its positions are seen with
an error of 0.01, and log k has a half-normal prior on k. The posterior is N(0, 0.00033²) near log k = 0, where the log
density is -38; elsewhere it is below -1e5. Where the planet falls into the star the log density is rough down to
rounding.
"""

from __future__ import annotations

import numba
import numpy as np

import grhmc

_STEP, _STEPS_PER_SIGHTING, _ERROR = 0.02, 5, 0.01


@numba.njit(error_model="numpy")
def _rates(state, mass, rates):
    """Of position and momentum (four), and of their derivatives by the mass (four)."""
    x, y, dx, dy = state[0], state[1], state[4], state[5]
    square = x * x + y * y
    cube = square**1.5
    d_cube = 3.0 * np.sqrt(square) * (x * dx + y * dy)
    rates[0], rates[1], rates[2], rates[3] = state[2], state[3], -mass * x / cube, -mass * y / cube
    rates[4], rates[5] = state[6], state[7]
    rates[6] = -x / cube - mass * dx / cube + mass * x * d_cube / cube**2
    rates[7] = -y / cube - mass * dy / cube + mass * y * d_cube / cube**2


@numba.njit(error_model="numpy")
def orbit_density(q, gradient, seen):
    """Runge-Kutta of fourth order with sensitivities."""
    mass, state, rates = np.exp(q[0]), np.zeros(8), np.zeros((4, 8))
    state[0] = state[3] = 1.0
    log_density, slope = -0.5 * mass * mass + q[0], -mass
    for i in range(seen.shape[0]):
        for _ in range(_STEPS_PER_SIGHTING):
            _rates(state, mass, rates[0])
            _rates(state + 0.5 * _STEP * rates[0], mass, rates[1])
            _rates(state + 0.5 * _STEP * rates[1], mass, rates[2])
            _rates(state + _STEP * rates[2], mass, rates[3])
            state += _STEP / 6.0 * (rates[0] + 2.0 * rates[1] + 2.0 * rates[2] + rates[3])
        error_x, error_y = (seen[i, 0] - state[0]) / _ERROR, (seen[i, 1] - state[1]) / _ERROR
        log_density -= 0.5 * (error_x * error_x + error_y * error_y)
        slope += (error_x * state[4] + error_y * state[5]) / _ERROR
    gradient[0] = slope * mass + 1.0
    return log_density


def orbit() -> grhmc.LogDensity:
    """Forty sightings of a planet whose star has mass 1."""
    times = np.arange(1, 41) / 10.0
    seen = np.column_stack([np.cos(times), np.sin(times)])
    seen += _ERROR * np.random.default_rng(0).normal(size=seen.shape)
    return grhmc.from_numba(orbit_density, 1, ["log_mass"], data=(seen,))


SD = 0.00033
"""Of log k."""
