"""Uneven exploration: found where a curved ridge's ends are missing, at a bounded cost, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import grhmc
from grhmc.diagnosis.exploration import SUSPICIOUS_VARIANCE_ERROR, find_uneven_exploration, variance_errors

LONG, BEND = 3.0, 0.5


def counted_model(dim: int) -> tuple[grhmc.LogDensity, list[int]]:
    """A bent normal in two of the coordinates, the others N(0, 1), and how often it was asked."""
    calls: list[int] = [0]

    def ridge(q: np.ndarray) -> tuple[float, np.ndarray]:
        calls[0] += 1
        first, second = q[dim // 2], q[0]
        residual = second - BEND * (first**2 - LONG**2)
        gradient = -q.copy()
        gradient[dim // 2] = -first / LONG**2 + 2.0 * BEND * first * residual
        gradient[0] = -residual
        others = float(q @ q) - first**2 - second**2
        return -0.5 * ((first / LONG) ** 2 + residual**2 + others), gradient

    return grhmc.from_python(ridge, dim), calls


def slow_draws(dim: int, largest: float, n_chains: int = 4, n_draws: int = 500) -> np.ndarray:
    """Draws with the ridge's coordinate at most so many sds out, slowly from one end to the other and back."""
    rng = np.random.default_rng(7)
    draws = rng.standard_normal((n_chains, n_draws, dim))
    first = LONG * rng.standard_normal((n_chains, 40 * n_draws))
    for chain in range(n_chains):
        kept = first[chain][np.abs(first[chain]) < largest * LONG][:n_draws]
        draws[chain, :, dim // 2] = kept[np.argsort(np.abs(kept))]
    draws[..., 0] += BEND * (draws[..., dim // 2] ** 2 - LONG**2)
    return draws


def names(dim: int) -> np.ndarray:
    return np.array([f"q[{j}]" for j in range(dim)])


@pytest.mark.parametrize("dim", [2, 4, 30])
def test_ends_of_a_ridge_that_no_draw_has_seen_are_noticed(dim: int) -> None:
    model, calls = counted_model(dim)
    (finding,) = find_uneven_exploration(model, slow_draws(dim, largest=1.3), names(dim), n_gradients=20_000)
    assert (finding.code, finding.severity) == ("uneven_exploration", "warning")
    assert set(finding.variables) == {"q[0]", f"q[{dim // 2}]"}
    exact = np.sqrt(1.0 + 2.0 * BEND**2 * LONG**4) / slow_draws(dim, largest=1.3)[..., 0].std()
    assert finding.value == pytest.approx(np.log(exact), abs=0.1)
    assert calls[0] == 600


@pytest.mark.parametrize("dim", [2, 30])
def test_draws_of_the_whole_ridge_are_left_in_peace_however_slow(dim: int) -> None:
    model, _ = counted_model(dim)
    draws = slow_draws(dim, largest=10.0)
    assert variance_errors(draws).max() > SUSPICIOUS_VARIANCE_ERROR
    assert find_uneven_exploration(model, draws, names(dim)) == []


def test_no_gradient_is_spent_where_variances_are_well_known() -> None:
    model, calls = counted_model(2)
    draws = slow_draws(2, largest=1.3)
    shuffled = np.random.default_rng(1).permuted(draws[..., 1], axis=1)
    draws = np.stack([BEND * (shuffled**2 - LONG**2), shuffled], axis=-1)
    assert find_uneven_exploration(model, draws, names(2)) == []
    assert calls[0] == 0


def _raises(q: np.ndarray) -> tuple[float, np.ndarray]:
    raise ValueError("the solver failed")


def _not_finite(q: np.ndarray) -> tuple[float, np.ndarray]:
    return -np.inf, q


@pytest.mark.parametrize("function", [_raises, _not_finite])
def test_a_model_that_fails_at_a_draw_says_nothing(function: Callable) -> None:
    assert find_uneven_exploration(grhmc.from_python(function, 2), slow_draws(2, largest=1.3), names(2)) == []


def test_few_draws_and_draws_that_are_not_finite_say_nothing() -> None:
    model, calls = counted_model(2)
    draws = slow_draws(2, largest=1.3)
    assert find_uneven_exploration(model, draws[:, :90], names(2)) == []
    draws[0, 0, 0] = np.nan
    assert find_uneven_exploration(model, draws, names(2)) == []
    assert calls[0] == 0


def test_coordinates_that_never_vary_are_no_obstacle() -> None:
    model, _ = counted_model(4)
    draws = slow_draws(4, largest=1.3)
    draws[..., 3] = 1.0
    assert [finding.code for finding in find_uneven_exploration(model, draws, names(4))] == ["uneven_exploration"]
