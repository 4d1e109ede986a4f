"""Thin bananas: a run whose draws miss the ends of the ridge is warned of, and one that is warned of misses them."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
import pytest

import grhmc
from fuzz_densities import DENSITIES
from healthy_models import HEALTHY

EXACT_SD = np.array([1.0, np.sqrt(1.0 + 2.0 * 5.0**2)])
"""Of q1 ~ N(0, 1), q2 ~ N(5 (q1² − 1), 1); their means are 0."""
SERIOUS, HARMLESS = 0.25, 0.08
"""Errors of a mean in standard deviations, or of the logarithm of one.

It must be warned of beyond the first, not of less than the second. The limit lies between, at 0.15."""

pytestmark = [pytest.mark.statistical, pytest.mark.filterwarnings("ignore::grhmc.SamplingWarning")]


class Run(NamedTuple):
    """How far a mean or a standard deviation is off, and what was warned of."""

    error: float
    codes: set[str]


@functools.cache
def thin_banana() -> grhmc.LogDensity:
    return DENSITIES["banana, thin"].model()


@functools.cache
def run(seed: int) -> Run:
    result: Any = grhmc.sample(thin_banana(), seed=seed, progress_bar=False)
    draws = result["unconstrained_posterior"]["position"].to_numpy()
    codes = {finding.code for finding in grhmc.Report.from_json(result.attrs["diagnosis"]).warnings}
    of_mean, of_sd = draws.mean(axis=(0, 1)) / EXACT_SD, np.log(draws.std(axis=(0, 1)) / EXACT_SD)
    return Run(float(np.abs([of_mean, of_sd]).max()), codes)


@pytest.mark.parametrize("n_seeds", [2, pytest.param(60, marks=pytest.mark.nightly)])
def test_what_is_wrong_is_warned_of_and_what_is_right_is_not(n_seeds: int) -> None:
    runs = [run(seed) for seed in range(n_seeds)]
    assert not [each for each in runs if each.error > SERIOUS and not each.codes]
    assert not [each for each in runs if each.error < HARMLESS and "uneven_exploration" in each.codes]


@pytest.mark.nightly
def test_without_the_check_some_are_silently_wrong() -> None:
    """Negative control."""
    runs = [run(seed) for seed in range(60)]
    assert sum(each.error > 0.15 and not each.codes - {"uneven_exploration"} for each in runs) >= 5


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["radon, varying intercepts", "radon, varying slopes", "Gaussian process"])
def test_healthy_models_whose_variances_are_known_badly_are_left_in_peace(name: str) -> None:
    model = HEALTHY[name]()
    for seed in range(10):
        result = grhmc.sample(model, seed=seed, progress_bar=False)
        codes = {finding.code for finding in grhmc.Report.from_json(result.attrs["diagnosis"])}
        assert "uneven_exploration" not in codes, seed
