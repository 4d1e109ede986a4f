"""The reference posteriors: their data, and whether a result agrees with their published summaries.

They are public summaries of long runs of another sampler (posteriordb), kept beside the repository; the tests that need
them are skipped where they are not.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from arviz_stats.base import array_stats

_FOLDER = Path(__file__).resolve().parents[2] / "shared" / "posteriors"
_N_REFERENCE_DRAWS = 10_000

PROGRAMS = Path(__file__).parent / "front_ends" / "programs"
"""The posteriors as Stan programs."""

MEAN_LIMIT = 4.0
"""Monte Carlo standard errors, of the result and the reference combined."""

LARGEST_STANDARD_ERROR = 0.1
"""Of a mean, in standard deviations: a chain that is stuck must not pass because it makes errors large."""

SD_TOLERANCE = 0.05
"""Relative; on top of it come `MEAN_LIMIT` standard errors."""


class Discrepancy(NamedTuple):
    """A parameter beside its reference: `standard_error` in standard deviations, the `sd_` ones relative."""

    parameter: str
    mean_z: float
    standard_error: float
    sd_error: float
    sd_standard_error: float

    @property
    def is_large(self) -> bool:
        """Whether it is beyond what a right sampler may show."""
        limit = SD_TOLERANCE + MEAN_LIMIT * self.sd_standard_error
        is_blurred = not self.standard_error < LARGEST_STANDARD_ERROR
        return is_blurred or not (abs(self.mean_z) < MEAN_LIMIT and abs(self.sd_error) < limit)


def read_posterior_data(name: str) -> dict[str, Any]:
    """Its data, or skip the test."""
    path = _FOLDER / name / "data.json"
    if not path.is_file():
        pytest.skip(f"the reference posterior {name} is not there ({path})")
    return json.loads(path.read_text())


def compare_with_reference(name: str, result: Any) -> list[Discrepancy]:
    """Compare every parameter that the reference lists."""
    posterior = result["posterior"].to_dataset()
    with (_FOLDER / name / "reference.csv").open() as file:
        return [_compare(row, _draws(posterior, row["parameter"])) for row in csv.DictReader(file)]


def large_discrepancies(name: str, result: Any) -> list[Discrepancy]:
    """Those beyond the limits."""
    return [discrepancy for discrepancy in compare_with_reference(name, result) if discrepancy.is_large]


def _draws(posterior: Any, parameter: str) -> np.ndarray:
    base, _, index = parameter.removesuffix("]").partition("[")
    values = posterior[base].to_numpy()
    return values[..., int(index) - 1] if index else values


def _compare(row: dict[str, str], draws: np.ndarray) -> Discrepancy:
    mean, sd = float(row["mean"]), float(row["sd"])
    standard_error = np.hypot(_standard_error(draws, "mean"), float(row["mcse_mean"]))
    # The reference gives no error for its sd: that of as many independent draws, by the delta method.
    kurtosis = np.mean((draws - draws.mean()) ** 4) / draws.var() ** 2
    sd_standard_error = np.hypot(
        _standard_error(draws, "sd") / sd,
        np.sqrt(max(kurtosis - 1, 0.0) / (4 * _N_REFERENCE_DRAWS)),
    )
    return Discrepancy(
        row["parameter"],
        float((draws.mean() - mean) / standard_error),
        float(standard_error / sd),
        float(draws.std() / sd - 1),
        float(sd_standard_error),
    )


def _standard_error(draws: np.ndarray, method: str) -> float:
    error: Any = array_stats.mcse(draws, chain_axis=0, draw_axis=1, method=method)
    return float(error)
