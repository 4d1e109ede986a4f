"""The reference posteriors: their data, and whether a result agrees with their published summaries.

They are public summaries of long runs of another sampler (posteriordb; see tests/data/posteriors/README.md).
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray
from arviz_stats.base import array_stats

import grhmc

_FOLDER = Path(__file__).resolve().parent / "data" / "posteriors"
_N_REFERENCE_DRAWS = 10_000
_OTHER_NAMES = {"a0": "alpha0", "a1": "alpha1", "b1": "beta1"}  # of coordinates, in jax_models

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
    """Its data, as the Stan program takes them."""
    return json.loads((_FOLDER / name / "data.json").read_text())


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


def rename_as_in_stan(names: Sequence[str]) -> list[str]:
    """Coordinates of another front-end, ``tau_log__`` and ``eta[0]``, as Stan has them: ``tau`` and ``eta[1]``."""
    renamed = []
    for name in names:
        base, _, index = name.partition("[")
        for suffix in ("_log__", "_logodds__", "_ordered__"):
            base = base.removesuffix(suffix)
        base = _OTHER_NAMES.get(base, base).removeprefix("log_")
        renamed.append(f"{base}[{int(index[:-1]) + 1}]" if index else base)
    return renamed


def check_same_posterior(model: grhmc.LogDensity, name: str) -> None:
    """Fail unless the log density differs from the Stan program's by a constant and the gradients agree."""
    stan = grhmc.from_stan(PROGRAMS / f"{name}.stan", read_posterior_data(name))
    order = [rename_as_in_stan(model.coordinate_names).index(coordinate) for coordinate in stan.coordinate_names]
    rng = np.random.default_rng(1)
    differences, value = [], 0.0
    for _ in range(5):
        q = rng.normal(scale=0.5, size=model.dim)
        value, gradient, code = model.evaluate(q)
        value_of_stan, gradient_of_stan, code_of_stan = stan.evaluate(q[order])
        assert code == code_of_stan == 0
        np.testing.assert_allclose(gradient[order], gradient_of_stan, rtol=1e-8, atol=1e-8)
        differences.append(value - value_of_stan)
    assert np.ptp(differences) < 1e-8 * max(1.0, abs(value))


def with_variables(result: Any, variables: Callable[[Any], dict[str, np.ndarray]]) -> Any:
    """A result whose posterior holds functions of its draws."""
    posterior = result["posterior"].to_dataset()
    values = variables({str(name): array.to_numpy() for name, array in posterior.items()})
    data = {name: (["chain", "draw", *(f"{name}_{k}" for k in range(v.ndim - 2))], v) for name, v in values.items()}
    return {"posterior": xarray.DataTree(xarray.Dataset(data))}
