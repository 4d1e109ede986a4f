"""Posteriors whose other mode is hard to find, with exact moments, and what becomes of runs of them."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numba
import numpy as np
from scipy.integrate import quad

import grhmc

LIMIT = 0.25
"""True standard deviations by which a mean or a standard deviation must be off for a run to be wrong."""


@numba.njit(error_model="numpy")
def two_normals(q, gradient, weight, centre, first_sd, second_sd):
    """Weight N(0, first_sd²) + (1 − weight) N(centre, second_sd²); the centre is along the first coordinate."""
    n = q.size
    a = math.log(weight) - n * math.log(first_sd)
    b = math.log(1.0 - weight) - n * math.log(second_sd)
    for j in range(n):
        z = q[j] - (centre if j == 0 else 0.0)
        a -= 0.5 * (q[j] / first_sd) ** 2
        b -= 0.5 * (z / second_sd) ** 2
    top = max(a, b)
    value = top + math.log(math.exp(a - top) + math.exp(b - top))
    share = math.exp(a - value)
    for j in range(n):
        z = q[j] - (centre if j == 0 else 0.0)
        gradient[j] = -share * q[j] / first_sd**2 - (1.0 - share) * z / second_sd**2
    return value


@numba.njit(error_model="numpy")
def ripples(q, gradient, height):
    """Height × cos x − x²/200 in every coordinate."""
    value = 0.0
    for j in range(q.size):
        value += height * math.cos(q[j]) - q[j] ** 2 / 200.0
        gradient[j] = -height * math.sin(q[j]) - q[j] / 100.0
    return value


@numba.njit(error_model="numpy")
def cauchy_location(q, gradient, data):
    """A location with a flat prior; observations with Cauchy errors in two groups."""
    value = 0.0
    gradient[0] = 0.0
    for y in data:
        z = y - q[0]
        value -= math.log1p(z * z)
        gradient[0] += 2.0 * z / (1.0 + z * z)
    return value


@dataclass
class Target:
    """A density and its exact mean and standard deviation in each coordinate."""

    model: grhmc.LogDensity
    mean: np.ndarray
    sd: np.ndarray


def mixture(dim: int, weight: float, centre: float, first_sd: float, second_sd: float) -> Target:
    """Two normals."""
    model = grhmc.from_numba(two_normals, dim, data=(weight, centre, first_sd, second_sd))
    mean, variance = np.zeros(dim), np.full(dim, weight * first_sd**2 + (1.0 - weight) * second_sd**2)
    mean[0] = (1.0 - weight) * centre
    variance[0] += weight * (1.0 - weight) * centre**2
    return Target(model, mean, np.sqrt(variance))


def by_quadrature(function: Callable, dim: int, data: tuple, low: float, high: float) -> Target:
    """Equal, independent coordinates, whose moments are integrals from `low` to `high`."""
    model = grhmc.from_numba(function, dim, data=data)
    one = grhmc.from_numba(function, 1, data=data)
    points = np.linspace(low, high, 200)

    def moment(power: int) -> float:
        return sum(
            quad(lambda x: x**power * math.exp(one.evaluate(np.array([x]))[0] - top), a, b)[0]
            for a, b in itertools.pairwise(points)
        )

    top = max(one.evaluate(np.array([x]))[0] for x in points)
    mass = moment(0)
    mean = moment(1) / mass
    return Target(model, np.full(dim, mean), np.full(dim, math.sqrt(moment(2) / mass - mean**2)))


GROUPS = np.concatenate([np.linspace(-1.0, 1.0, 5), 20.0 + np.linspace(-1.0, 1.0, 5)])

TARGETS = {
    "0.6 N(0, 1) + 0.4 N(7, 1)": lambda: mixture(1, 0.6, 7.0, 1.0, 1.0),
    "0.7 N(0, 1) + 0.3 N(6, 0.2)": lambda: mixture(1, 0.7, 6.0, 1.0, 0.2),
    "0.5 N(0, 1) + 0.5 N(1, 0.001)": lambda: mixture(1, 0.5, 1.0, 1.0, 1e-3),
    "3 cos x - x²/200": lambda: by_quadrature(ripples, 1, (3.0,), -70.0, 70.0),
    "6 cos x - x²/200, 2 d": lambda: by_quadrature(ripples, 2, (6.0,), -70.0, 70.0),
    "widths 1 and 30, 3 d": lambda: mixture(3, 0.5, 0.0, 1.0, 30.0),
    "widths 1 and 10, 10 d": lambda: mixture(10, 0.5, 0.0, 1.0, 10.0),
    "Cauchy location": lambda: by_quadrature(cauchy_location, 1, (GROUPS,), -60.0, 80.0),
}


@dataclass
class Count:
    """What became of the runs of one target."""

    right: int = 0
    warned: int = 0
    silent: int = 0
    gradients: list[int] = field(default_factory=list)
    codes: dict[str, int] = field(default_factory=dict)


def is_wrong(target: Target, draws: np.ndarray) -> bool:
    """Whether a mean or a standard deviation is off by more than `LIMIT`."""
    flat = draws.reshape(-1, draws.shape[-1])
    off = np.abs(flat.mean(axis=0) - target.mean) / target.sd
    spread = np.abs(flat.std(axis=0) / target.sd - 1.0)
    return bool(max(off.max(), spread.max()) > LIMIT)


def run_grhmc(target: Target, seed: int) -> tuple[np.ndarray, list[str], int]:
    """Draws, codes of warnings, gradients of the warm-up."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = grhmc.sample(target.model, seed=seed, progress_bar=False, cores=1)
    codes = [item.code for item in grhmc.Report.from_json(result.attrs["diagnosis"]).warnings]
    draws = result["unconstrained_posterior"]["position"].transpose("chain", "draw", ...).to_numpy()
    return draws, codes, int(result["tuning"]["n_gradients"].to_numpy().sum())


Run = Callable[[Target, int], tuple[np.ndarray, list[str], int]]


def count(target: Target, run: Run, seeds: Iterable[int]) -> Count:
    """What becomes of the runs with some seeds."""
    found = Count()
    for seed in seeds:
        draws, codes, gradients = run(target, seed)
        found.gradients.append(gradients)
        if codes:
            found.warned += 1
            for code in codes:
                found.codes[code] = found.codes.get(code, 0) + 1
        elif is_wrong(target, draws):
            found.silent += 1
        else:
            found.right += 1
    return found
