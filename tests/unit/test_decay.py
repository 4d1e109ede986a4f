"""The exponential function of the discrete process against the decimal module's."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from grhmc.dynamics.decay import decay


@pytest.mark.parametrize("largest", [1e-3, 1.0, 30.0, 700.0])
def test_it_is_right_to_its_last_digits(largest):
    for x in np.random.default_rng(1).uniform(0.0, largest, 2000):
        exact = (-Decimal(float(x))).exp()
        assert abs(Decimal(float(decay(x))) - exact) / exact < (1.0 + x) * 2.0**-52


def test_it_never_rises_where_a_power_of_two_begins():
    x = np.arange(1, 200) * np.log(2.0) / 32 - np.log(2.0) / 64
    values = np.array([[decay(at - 1e-13), decay(at + 1e-13)] for at in x])
    assert np.all(values[:, 1] < values[:, 0])


def test_it_is_one_below_zero_and_tiny_but_positive_far_out():
    assert decay(0.0) == decay(-3.0) == decay(-np.inf) == 1.0
    assert 0.0 < decay(1e9) == decay(np.inf) < 1e-300
