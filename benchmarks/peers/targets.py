"""The targets of the race: one compiled density, one Stan program, and what is known of the answer."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import simulated
from simulated_densities import banana_moments

import grhmc
from grhmc import datasets
from grhmc.models.analytic import AnalyticTarget, gaussian, independent_normals, logistic_regression, paper_target
from grhmc.models.log_density import LogDensity
from grhmc.models.trend_inflation import trend_inflation

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
POSTERIORS = REPOSITORY / "tests" / "data" / "posteriors"
POSTERIOR_PROGRAMS = REPOSITORY / "tests" / "front_ends" / "programs"
TRUTHS = (
    REPOSITORY / "tests" / "data" / "logistic_regression_references.csv",
    HERE / "truths" / "LR25.csv",
    HERE / "truths" / "eight_schools.csv",
    HERE / "truths" / "posteriors.csv",
    HERE / "truths" / "simulated.csv",
)

N_REFERENCE_DRAWS = 10_000  # of the published posteriors; for the standard errors of their sds


@dataclass(frozen=True)
class Truth:
    """Moments that an answer is held against; arrays of shape (n_parameters,). Errors are 0 where they are exact."""

    mean: np.ndarray
    sd: np.ndarray
    mean_error: np.ndarray
    sd_error: np.ndarray


@dataclass(frozen=True)
class Target:
    """One target of the race.

    Attributes
    ----------
    model : LogDensity
        The density that all samplers but Stan's call.
    program, data : str, mapping
        The same density as a Stan program.
    parameters : tuple of str
        What is compared, as "x[3]", counting from 1.
    truth : Truth
    """

    name: str
    model: LogDensity
    program: str
    data: Mapping[str, Any]
    parameters: tuple[str, ...]
    truth: Truth
    analytic: AnalyticTarget | None = None

    @property
    def dim(self) -> int:
        """Number of unconstrained coordinates."""
        return self.model.dim

    def select(self, draws: np.ndarray) -> np.ndarray:
        """Parameters of unconstrained draws: from (chains, n, dim) to (chains, n, len(parameters))."""
        chains, n, dim = draws.shape
        variables = self.model.constrain(np.ascontiguousarray(draws).reshape(chains * n, dim))
        columns = [_column(variables, name) for name in self.parameters]
        return np.stack(columns, axis=-1).reshape(chains, n, len(columns))


def _column(variables: Mapping[str, np.ndarray], parameter: str) -> np.ndarray:
    base, _, index = parameter.removesuffix("]").partition("[")
    if base not in variables:  # a scale, whose logarithm is the coordinate
        return np.exp(variables[f"log_{base}"])
    return variables[base][:, int(index) - 1] if index else variables[base]


def _stan_data_gaussian(target: AnalyticTarget) -> dict[str, Any]:
    mean, precision = target.parameters
    return {"d": target.dim, "m": mean, "precision": precision}


def _stan_data_normals(target: AnalyticTarget) -> dict[str, Any]:
    return {"d": target.dim, "m": target.mean, "s": target.sd}


def _stan_data_student(target: AnalyticTarget) -> dict[str, Any]:
    nu, mean, precision = target.parameters
    return {"d": target.dim, "nu": float(nu[0]), "m": mean, "precision": precision}


_STAN_DATA: dict[str, Callable[[AnalyticTarget], dict[str, Any]]] = {
    "gaussian": _stan_data_gaussian,
    "independent_normals": _stan_data_normals,
    "student_t": _stan_data_student,
    "smiley": lambda target: {},
    "bimodal": lambda target: {},
    "funnel": lambda target: {"omega": float(target.parameters[0][0])},
}


def _analytic(name: str, make: Callable[[], AnalyticTarget]) -> Target:
    target = make()
    family = target.density.__name__
    zero = np.zeros(target.dim)
    return Target(
        name=name,
        model=target.log_density(),
        program=(HERE / "programs" / f"{family}.stan").read_text(),
        data=_STAN_DATA[family](target),
        parameters=tuple(f"x[{j + 1}]" for j in range(target.dim)),
        truth=Truth(target.mean, target.sd, zero, zero),
        analytic=target,
    )


def _logistic(name: str, load: Callable[[], tuple[np.ndarray, np.ndarray]]) -> Target:
    rows, response = load()
    model = logistic_regression(rows, response)
    return Target(
        name=name,
        model=model,
        program=(HERE / "programs" / "logistic_regression.stan").read_text(),
        data={"n": len(rows), "d": rows.shape[1], "rows": rows, "y": response.astype(int), "prior_sd": 10.0},
        parameters=tuple(f"x[{j + 1}]" for j in range(rows.shape[1])),
        truth=_stored_or_unknown(name, rows.shape[1]),
    )


def _stored_truth(name: str) -> Truth | None:
    for path in TRUTHS:
        if path.is_file():
            with path.open() as file:
                rows = [row for row in csv.DictReader(file) if row["target"] == name]
            if rows:
                columns = ("mean", "sd", "mean_error", "sd_error")
                return Truth(*(np.array([float(row[column]) for row in rows]) for column in columns))
    return None


def _stored_or_unknown(name: str, n_parameters: int) -> Truth:
    return _stored_truth(name) or Truth(*[np.full(n_parameters, np.nan)] * 4)


def _data_set(load: Callable[[], datasets.BinaryRegressionData]) -> tuple[np.ndarray, np.ndarray]:
    data = load()
    return data.design_matrix, data.response


def synthetic_regression() -> tuple[np.ndarray, np.ndarray]:
    """A thousand rows, 25 columns: an intercept and 24 standard normal covariates; coefficients N(0, 0.5²)."""
    rng = np.random.default_rng(20250101)
    rows = np.column_stack([np.ones(1000), rng.standard_normal((1000, 24))])
    coefficients = 0.5 * rng.standard_normal(25)
    probability = 1.0 / (1.0 + np.exp(-rows @ coefficients))
    return rows, (rng.uniform(size=1000) < probability).astype(np.int64)


def published_truth(name: str) -> tuple[tuple[str, ...], Truth]:
    """Parameters and moments of a reference posterior, as published."""
    with (POSTERIORS / name / "reference.csv").open() as file:
        rows = list(csv.DictReader(file))
    mean, sd, error = (np.array([float(row[column]) for row in rows]) for column in ("mean", "sd", "mcse_mean"))
    return tuple(row["parameter"] for row in rows), Truth(mean, sd, error, sd / np.sqrt(2 * N_REFERENCE_DRAWS))


def _posterior(name: str) -> Target:
    program = (POSTERIOR_PROGRAMS / f"{name}.stan").read_text()
    data = json.loads((POSTERIORS / name / "data.json").read_text())
    parameters, published = published_truth(name)
    return Target(
        name=name,
        model=grhmc.from_stan(program, data, backend="stanli"),
        program=program,
        data=data,
        parameters=parameters,
        truth=_stored_truth(name) or published,
    )


def _simulated(name: str) -> Target:
    posterior = simulated.POSTERIORS[name]()
    parameters = tuple(
        f"{base}[{j + 1}]" if shape else base.removeprefix("log_")
        for base, shape in posterior.names.items()
        for j in range(int(np.prod(shape, dtype=int)))
    )
    nothing = np.zeros(posterior.dim)
    exact = Truth(*banana_moments(*posterior.arguments), nothing, nothing) if name == "banana" else None
    return Target(
        name=name,
        model=grhmc.from_numba(posterior.density, posterior.dim, posterior.names, data=posterior.arguments),
        program=(HERE / "programs" / f"{posterior.program}.stan").read_text(),
        data=posterior.data,
        parameters=parameters,
        truth=exact or _stored_or_unknown(name, posterior.dim),
    )


def _stan_posterior(name: str) -> Target:
    posterior, program = simulated.STAN_POSTERIORS[name](), (HERE / "programs" / f"{name}.stan").read_text()
    if posterior.sd:
        zero = np.zeros(len(posterior.sd))
        truth = Truth(zero, np.array(posterior.sd), zero, zero)
    else:
        truth = _stored_or_unknown(posterior.same_as or name, len(posterior.parameters))
    return Target(
        name=name,
        model=grhmc.from_stan(program, posterior.data, backend="stanli"),
        program=program,
        data=posterior.data,
        parameters=posterior.parameters,
        truth=truth,
    )


def _trend_inflation() -> Target:
    y = datasets.us_inflation()
    n = len(y)
    lengths = {"log_precision": 0, "trend_log_variance": n - 1, "log_variance": n, "trend": n}
    parameters = tuple(
        f"{name}[{t + 1}]" if length else name for name, length in lengths.items() for t in range(length or 1)
    )
    return Target(
        name="SW",
        model=trend_inflation(y),
        program=(POSTERIOR_PROGRAMS / "trend_inflation.stan").read_text(),
        data={"n": n, "y": y},
        parameters=parameters,
        truth=_stored_or_unknown("SW", len(parameters)),
    )


def _normal(name: str) -> AnalyticTarget:
    covariance = simulated.COVARIANCES[name]()
    return gaussian(np.zeros(len(covariance)), covariance, name)


_POSTERIORS = ("eight_schools", "kidscore_interaction", "arK", "garch11", "gauss_mix", "gp_poisson")
_PAPER = ("G1", "G2", "G3", "NG1", "NG2", "NG3", "F1", "F2")

TARGETS: MappingProxyType[str, Callable[[], Target]] = MappingProxyType(
    {
        **{name: partial(_posterior, name) for name in _POSTERIORS},
        **{name: partial(_analytic, name, partial(paper_target, name)) for name in _PAPER},
        "BLR1": partial(_logistic, "BLR1", partial(_data_set, datasets.pima)),
        "BLR2": partial(_logistic, "BLR2", partial(_data_set, datasets.german_credit)),
        "LR25": partial(_logistic, "LR25", synthetic_regression),
        "N10": partial(_analytic, "N10", lambda: independent_normals(np.ones(10))),
        "N100": partial(_analytic, "N100", lambda: independent_normals(np.ones(100))),
        "N1000": partial(_analytic, "N1000", lambda: independent_normals(np.ones(1000))),
        "N100_ill": partial(_analytic, "N100_ill", lambda: independent_normals(np.geomspace(1e-2, 1.0, 100))),
        **{name: partial(_analytic, name, partial(_normal, name)) for name in simulated.COVARIANCES},
        **{name: partial(_simulated, name) for name in simulated.POSTERIORS},
        **{name: partial(_stan_posterior, name) for name in simulated.STAN_POSTERIORS},
    }
)
"""Builders by name. N10 is also the paper's G4."""

ON_REQUEST: MappingProxyType[str, Callable[[], Target]] = MappingProxyType({"SW": _trend_inflation})
"""Too long for a race of every sampler; `benchmarks/trend_inflation` runs some of them."""

CORRELATED = (*simulated.COVARIANCES, *simulated.POSTERIORS)
HARD = tuple(simulated.STAN_POSTERIORS)
"""What came after the first 21, and has medians of its own."""


@cache
def make_target(name: str) -> Target:
    """Build a target, once per process."""
    return (TARGETS | ON_REQUEST)[name]()


def starting_points(target: Target, seed: int, chains: int) -> np.ndarray:
    """Uniform(-2, 2), drawn again where the density is not finite; the same for every sampler, (chains, dim)."""
    rng = np.random.default_rng([seed, *target.name.encode()])
    points: list[np.ndarray] = []
    while len(points) < chains:
        point = rng.uniform(-2.0, 2.0, target.dim)
        if target.model.evaluate(point)[2] == 0:
            points.append(point)
    return np.array(points)
