"""Every tuner, every integrator at its default tolerance, and every target of the paper with exact expectations.

See monte_carlo.py for what counts as wrong, exact_expectations.py for what is compared. The logistic regressions are in
a file of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

import grhmc
from exact_expectations import assert_exact
from grhmc.models.analytic import PAPER_TARGETS, paper_target
from monte_carlo import SMALLEST_STANDARD_ERROR

TUNERS = ("vari", "isg", "mct", "geo")
INTEGRATORS = ("splitting", "rkn43", "rkn64")

LARGEST_STANDARD_ERROR = {"F1": 0.03, "F2": 0.08}
"""In the funnels an excursion lasts hundreds of draws. The splitting has a bias of 0.025 in F2."""

LARGER_ALLOWANCE = {("NG1", "splitting"): 0.013}
"""Kinetic energies of the splitting are up to 0.025 standard deviations too low there."""

# What a run warns of is not the question here.
pytestmark = [pytest.mark.statistical, pytest.mark.filterwarnings("ignore::grhmc.SamplingWarning")]


def _combinations() -> Iterator[Any]:
    """A third of them each time, which has every pair of a target, a tuner and an integrator; the others nightly."""
    for (i, name), (j, tuner), (k, integrator) in product(*map(enumerate, (PAPER_TARGETS, TUNERS, INTEGRATORS))):
        is_daily = (i + j + k) % len(INTEGRATORS) == 0
        yield pytest.param(name, tuner, integrator, marks=() if is_daily else pytest.mark.nightly)


@pytest.mark.parametrize(("name", "tuner", "integrator"), list(_combinations()))
def test_moments_are_exact(name: str, tuner: str, integrator: Any) -> None:
    assert_exact(
        paper_target(name),
        draws=16_000 if name != "F2" else 12_000,
        largest_standard_error=LARGEST_STANDARD_ERROR.get(name, 0.02),
        scale=tuner,
        process=grhmc.Continuous(integrator=integrator),
        smallest_standard_error=LARGER_ALLOWANCE.get((name, integrator), SMALLEST_STANDARD_ERROR),
    )


@pytest.mark.parametrize("name", [name for name in PAPER_TARGETS if name != "F2"])
def test_the_default_settings_are_exact(name: str) -> None:
    """By the discrete process."""
    assert_exact(
        paper_target(name),
        draws=16_000,
        largest_standard_error=0.06,
        process="discrete",
    )


@pytest.mark.nightly
@pytest.mark.parametrize("integrator", ["rkn43", "rkn64"])
@pytest.mark.parametrize("tuner", TUNERS)
@pytest.mark.parametrize("name", PAPER_TARGETS)
def test_moments_are_exact_to_a_hundredth_of_a_standard_deviation(name: str, tuner: str, integrator: Any) -> None:
    """The Nyström pairs' bias cannot be seen in 1 200 000 draws. The splitting's can: about 0.01, 0.024 on F2."""
    assert_exact(
        paper_target(name),
        draws=300_000 if name != "NG3" else 400_000,
        smallest_standard_error=0.0,
        largest_standard_error=0.004 if name[0] != "F" else 0.02,
        scale=tuner,
        process=grhmc.Continuous(integrator=integrator),
    )


@pytest.mark.nightly
@pytest.mark.parametrize("name", PAPER_TARGETS)
def test_splitting_converges_to_exact_moments_as_the_tolerance_shrinks(name: str) -> None:
    assert_exact(
        paper_target(name),
        draws=300_000,
        smallest_standard_error=0.0,
        largest_standard_error=0.004 if name[0] != "F" else 0.02,
        scale="geo",
        process=grhmc.Continuous(integrator="splitting", tolerance=0.002),
    )
