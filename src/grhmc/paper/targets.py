"""The paper's eleven targets, and a twelfth from its programs.

Of each: where it is reported, what is known of it exactly, and how closely an ESS must agree.

To add a target, add an entry to `TARGETS`; without published rows it is run and reported without a verdict.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from grhmc import datasets
from grhmc.models.analytic import AnalyticTarget, logistic_regression, paper_target
from grhmc.models.log_density import LogDensity
from grhmc.models.trend_inflation import trend_inflation


@dataclass(frozen=True)
class Target:
    """One target of the paper.

    Attributes
    ----------
    name : str
    table : int
        Of the paper; 5 for what is in none of its tables.
    dim : int
    description : str
    make : callable
        Gives the model.
    exact : callable or None
        Gives the exact moments, where there are closed forms.
    reports_extremes : bool
        Only the coordinates with the smallest and the largest ESS are published.
    ess_tolerance : float or None
        Relative difference up to which an ESS agrees with the published one; None: no verdict, because the moments
        behind an ESS hardly exist.
    on_request : bool
        It is run only if it, or its table, is named.
    """

    name: str
    table: int
    dim: int
    description: str
    make: Callable[[], LogDensity]
    exact: Callable[[], AnalyticTarget] | None
    reports_extremes: bool = False
    ess_tolerance: float | None = 0.15
    on_request: bool = False


def _analytic(
    name: str, table: int, dim: int, description: str, *, extremes: bool = False, ess_tolerance: float | None = 0.15
) -> Target:
    exact = partial(paper_target, name)
    return Target(name, table, dim, description, lambda: exact().log_density(), exact, extremes, ess_tolerance)


def _logistic(name: str, dim: int, description: str, load: Callable[[], datasets.BinaryRegressionData]) -> Target:
    def make() -> LogDensity:
        data = load()
        return logistic_regression(data.design_matrix, data.response, names=data.names)

    return Target(name, 4, dim, description, make, None, reports_extremes=True)


TARGETS = MappingProxyType(
    {
        target.name: target
        for target in (
            _analytic("G1", 1, 2, "N((1, 2), [[4, 0.5], [0.5, 9]])"),
            _analytic("G2", 1, 2, "N(0, [[10, 5], [5, 1000]])"),
            _analytic("G3", 1, 2, "N(0, [[1, 0.95], [0.95, 1]])"),
            _analytic("G4", 1, 10, "N(0, I) in ten dimensions", extremes=True),
            _analytic("NG1", 2, 2, "Student t, four degrees of freedom"),
            _analytic("NG2", 2, 2, "smiley: q2 | q1 ~ N(q1², 1)", ess_tolerance=0.3),
            _analytic("NG3", 2, 2, "bimodal: −(1 − q1²)² − (q2 − q1)²/2", ess_tolerance=0.3),
            _analytic("F1", 3, 2, "funnel: q2 | q1 ~ N(0, exp(1.5 q1))", ess_tolerance=0.3),
            _analytic("F2", 3, 2, "funnel: q2 | q1 ~ N(0, exp(2 q1))", ess_tolerance=None),
            _logistic("BLR1", 8, "logistic regression, Pima diabetes data", datasets.pima),
            _logistic("BLR2", 25, "logistic regression, German credit data", datasets.german_credit),
            Target(
                "SW",
                5,
                756,
                "trend inflation with stochastic volatility, US data",
                lambda: trend_inflation(datasets.us_inflation()),
                None,
                reports_extremes=True,
                on_request=True,
            ),
        )
    }
)
"""By name, in the order of the paper's tables."""
