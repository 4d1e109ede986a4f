"""Targets whose moments are known exactly: for tests, the documentation, and the paper's tables.

`paper_target("G1")` and so on are the targets of Tran & Kleppe (2024), sections 4 and 5; the
builders make more of their kind. All values come from closed forms or from quadrature to machine
precision, none from sampling.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from grhmc.models import analytic_densities, analytic_distributions
from grhmc.models.analytic_distributions import Distribution
from grhmc.models.log_density import LogDensity
from grhmc.models.variables import Names, check_dim


@dataclass(frozen=True, eq=False)
class AnalyticTarget:
    """A target density with its exact moments.

    Attributes
    ----------
    name : str
    density : callable
        Its family in `analytic_densities`.
    parameters : tuple of ndarray
        The family's parameters.
    mean, sd : ndarray, shape (dim,)
        nan or inf where undefined or infinite.
    mean_square : ndarray, shape (dim,)
        E[q_j²].
    mean_squared_gradient : ndarray, shape (dim,)
        E[(∂ log π / ∂q_j)²]; for a Gaussian, the diagonal of its precision matrix. ISG's scale
        tends to its inverse square root.
    marginals : tuple of callable, length dim
        Each coordinate's cumulative distribution function, from and to arrays.
    finite_fourth_moments : bool
        False where averages of q_j² have no standard error.
    """

    name: str
    density: Callable[..., int]
    parameters: tuple[np.ndarray, ...]
    mean: np.ndarray
    sd: np.ndarray
    mean_square: np.ndarray
    mean_squared_gradient: np.ndarray
    marginals: tuple[Distribution, ...]
    finite_fourth_moments: bool = True

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return len(self.mean)

    def log_density(self) -> LogDensity:
        """Make the model: one variable ``x`` of shape (dim,)."""
        return analytic_densities.analytic_density(self.density, self.dim, self.parameters)


def gaussian(mean: Any, covariance: Any, name: str = "gaussian") -> AnalyticTarget:
    """Multivariate normal.

    Parameters
    ----------
    mean : array_like, shape (dim,)
    covariance : array_like, shape (dim, dim)
        Symmetric and positive definite.

    Raises
    ------
    ValueError
        If the shapes do not fit, or `covariance` is not symmetric and positive definite.
    """
    mean, covariance = _location_and_scale(mean, covariance, "covariance")
    precision = _inverse(covariance, "covariance")
    sd = np.sqrt(np.diag(covariance))
    return AnalyticTarget(
        name=name,
        density=analytic_densities.gaussian,
        parameters=(mean, precision),
        mean=mean,
        sd=sd,
        mean_square=mean**2 + sd**2,
        mean_squared_gradient=np.diag(precision).copy(),
        marginals=_normal_marginals(mean, sd),
    )


def independent_normals(sd: Any, mean: Any = 0.0, name: str = "normals") -> AnalyticTarget:
    """Independent normals.

    Parameters
    ----------
    sd : array_like, shape (dim,)
        Positive.
    mean : array_like, shape (dim,) or a number

    Raises
    ------
    ValueError
        If `sd` is not a vector of positive numbers, or `mean` does not fit it.
    """
    sd = np.array(sd, dtype=np.float64)
    if sd.ndim != 1 or sd.size == 0 or not np.all((sd > 0) & np.isfinite(sd)):
        raise ValueError(f"sd must be a vector of positive numbers, got {sd!r}")
    mean = np.broadcast_to(np.asarray(mean, dtype=np.float64), sd.shape).copy()
    return AnalyticTarget(
        name=name,
        density=analytic_densities.independent_normals,
        parameters=(mean, sd**-2),
        mean=mean,
        sd=sd,
        mean_square=mean**2 + sd**2,
        mean_squared_gradient=sd**-2,
        marginals=_normal_marginals(mean, sd),
    )


def student_t(degrees_of_freedom: float, mean: Any, scale_matrix: Any, name: str = "student_t") -> AnalyticTarget:
    """Multivariate Student t.

    Parameters
    ----------
    degrees_of_freedom : float
        ν > 0. The mean is defined for ν > 1, the variance ν / (ν − 2) Σ for ν > 2.
    mean : array_like, shape (dim,)
        Location.
    scale_matrix : array_like, shape (dim, dim)
        Σ, symmetric and positive definite.

    Raises
    ------
    ValueError
        If ν is not positive, the shapes do not fit, or Σ is not symmetric and positive definite.
    """
    nu = float(degrees_of_freedom)
    if not 0 < nu < math.inf:
        raise ValueError(f"degrees_of_freedom must be positive, got {degrees_of_freedom!r}")
    location, scale_matrix = _location_and_scale(mean, scale_matrix, "scale_matrix")
    precision = _inverse(scale_matrix, "scale_matrix")
    dim = len(location)
    scale = np.sqrt(np.diag(scale_matrix))
    sd = scale * (math.sqrt(nu / (nu - 2)) if nu > 2 else math.inf if nu > 1 else math.nan)
    expectation = location if nu > 1 else np.full(dim, np.nan)
    return AnalyticTarget(
        name=name,
        density=analytic_densities.student_t,
        parameters=(np.array([nu]), location, precision),
        mean=expectation,
        sd=sd,
        mean_square=expectation**2 + sd**2,
        mean_squared_gradient=(nu + dim) / (nu + dim + 2) * np.diag(precision),
        marginals=tuple(
            functools.partial(analytic_distributions.student_t_cdf, nu, m, s)
            for m, s in zip(location, scale, strict=True)
        ),
        finite_fourth_moments=nu > 4,
    )


def smiley(name: str = "smiley") -> AnalyticTarget:
    """q1 ~ N(0, 1), q2 | q1 ~ N(q1², 1): the paper's NG2."""
    first, weights = analytic_distributions.standard_normal_nodes()
    return AnalyticTarget(
        name=name,
        density=analytic_densities.smiley,
        parameters=(),
        mean=np.array([0.0, 1.0]),
        sd=np.array([1.0, math.sqrt(3.0)]),
        mean_square=np.array([1.0, 4.0]),
        mean_squared_gradient=np.array([5.0, 1.0]),
        marginals=(
            functools.partial(analytic_distributions.normal_cdf, 0.0, 1.0),
            functools.partial(analytic_distributions.normal_mixture_cdf, weights, first**2, np.ones_like(first)),
        ),
    )


def bimodal(name: str = "bimodal") -> AnalyticTarget:
    """q1 with density ∝ exp(−(1 − q1²)²), q2 | q1 ~ N(q1, 1): the paper's NG3."""
    first, weights = analytic_distributions.double_well_nodes()
    second_moment = float(weights @ first**2)
    force_square = float(weights @ (4 * first * (1 - first**2)) ** 2)
    square = np.array([second_moment, second_moment + 1])
    return AnalyticTarget(
        name=name,
        density=analytic_densities.bimodal,
        parameters=(),
        mean=np.zeros(2),
        sd=np.sqrt(square),
        mean_square=square,
        mean_squared_gradient=np.array([force_square + 1, 1.0]),
        marginals=(
            analytic_distributions.double_well_cdf,
            functools.partial(analytic_distributions.normal_mixture_cdf, weights, first, np.ones_like(first)),
        ),
    )


def funnel(omega: float, name: str = "funnel") -> AnalyticTarget:
    """q1 ~ N(0, 1), q2 | q1 ~ N(0, exp(ω q1)), a variance: F1 and F2 with ω = 1.5 and 2.

    All moments exist, but those of q2 are dominated by rare excursions: E[q2⁴] = 3 exp(2 ω²).

    Parameters
    ----------
    omega : float
        ω, finite.
    """
    omega = float(omega)
    if not math.isfinite(omega):
        raise ValueError(f"omega must be finite, got {omega!r}")
    first, weights = analytic_distributions.standard_normal_nodes()
    mean_precision = math.exp(omega**2 / 2)  # of q2 | q1, and by symmetry the mean variance
    return AnalyticTarget(
        name=name,
        density=analytic_densities.funnel,
        parameters=(np.array([omega]),),
        mean=np.zeros(2),
        sd=np.array([1.0, math.sqrt(mean_precision)]),
        mean_square=np.array([1.0, mean_precision]),
        mean_squared_gradient=np.array([1 + omega**2 / 2, mean_precision]),
        marginals=(
            functools.partial(analytic_distributions.normal_cdf, 0.0, 1.0),
            functools.partial(
                analytic_distributions.normal_mixture_cdf,
                weights,
                np.zeros_like(first),
                np.exp(omega * first / 2),
            ),
        ),
    )


def logistic_regression(
    design_matrix: Any, response: Any, prior_variance: float = 100.0, names: Names = None
) -> LogDensity:
    """Bayesian logistic regression: P(y_i = 1) = 1 / (1 + exp(−x_i·β)), β ~ N(0, prior_variance I).

    With the Pima and German credit data of `grhmc.datasets`: the paper's BLR1 and BLR2. It has no
    exact moments, so this is a plain model.

    Parameters
    ----------
    design_matrix : array_like, shape (n, dim)
        Rows x_i; put a column of ones for an intercept.
    response : array_like, shape (n,)
        0 or 1.
    prior_variance : float, optional
        Positive.
    names : sequence of str, or mapping of str to shape, optional
        Names of the coefficients, as in `from_numba`.

    Raises
    ------
    ValueError
        If shapes or values are not as described.
    """
    rows = np.asarray(design_matrix, dtype=np.float64)
    labels = np.asarray(response)
    if rows.ndim != 2 or not np.all(np.isfinite(rows)):
        raise ValueError(f"design_matrix must be a matrix of finite numbers, got shape {rows.shape}")
    if labels.shape != rows.shape[:1] or not np.all((labels == 0) | (labels == 1)):
        raise ValueError(
            f"response must be a vector of {len(rows)} zeros and ones, one per row of "
            "design_matrix; "
            f"got shape {labels.shape} with values {np.unique(labels)[:5]}"
        )
    if not 0 < prior_variance < math.inf:
        raise ValueError(f"prior_variance must be positive, got {prior_variance!r}")
    signed_rows = np.where(labels == 1, 1.0, -1.0)[:, np.newaxis] * rows
    return analytic_densities.analytic_density(
        analytic_densities.logistic_regression,
        check_dim(rows.shape[1]),
        (
            np.array([len(rows), prior_variance]),
            analytic_densities.logistic_table(signed_rows),
        ),
        names,
    )


PAPER_TARGETS: MappingProxyType[str, Callable[[], AnalyticTarget]] = MappingProxyType(
    {
        "G1": lambda: gaussian([1, 2], [[4, 0.5], [0.5, 9]], "G1"),
        "G2": lambda: gaussian([0, 0], [[10, 5], [5, 1000]], "G2"),
        "G3": lambda: gaussian([0, 0], [[1, 0.95], [0.95, 1]], "G3"),
        "G4": lambda: independent_normals(np.ones(10), name="G4"),
        "NG1": lambda: student_t(4, [1, 2], [[4, 2], [2, 9]], "NG1"),
        "NG2": lambda: smiley("NG2"),
        "NG3": lambda: bimodal("NG3"),
        "F1": lambda: funnel(1.5, "F1"),
        "F2": lambda: funnel(2.0, "F2"),
    }
)
"""Builders of the paper's targets with exact moments, by name."""


def paper_target(name: str) -> AnalyticTarget:
    """Make one of the paper's targets.

    Parameters
    ----------
    name : {"G1", "G2", "G3", "G4", "NG1", "NG2", "NG3", "F1", "F2"}

    Raises
    ------
    ValueError
        If there is no such target.

    References
    ----------
    Tran & Kleppe (2024), tables 1 to 3.
    """
    if name not in PAPER_TARGETS:
        raise ValueError(f"name must be one of {', '.join(PAPER_TARGETS)}, got {name!r}")
    return PAPER_TARGETS[name]()


def _normal_marginals(mean: np.ndarray, sd: np.ndarray) -> tuple[Distribution, ...]:
    return tuple(functools.partial(analytic_distributions.normal_cdf, m, s) for m, s in zip(mean, sd, strict=True))


def _location_and_scale(mean: Any, matrix: Any, argument: str) -> tuple[np.ndarray, np.ndarray]:
    mean = np.array(mean, dtype=np.float64)
    matrix = np.array(matrix, dtype=np.float64)
    if mean.ndim != 1 or mean.size == 0:
        raise ValueError(f"mean must be a vector, got shape {mean.shape}")
    if matrix.shape != (mean.size, mean.size):
        raise ValueError(f"{argument} must have shape {(mean.size, mean.size)} to fit the mean, got {matrix.shape}")
    return mean, matrix


def _inverse(matrix: np.ndarray, argument: str) -> np.ndarray:
    try:
        np.linalg.cholesky(matrix)
        positive = bool(np.ptp(matrix - matrix.T) <= 1e-12 * np.max(np.abs(matrix)))
    except np.linalg.LinAlgError:
        positive = False
    if not positive:
        raise ValueError(f"{argument} must be symmetric and positive definite, got {matrix!r}")
    inverse = np.linalg.inv(matrix)
    return (inverse + inverse.T) / 2
