"""The race's simulated posteriors: data by fixed seeds, made to look like well-known examples, and their densities.

Regressions whose predictors are not centred, latent values with a smooth prior, and hierarchical models of radon in
houses: what a diagonal scale cannot straighten, beside some that it can.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import simulated_densities

BANANA_SD, BANANA_BEND = 3.0, 0.3
N_COUNTIES, N_HOUSES = 85, 919
EIGHT_SCHOOLS = Path(__file__).parents[2] / "tests" / "data" / "posteriors" / "eight_schools" / "data.json"


@dataclass(frozen=True)
class Posterior:
    """A density for `grhmc.from_numba` and the Stan program and data of the same.

    Attributes
    ----------
    density : callable
        Of `simulated_densities`.
    names : mapping
        Shapes of the coordinates by name; the Stan program's parameters.
    arguments : tuple
        Of the density, after q and grad.
    program : str
        A file of `programs/`, without its suffix.
    data : mapping
        Of the Stan program.
    """

    density: Callable[..., float]
    names: Mapping[str, tuple[int, ...]]
    arguments: tuple[Any, ...]
    program: str
    data: Mapping[str, Any]

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return sum(int(np.prod(shape, dtype=int)) for shape in self.names.values())


@dataclass(frozen=True)
class Regression:
    """y ~ N(rows·beta, sigma²) with normal priors on beta (precision 0: flat) and sigma half-Cauchy (scale 0: flat)."""

    rows: np.ndarray
    y: np.ndarray
    prior_mean: np.ndarray
    prior_precision: np.ndarray
    cauchy_scale: float = 0.0

    def posterior(self) -> Posterior:
        """As a density and a Stan program."""
        n, k = self.rows.shape
        data = {
            "n": n,
            "k": k,
            "rows": self.rows,
            "y": self.y,
            "prior_mean": self.prior_mean,
            "prior_precision": self.prior_precision,
            "cauchy_scale": self.cauchy_scale,
        }
        arguments = (self.rows, self.y, self.prior_mean, self.prior_precision, self.cauchy_scale)
        names = {"beta": (k,), "log_sigma": ()}
        return Posterior(simulated_densities.linear_regression, names, arguments, "linear_regression", data)


def _flat(rows: np.ndarray, y: np.ndarray, cauchy_scale: float = 0.0) -> Regression:
    nothing = np.zeros(rows.shape[1])
    return Regression(rows, y, nothing, nothing, cauchy_scale)


def kilpisjarvi() -> Regression:
    """A linear trend of summer temperatures over the years 1952 to 2013, as numbers."""
    rng = np.random.default_rng(20260101)
    year = np.arange(1952.0, 2014.0)
    y = 9.3 + 0.02 * (year - year.mean()) + 1.1 * rng.standard_normal(year.size)
    rows = np.column_stack([np.ones(year.size), year])
    return Regression(rows, y, np.array([9.3, 0.0]), np.array([100.0, 0.0333]) ** -2)


def log_earnings() -> Regression:
    """Logarithm of earnings on that of the height in inches and on being male."""
    rng = np.random.default_rng(20260102)
    n = 1192
    male = (rng.uniform(size=n) < 0.38).astype(float)
    log_height = np.log(64.5 + 5.5 * male + 2.7 * rng.standard_normal(n))
    y = 4.0 + 1.3 * log_height + 0.4 * male + 0.88 * rng.standard_normal(n)
    return _flat(np.column_stack([np.ones(n), log_height, male]), y)


def kidscore() -> Regression:
    """Children's test scores on the mother's IQ, her high school, and their product."""
    rng = np.random.default_rng(20260103)
    n = 434
    high_school = (rng.uniform(size=n) < 0.79).astype(float)
    iq = 92.0 + 10.0 * high_school + 14.5 * rng.standard_normal(n)
    y = -11.0 + 51.0 * high_school + 1.0 * iq - 0.48 * high_school * iq + 18.0 * rng.standard_normal(n)
    return _flat(np.column_stack([np.ones(n), high_school, iq, high_school * iq]), y, cauchy_scale=2.5)


def three_way() -> Regression:
    """Three predictors of mean 3, 4 and 5 with all their products: eight coefficients."""
    rng = np.random.default_rng(20260104)
    n = 300
    a, b, c = np.array([3.0, 4.0, 5.0])[:, None] + rng.standard_normal((3, n))
    rows = np.column_stack([np.ones(n), a, b, c, a * b, a * c, b * c, a * b * c])
    y = rows @ np.array([1.0, 0.5, -0.5, 0.3, 0.2, -0.1, 0.1, 0.05]) + rng.standard_normal(n)
    return Regression(rows, y, np.zeros(8), np.full(8, 0.01), cauchy_scale=2.5)


REGRESSIONS: MappingProxyType[str, Callable[[], Regression]] = MappingProxyType(
    {
        "kilpisjarvi_like": kilpisjarvi,
        "log_earnings_like": log_earnings,
        "kidscore_like": kidscore,
        "three_way": three_way,
    }
)


def latent_gp() -> Posterior:
    """Counts at 50 places with a smooth log rate: squared exponential of length 0.1 over [0, 1], and some noise."""
    rng = np.random.default_rng(20260105)
    n, log_mean = 50, 1.5
    place = np.linspace(0.0, 1.0, n)
    covariance = np.exp(-0.5 * ((place[:, None] - place) / 0.1) ** 2) + 1e-2 * np.eye(n)
    values = np.linalg.cholesky(covariance) @ rng.standard_normal(n)
    counts = rng.poisson(np.exp(log_mean + values))
    precision = np.linalg.inv(covariance)
    precision = (precision + precision.T) / 2
    data = {"n": n, "precision": precision, "counts": counts, "log_mean": log_mean}
    arguments = (precision, counts.astype(float), log_mean)
    return Posterior(simulated_densities.latent_poisson, {"f": (n,)}, arguments, "latent_poisson", data)


def _houses(seed: int) -> tuple[np.random.Generator, np.ndarray, np.ndarray]:
    """A county of each house, very unequal in number, at least one; and whether it was measured on the first floor."""
    rng = np.random.default_rng(seed)
    weights = np.exp(1.1 * rng.standard_normal(N_COUNTIES))
    others = rng.choice(N_COUNTIES, size=N_HOUSES - N_COUNTIES, p=weights / weights.sum())
    county = np.sort(np.concatenate([np.arange(N_COUNTIES), others]))
    return rng, county, (rng.uniform(size=N_HOUSES) < 0.17).astype(float)


def varying_intercepts() -> Posterior:
    """Radon in 919 houses of 85 counties: 90 coordinates."""
    rng, county, floor = _houses(20260106)
    uranium = 0.4 * rng.standard_normal(N_COUNTIES)
    level = 1.45 + 0.7 * uranium + 0.16 * rng.standard_normal(N_COUNTIES)
    y = level[county] - 0.65 * floor + 0.76 * rng.standard_normal(N_HOUSES)
    names = {"mu": (), "beta": (), "gamma": (), "log_s_a": (), "log_s_y": (), "z": (N_COUNTIES,)}
    data = {"n": N_HOUSES, "n_groups": N_COUNTIES, "g": county + 1, "x": floor, "u": uranium, "y": y}
    arguments = (county, floor, uranium, y)
    return Posterior(simulated_densities.varying_intercepts, names, arguments, "varying_intercepts", data)


def varying_slopes() -> Posterior:
    """The same with the floor's effect varying, too: 175 coordinates."""
    rng, county, floor = _houses(20260107)
    level = 1.45 + 0.33 * rng.standard_normal(N_COUNTIES)
    effect = -0.65 + 0.3 * rng.standard_normal(N_COUNTIES)
    y = level[county] + effect[county] * floor + 0.75 * rng.standard_normal(N_HOUSES)
    names = {"mu_a": (), "mu_b": (), "log_s_a": (), "log_s_b": (), "log_s_y": ()}
    names |= {"z_a": (N_COUNTIES,), "z_b": (N_COUNTIES,)}
    data = {"n": N_HOUSES, "n_groups": N_COUNTIES, "g": county + 1, "x": floor, "y": y}
    return Posterior(simulated_densities.varying_slopes, names, (county, floor, y), "varying_slopes", data)


def banana() -> Posterior:
    """A normal three times as long as wide, bent into a parabola."""
    data = {"s": BANANA_SD, "bend": BANANA_BEND}
    return Posterior(simulated_densities.banana, {"x": (2,)}, (BANANA_SD, BANANA_BEND), "banana", data)


@dataclass(frozen=True)
class StanPosterior:
    """A posterior that is a Stan program alone, of `programs/`.

    Attributes
    ----------
    data : mapping
        Of the program.
    parameters : tuple of str
        What is compared, as "x[3]", counting from 1.
    sd : tuple of float
        Of the parameters, if they are known exactly; all means are 0 then.
    same_as : str
        The target whose moments are the same, of the same parameters in the same order, if there is one.
    """

    data: Mapping[str, Any]
    parameters: tuple[str, ...]
    sd: tuple[float, ...] = ()
    same_as: str = ""


def eight_schools_centred() -> StanPosterior:
    """The eight schools with their effects as coordinates: a funnel, whose neck is where tau is small."""
    parameters = (*(f"theta[{j + 1}]" for j in range(8)), "mu", "tau")
    return StanPosterior(json.loads(EIGHT_SCHOOLS.read_text()), parameters, same_as="eight_schools")


def hidden_markov() -> StanPosterior:
    """Two states 2.7 sd apart that are left once in seven times, 200 observations, states summed out."""
    rng = np.random.default_rng(20260109)
    state = np.cumsum(rng.uniform(size=200) < 0.15) % 2
    y = 2.7 * state + rng.standard_normal(200)
    return StanPosterior({"n": 200, "y": y}, ("low", "gap", "logit_stay[1]", "logit_stay[2]"))


def funnel_of_ten() -> StanPosterior:
    """A mild funnel: nine values of sd exp(v / 2), where v ~ N(0, 1)."""
    return StanPosterior({"n": 9}, ("v", *(f"x[{j + 1}]" for j in range(9))), sd=(1.0, *[float(np.exp(0.25))] * 9))


STAN_POSTERIORS: MappingProxyType[str, Callable[[], StanPosterior]] = MappingProxyType(
    {
        "eight_schools_centred": eight_schools_centred,
        "hidden_markov": hidden_markov,
        "funnel_of_ten": funnel_of_ten,
    }
)
"""What was still hard for the default settings, beside the banana."""

POSTERIORS: MappingProxyType[str, Callable[[], Posterior]] = MappingProxyType(
    {
        **{name: partial(lambda make: make().posterior(), make) for name, make in REGRESSIONS.items()},
        "latent_gp": latent_gp,
        "varying_intercepts": varying_intercepts,
        "varying_slopes": varying_slopes,
        "banana": banana,
    }
)
"""All but `banana` have moments in `truths/`, which `truths/make_simulated.py` makes."""


def rotated_covariance(dim: int = 50, condition: float = 1e4) -> np.ndarray:
    """Eigenvalues from 1 / condition to 1, evenly spaced in their logarithms, along random directions."""
    rng = np.random.default_rng(20260108)
    directions = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    covariance = (directions * np.geomspace(1.0 / condition, 1.0, dim)) @ directions.T
    return (covariance + covariance.T) / 2


def equicorrelated_covariance(correlation: float, dim: int = 50) -> np.ndarray:
    """Unit variances, and the same correlation between all."""
    return (1.0 - correlation) * np.eye(dim) + correlation


def autoregressive_covariance(coefficient: float = 0.95, dim: int = 100) -> np.ndarray:
    """Of a stationary first-order autoregression with unit variance."""
    steps = np.arange(dim)
    return coefficient ** np.abs(steps[:, None] - steps).astype(float)


COVARIANCES: MappingProxyType[str, Callable[[], np.ndarray]] = MappingProxyType(
    {
        "rotated": rotated_covariance,
        "equicorrelated_0.9": partial(equicorrelated_covariance, 0.9),
        "equicorrelated_0.999": partial(equicorrelated_covariance, 0.999),
        "autoregressive": autoregressive_covariance,
    }
)
"""Of normals with mean zero."""
