"""Compare draws with exact expectations, in Monte Carlo standard errors: what every statistical test goes through.

A discrepancy counts when it is larger than `LIMIT` = 4 standard errors **twice**: in a first run, and again, with the
same sign, in a second one that is independent of it and four times as long. Thousands of comparisons are made in these
tests, so that single values beyond 4 are bound to occur by chance (6e-5 each); two in a row are not (1e-9 each). A
bias does not escape: in the second run it is twice as many standard errors as in the first.

Standard errors are those of arviz-stats, with two limits.
- From below `SMALLEST_STANDARD_ERROR`: the default tolerances leave the continuous process a bias of 0.01, and of 0.02
  where paths are not tested, which a run long enough would find. These tests ask that none of 0.03 is left. The nightly
  ones do without this limit, at tighter tolerances.
- From above: a check fails if a standard error is so large that it could not see a bias of a few hundredths of a
  standard deviation. A chain that hardly moves must not pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from arviz_stats.base import array_stats

LIMIT = 4.0
"""Standard errors."""

SMALLEST_STANDARD_ERROR = 0.0075
"""In standard deviations: four of these are 0.03. That of 18 000 independent draws."""

LARGEST_STANDARD_ERROR = 0.02
"""In standard deviations: four of these are 0.08."""

CONFIRMATION_FACTOR = 4
"""How much longer the second run is."""


class Expectation(NamedTuple):
    """The exact mean of a function of the state.

    Attributes
    ----------
    name : str
    function : callable
        From positions, shape (chains, draws, dim), to values, shape (chains, draws).
    exact : float
    uncertainty : float
        Standard error of `exact` where it is itself an estimate.
    """

    name: str
    function: Callable[[np.ndarray], np.ndarray]
    exact: float
    uncertainty: float = 0.0


class Comparison(NamedTuple):
    """An estimate beside the exact value."""

    name: str
    estimate: float
    exact: float
    standard_error: float
    sd: float

    @property
    def bias(self) -> float:
        """The discrepancy in standard deviations."""
        return (self.estimate - self.exact) / self.sd

    @property
    def relative_error(self) -> float:
        """The standard error in standard deviations."""
        return self.standard_error / self.sd

    def z(self, smallest_standard_error: float = 0.0) -> float:
        """The discrepancy in standard errors, or in `smallest_standard_error` standard deviations if that is more."""
        return self.bias / max(self.relative_error, smallest_standard_error)

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.estimate:.6g} instead of {self.exact:.6g}, z = {self.z():+.1f}, "
            f"bias {self.bias:+.4f} sd, standard error {self.relative_error:.4f} sd"
        )


def compare(positions: np.ndarray, expectations: Iterable[Expectation]) -> list[Comparison]:
    """Estimate every expectation from draws of shape (chains, draws, dim)."""
    return [compare_values(item.name, item.function(positions), item.exact, item.uncertainty) for item in expectations]


def compare_values(name: str, values: np.ndarray, exact: float, uncertainty: float = 0.0) -> Comparison:
    """Compare the mean of values of shape (chains, draws) with its exact value."""
    values = np.asarray(values, dtype=np.float64)
    standard_error = np.asarray(array_stats.mcse(values, method="mean")).item()
    return Comparison(
        name, float(values.mean()), exact, float(np.hypot(standard_error, uncertainty)), float(values.std())
    )


def assert_expectations(
    run: Callable[[int, int], Any],
    compare_run: Callable[[Any], Sequence[Comparison]],
    *,
    draws: int,
    seed: int = 1,
    smallest_standard_error: float = SMALLEST_STANDARD_ERROR,
    largest_standard_error: float = LARGEST_STANDARD_ERROR,
) -> None:
    """Fail if an expectation is wrong by more than `LIMIT` standard errors in two independent runs.

    Parameters
    ----------
    run : callable
        ``run(draws, seed)`` samples.
    compare_run : callable
        From what `run` returns to comparisons, always the same ones.
    draws : int
        Per chain, in the first run.
    smallest_standard_error, largest_standard_error : float
        In standard deviations of each function. The smallest one is halved for the second run.
    """
    first = compare_run(run(draws, seed))
    constant = [item.name for item in first if not item.sd > 0.0]
    if constant:
        raise AssertionError(f"nothing moves in {constant}")
    blunt = [item for item in first if not item.relative_error <= largest_standard_error]
    if blunt:
        raise AssertionError("too few effective draws to tell:\n" + "\n".join(map(str, blunt)))
    suspects = {item.name: item for item in first if abs(item.z(smallest_standard_error)) > LIMIT}
    if not suspects:
        return
    smallest_standard_error /= np.sqrt(CONFIRMATION_FACTOR)
    wrong = []
    for again in compare_run(run(CONFIRMATION_FACTOR * draws, seed + 1_000_000)):
        suspect = suspects.get(again.name)
        if suspect is not None and again.z(smallest_standard_error) * np.sign(suspect.bias) > LIMIT:
            wrong.append(f"{suspect}\n    and again: {again}")
    if wrong:
        raise AssertionError(f"wrong by more than {LIMIT:g} standard errors, twice:\n" + "\n".join(wrong))
