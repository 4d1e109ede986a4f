"""Exact expectations of the analytic targets: moments where they have standard errors, and distribution functions."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import grhmc
from grhmc.models.analytic import AnalyticTarget
from monte_carlo import (
    LARGEST_STANDARD_ERROR,
    SMALLEST_STANDARD_ERROR,
    Comparison,
    Expectation,
    assert_expectations,
    compare,
    compare_values,
)

PROBABILITIES = (0.05, 0.25, 0.5, 0.75, 0.95)

HEAVY_SQUARES = {"NG1": (0, 1), "F1": (1,), "F2": (1,)}
"""Coordinates whose squares are too heavy-tailed for a trustworthy standard error, by target."""


def assert_exact(
    target: AnalyticTarget,
    *,
    draws: int,
    smallest_standard_error: float = SMALLEST_STANDARD_ERROR,
    largest_standard_error: float = LARGEST_STANDARD_ERROR,
    probabilities: Sequence[float] = PROBABILITIES,
    **settings: Any,
) -> None:
    """Sample the target with these settings of `grhmc.sample` and compare with its exact expectations.

    By the continuous process, unless they say otherwise. For the other arguments see `assert_expectations`.
    """
    model = target.log_density()
    settings = {"process": "continuous", **settings}

    def run(draws: int, seed: int):
        return grhmc.sample(model, draws=draws, seed=seed, progress_bar=False, cores=2, **settings)

    assert_expectations(
        run,
        lambda result: compare_result(result, target, probabilities),
        draws=draws,
        seed=seed_for(target.name, settings),
        smallest_standard_error=smallest_standard_error,
        largest_standard_error=largest_standard_error,
    )


def seed_for(*parts: Any) -> int:
    """A seed of one's own for every test: with a common one, all would share their luck."""
    return zlib.crc32(repr(parts).encode()) % 1_000_000


def expectations_of(target: AnalyticTarget, probabilities: Sequence[float] = PROBABILITIES) -> list[Expectation]:
    """Mean, variance and distribution function of every coordinate, and what else is known of the target."""
    found = []
    for j in range(target.dim):
        mean, sd = float(target.mean[j]), float(target.sd[j])
        is_heavy = j in HEAVY_SQUARES.get(target.name, ())
        if not (is_heavy and target.name.startswith("F")):
            found.append(Expectation(f"E[q{j}]", lambda q, j=j: q[..., j], mean))
        if not is_heavy:
            found.append(Expectation(f"Var[q{j}]", lambda q, j=j, m=mean: (q[..., j] - m) ** 2, sd**2))
        for probability, point in zip(probabilities, quantiles(target, j, probabilities), strict=True):
            found.append(Expectation(f"P(q{j} <= {point:.4g})", lambda q, j=j, x=point: q[..., j] <= x, probability))
    return found + joint_expectations(target)


def joint_expectations(target: AnalyticTarget) -> list[Expectation]:
    """What the coordinates do together."""
    if target.name in ("F1", "F2"):
        omega = float(target.parameters[0][0])
        euler = 0.5772156649015329
        return [
            Expectation("E[log|q1|]", lambda q: np.log(np.abs(q[..., 1])), -0.5 * (euler + math.log(2.0))),
            *_standard_normal("q1 exp(-w q0/2)", lambda q: q[..., 1] * np.exp(-0.5 * omega * q[..., 0])),
        ]
    if target.name == "NG1":
        return [_ellipse(target, probability) for probability in (0.1, 0.5, 0.9)]
    if target.name == "NG2":
        return _standard_normal("q1 - q0^2", lambda q: q[..., 1] - q[..., 0] ** 2)
    if target.name == "NG3":
        return _standard_normal("q1 - q0", lambda q: q[..., 1] - q[..., 0])
    if target.density.__name__ != "gaussian":
        return []
    mean, precision = target.parameters
    covariance = np.linalg.inv(precision)
    return [
        Expectation(
            f"Cov[q{i}, q{j}]",
            lambda q, i=i, j=j: (q[..., i] - mean[i]) * (q[..., j] - mean[j]),
            float(covariance[i, j]),
        )
        for i in range(target.dim)
        for j in range(i)
    ]


def compare_result(
    result: Any, target: AnalyticTarget, probabilities: Sequence[float] = PROBABILITIES
) -> list[Comparison]:
    """Compare a result's draws, path averages and kinetic energies with the target's exact values."""
    positions = result["unconstrained_posterior"]["position"].to_numpy()
    found = compare(positions, expectations_of(target, probabilities))
    kinetic = (result["sample_stats"]["lp"] + result["sample_stats"]["energy"]).to_numpy()
    found.append(compare_values("E[kinetic energy]", kinetic, 0.5 * target.dim))
    return found + compare_path_averages(result, target)


def compare_path_averages(result: Any, target: AnalyticTarget) -> list[Comparison]:
    """Compare the averages over the whole path, with standard errors from those over its intervals.

    An interval must be long against the autocorrelation time for these to be right.
    """
    averages = result["time_average"]
    draws = result["unconstrained_posterior"]["position"].to_numpy()
    found = []
    for j in range(target.dim):
        is_heavy = j in HEAVY_SQUARES.get(target.name, ())
        if not (is_heavy and target.name.startswith("F")):
            average = averages["position"].to_numpy()[..., j]
            found.append(_compare_intervals(f"path average of q{j}", average, target.mean[j], draws[..., j]))
        if not is_heavy:
            average = averages["position_squared"].to_numpy()[..., j]
            found.append(
                _compare_intervals(f"path average of q{j}^2", average, target.mean_square[j], draws[..., j] ** 2)
            )
    return found


def quantiles(target: AnalyticTarget, coordinate: int, probabilities: Sequence[float]) -> tuple[float, ...]:
    """Invert a marginal distribution function by bisection, to twelve digits of the standard deviation."""
    key = (target.name, target.mean.tobytes(), target.sd.tobytes(), coordinate, *probabilities)
    if key not in _quantiles:
        wanted = np.array(probabilities)
        low = np.full(len(wanted), target.mean[coordinate] - 50.0 * target.sd[coordinate])
        high = np.full(len(wanted), target.mean[coordinate] + 50.0 * target.sd[coordinate])
        for _ in range(48):
            middle = 0.5 * (low + high)
            below = target.marginals[coordinate](middle) < wanted
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        _quantiles[key] = tuple(0.5 * (low + high))
    return _quantiles[key]


_quantiles: dict[tuple, tuple[float, ...]] = {}
# Some take a second to invert. A name alone may stand for different distributions in different files.


def _compare_intervals(name: str, averages: np.ndarray, exact: float, draws: np.ndarray) -> Comparison:
    sd = float(draws.std())
    standard_error = averages.std(ddof=1) / np.sqrt(averages.size)
    return Comparison(name, float(averages.mean()), float(exact), float(standard_error), sd)


def _standard_normal(name: str, function: Callable[[np.ndarray], np.ndarray]) -> list[Expectation]:
    """A function of the state that is N(0, 1) under the target, whatever the other coordinates."""
    return [
        Expectation(f"E[{name}]", function, 0.0),
        Expectation(f"E[({name})^2]", lambda q: function(q) ** 2, 1.0),
        Expectation(f"P({name} <= 1)", lambda q: function(q) <= 1.0, 0.5 * math.erfc(-math.sqrt(0.5))),
        Expectation(f"Cov[{name}, q0]", lambda q: function(q) * q[..., 0], 0.0),
    ]


def _ellipse(target: AnalyticTarget, probability: float) -> Expectation:
    """Of a bivariate t, P(D² <= x) = 1 − (1 + x/ν)^(−ν/2), D the Mahalanobis distance."""
    degrees_of_freedom, location, precision = target.parameters
    nu = float(degrees_of_freedom[0])
    square = nu * ((1.0 - probability) ** (-2.0 / nu) - 1.0)

    def inside(q: np.ndarray) -> np.ndarray:
        z = q - location
        return np.einsum("...i,ij,...j->...", z, precision, z) <= square

    return Expectation(f"P(D^2 <= {square:.4g})", inside, probability)
