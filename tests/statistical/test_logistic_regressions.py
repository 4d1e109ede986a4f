"""The paper's two logistic regressions against references that do not come from this sampler.

tests/data/make_references.py made them by importance sampling, and for comparison by a long run of the package.
"""

from __future__ import annotations

import csv
import functools
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import grhmc
from exact_expectations import seed_for
from grhmc import datasets
from grhmc.models.analytic import logistic_regression
from monte_carlo import Expectation, assert_expectations, compare

FILE = Path(__file__).parents[1] / "data" / "logistic_regression_references.csv"
DATA_SETS = {"BLR1": datasets.pima, "BLR2": datasets.german_credit}
TUNERS = ("vari", "isg", "mct", "geo")
PROCESSES = (
    pytest.param(grhmc.Discrete(integrator="splitting"), id="discrete"),
    pytest.param(grhmc.Continuous("rkn43"), id="rkn43"),
    pytest.param(grhmc.Continuous("rkn64"), id="rkn64", marks=pytest.mark.nightly),
)

# What a run warns of is not the question here.
pytestmark = [pytest.mark.statistical, pytest.mark.filterwarnings("ignore::grhmc.SamplingWarning")]


class References(NamedTuple):
    """Columns of the file for one target, each of shape (dim,)."""

    mean: np.ndarray
    mean_error: np.ndarray
    sd: np.ndarray
    sd_error: np.ndarray
    run_mean: np.ndarray
    run_mean_error: np.ndarray
    run_sd: np.ndarray
    run_sd_error: np.ndarray


def references(target: str) -> tuple[tuple[str, ...], References]:
    """Names and numbers of one target's coefficients."""
    with FILE.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["target"] == target]
    columns = [np.array([float(row[field]) for row in rows]) for field in References._fields]
    return tuple(row["parameter"] for row in rows), References(*columns)


@functools.cache
def expectations(target: str) -> list[Expectation]:
    """Mean and variance of every coefficient, known to a thousandth of a standard deviation."""
    names, known = references(target)
    found = []
    for j, name in enumerate(names):
        mean, sd = float(known.mean[j]), float(known.sd[j])
        found += [
            Expectation(f"E[{name}]", lambda q, j=j: q[..., j], mean, float(known.mean_error[j])),
            Expectation(
                f"Var[{name}]",
                lambda q, j=j, mean=mean: (q[..., j] - mean) ** 2,
                sd**2,
                2.0 * sd * float(known.sd_error[j]),
            ),
        ]
    return found


@pytest.mark.parametrize("target", DATA_SETS)
def test_the_two_references_agree(target: str) -> None:
    """Importance sampling and a run at a tolerance of 1e-6, within 4 standard errors of their difference."""
    names, known = references(target)
    assert names == DATA_SETS[target]().names
    assert np.all(known.mean_error < 1e-3 * known.sd)
    assert np.all(np.abs(known.run_mean - known.mean) < 4.0 * np.hypot(known.mean_error, known.run_mean_error))
    assert np.all(np.abs(known.run_sd - known.sd) < 4.0 * np.hypot(known.sd_error, known.run_sd_error))


@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize("tuner", TUNERS)
@pytest.mark.parametrize("target", DATA_SETS)
def test_posterior_moments_are_right(target: str, tuner: Any, process: Any) -> None:
    data = DATA_SETS[target]()
    model = logistic_regression(data.design_matrix, data.response)

    def run(draws: int, seed: int):
        result = grhmc.sample(
            model, scale=tuner, process=process, draws=draws, tune=500, seed=seed, cores=2, progress_bar=False
        )
        return result["posterior"]["x"].to_numpy()

    assert_expectations(
        run,
        lambda draws: compare(draws, expectations(target)),
        draws=3000,
        seed=seed_for(target, tuner, process.integrator),
        largest_standard_error=0.03,
    )
