"""Normals in many dimensions, of very different widths, and correlated ones: exact moments with every tuner."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import grhmc
from exact_expectations import assert_exact
from grhmc.models.analytic import AnalyticTarget, gaussian, independent_normals

PROBABILITIES = (0.05, 0.5)
"""Fewer than elsewhere: there are up to a hundred coordinates."""


def correlated(dim: int = 5) -> AnalyticTarget:
    """A normal without symmetries, its mean off zero."""
    factor = np.random.default_rng(20240103).normal(size=(dim, dim + 3))
    return gaussian(np.arange(dim, dtype=float), factor @ factor.T, name="correlated")


TARGETS = {
    "standard": lambda: independent_normals(np.ones(100), name="N(0, I_100)"),
    "ill-conditioned": lambda: independent_normals(np.geomspace(1e-2, 1.0, 100), name="sds from 1e-2 to 1"),
    "millionths and millions": lambda: independent_normals(np.geomspace(1e-6, 1e6, 13), name="sds from 1e-6 to 1e6"),
    "correlated": correlated,
}

# What a run warns of is not the question here.
pytestmark = [pytest.mark.statistical, pytest.mark.filterwarnings("ignore::grhmc.SamplingWarning")]


@pytest.mark.parametrize("tuner", ["vari", "isg", "mct", "geo"])
@pytest.mark.parametrize("name", TARGETS)
def test_every_tuner_gives_exact_moments(name: str, tuner: str) -> None:
    """Chains start from uniform(-2, 2): for the narrowest normal a million standard deviations out."""
    assert_exact(TARGETS[name](), draws=8000, largest_standard_error=0.025, probabilities=PROBABILITIES, scale=tuner)


@pytest.mark.parametrize("integrator", ["rkn43", "rkn64"])
@pytest.mark.parametrize("name", TARGETS)
def test_every_integrator_gives_exact_moments(name: str, integrator: Any) -> None:
    assert_exact(
        TARGETS[name](),
        draws=8000,
        largest_standard_error=0.025,
        probabilities=PROBABILITIES,
        scale="isg",
        process=grhmc.Continuous(integrator=integrator),
    )


def test_a_mean_far_from_zero_costs_no_digits() -> None:
    target = independent_normals([1e-3, 1.0, 10.0], mean=[1e6, -1e6, 1e6], name="far from zero")
    assert_exact(target, draws=8000, largest_standard_error=0.02, scale="vari", init=target.mean)
