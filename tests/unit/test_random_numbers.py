"""Random numbers in kernels are NumPy's, in every bit."""

from __future__ import annotations

import numpy as np
import pytest
from numba.core import config

from grhmc._jit import kernel
from grhmc.events.random_numbers import (
    exponential,
    fill_normal,
    generator_state,
    mix_in_normal,
    mix_normal,
    normal,
    uniform,
)

N_NUMBERS = 2_000 if config.DISABLE_JIT else 1_000_000  # pyright: ignore[reportAttributeAccessIssue]
# Of a million normal numbers 15 000 are decided at a layer's edge and 260 come from the tail.


@kernel
def fill_uniform(rng: np.ndarray, numbers: np.ndarray) -> None:
    for k in range(numbers.shape[0]):
        numbers[k] = uniform(rng)


@kernel
def fill_exponential(rng: np.ndarray, numbers: np.ndarray) -> None:
    for k in range(numbers.shape[0]):
        numbers[k] = exponential(rng)


@pytest.mark.parametrize(
    ("fill", "name"),
    [(fill_uniform, "random"), (fill_normal, "standard_normal"), (fill_exponential, "standard_exponential")],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_numbers_are_those_of_numpy(fill, name, seed) -> None:
    theirs = np.random.default_rng(seed)
    rng, numbers = generator_state(theirs), np.empty(N_NUMBERS)
    fill(rng, numbers)
    np.testing.assert_array_equal(numbers, getattr(theirs, name)(N_NUMBERS))
    np.testing.assert_array_equal(rng, generator_state(theirs))


def test_kinds_can_be_mixed() -> None:
    theirs = np.random.default_rng(3)
    rng = generator_state(theirs)
    for _ in range(1000):
        assert normal(rng) == theirs.standard_normal()
        assert uniform(rng) == theirs.random()
        assert exponential(rng) == theirs.standard_exponential()


@pytest.mark.parametrize("persistence", [0.0, 0.3, 1.0])
def test_partly_new_numbers(persistence) -> None:
    theirs = np.random.default_rng(4)
    rng, numbers, mixed = generator_state(theirs), np.arange(10.0), np.empty(10)
    mix_normal(rng, persistence, numbers, mixed)
    expected = persistence * numbers + np.sqrt(1.0 - persistence**2) * theirs.standard_normal(10)
    np.testing.assert_allclose(mixed, expected, rtol=1e-14)
    np.testing.assert_array_equal(numbers, np.arange(10.0))
    mix_in_normal(generator_state(np.random.default_rng(4)), persistence, numbers)
    np.testing.assert_allclose(numbers, expected, rtol=1e-14)
