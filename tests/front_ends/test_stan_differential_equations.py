"""Differential equations in Stan from uniform(-2, 2): from most starts a solution misses all data; chains get stuck.

Chain by chain, means are those of a reference: for hares and lynxes the posterior of the case study of Carpenter
(2018), "Predator-Prey Population Dynamics: the Lotka-Volterra model in Stan", for the others that of Stan's NUTS from
starts at the parameters that made the data.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest

import grhmc

pytest.importorskip("stanli", reason="needs stanli, which runs Stan programs: pip install 'grhmc[stan]'")

from reference_posteriors import PROGRAMS

LARGEST_DEVIATION = 0.6
"""Standard deviations, of a chain's mean: of 250 effective draws ten standard errors, and the rounding of the table."""

pytestmark = [pytest.mark.statistical, pytest.mark.nightly]


class Problem(NamedTuple):
    """A program, its data, and posterior means and sds.

    Attributes
    ----------
    settings : dict
        Of `sample`: fewer draws where a gradient takes long.
    """

    program: str
    data: dict[str, Any]
    means: dict[str, list[float]]
    sds: dict[str, list[float]]
    settings: dict[str, Any]


# Thousands of pelts, 1900 to 1920, of the Hudson's Bay Company (Howard 2009).
HARES = [30, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22, 25.4, 27.1, 40.3, 57, 76.6, 52.3, 19.5, 11.2, 7.6, 14.6]
HARES += [16.2, 24.7]
LYNXES = [4, 6.1, 9.8, 35.2, 59.4, 41.7, 19, 13, 8.3, 9.1, 7.4, 8, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1, 8.6]


def hares_and_lynxes(share_of_lynxes: float = 1.0) -> Problem:
    pelts = np.column_stack([HARES, share_of_lynxes * np.array(LYNXES)])
    return Problem(
        "lotka_volterra",
        {"n": 20, "years": np.arange(1.0, 21.0), "first": pelts[0], "pelts": pelts[1:]},
        {"theta": [0.55, 0.028, 0.80, 0.024], "z_init": [33.9, 5.95], "sigma": [0.25, 0.25]},
        {"theta": [0.064, 0.004, 0.09, 0.0036], "z_init": [2.9, 0.53], "sigma": [0.045, 0.045]},
        # The solver's noise is larger than differences allow.
        {"check_gradient": False},
    )


def one_compartment() -> Problem:
    """Made with absorption 1.2, half 0.5, fastest 1 and sigma 0.15.

    Late and far out the concentration is smaller than the solver's errors: its logarithm exists here and there only.
    """
    times = [0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0]
    concentrations = [1.231, 2.194, 2.905, 2.481, 3.392, 2.602, 1.59, 1.117, 0.475, 0.021]
    return Problem(
        "one_compartment",
        {"n": 10, "times": times, "dose": 5.0, "y": concentrations},
        {"absorption": [1.287], "half": [0.489], "fastest": [0.985], "sigma": [0.134]},
        {"absorption": [0.129], "half": [0.071], "fastest": [0.049], "sigma": [0.045]},
        {},
    )


def robertson() -> Problem:
    """Made with Robertson's rates, 0.04, 3e7 and 1e4, and sigma 0.03."""
    times = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 1e4]
    first = [0.974, 0.974, 0.968, 0.898, 0.842, 0.783, 0.536, 0.481, 0.343, 0.275, 0.096]
    second = [0.353, 0.363, 0.299, 0.236, 0.154, 0.134, 0.005, 0.024, 0.027, -0.023, 0.066]
    return Problem(
        "robertson",
        {"n": 11, "times": times, "y": np.column_stack([first, second])},
        {"log_rates": [-3.081, 17.319, 9.410], "sigma": [0.0362]},
        {"log_rates": [0.255, 0.190, 0.351], "sigma": [0.0058]},
        {"draws": 300, "tune": 500},
    )


def chains_that_are_off(problem: Problem, seed: int) -> list[int]:
    """Chains with a mean far from the reference."""
    model = grhmc.from_stan(PROGRAMS / f"{problem.program}.stan", problem.data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        result = grhmc.sample(model, seed=seed, progress_bar=False, **problem.settings)
    off: set[int] = set()
    for name, means in problem.means.items():
        chain_means = result["posterior"][name].mean("draw").to_numpy().reshape(-1, len(means))
        deviations = np.abs(chain_means - means) / problem.sds[name]
        off |= set(np.flatnonzero((deviations > LARGEST_DEVIATION).any(axis=1)).tolist())
    return sorted(off)


@pytest.mark.parametrize("seed", range(1, 11))
@pytest.mark.parametrize("problem", [hares_and_lynxes, one_compartment])
def test_it_is_found_from_random_starts(problem: Any, seed: int) -> None:
    assert chains_that_are_off(problem(), seed) == []


@pytest.mark.parametrize("seed", [1, 2])
def test_stiff_equations_are_found_from_random_starts(seed: int) -> None:
    """Two seeds only: each takes minutes."""
    assert chains_that_are_off(robertson(), seed) == []


def test_the_comparison_notices_another_posterior() -> None:
    """Negative control: of lynxes that are fewer by a quarter."""
    assert chains_that_are_off(hares_and_lynxes(share_of_lynxes=0.75), 1) == [0, 1, 2, 3]
