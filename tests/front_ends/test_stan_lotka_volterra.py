"""Hares and lynxes in Stan from uniform(-2, 2): from most starts the solution misses all data, and chains get stuck.

Pelts in thousands, 1900 to 1920, of the Hudson's Bay Company (Howard 2009); posterior means and sds as in the case
study of Carpenter (2018), "Predator-Prey Population Dynamics: the Lotka-Volterra model in Stan".
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import grhmc

pytest.importorskip("stanli", reason="needs stanli, which runs Stan programs: pip install 'grhmc[stan]'")

from reference_posteriors import PROGRAMS

HARES = [30, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22, 25.4, 27.1, 40.3, 57, 76.6, 52.3, 19.5, 11.2, 7.6, 14.6]
HARES += [16.2, 24.7]
LYNXES = [4, 6.1, 9.8, 35.2, 59.4, 41.7, 19, 13, 8.3, 9.1, 7.4, 8, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1, 8.6]

MEANS = {"theta": [0.55, 0.028, 0.80, 0.024], "z_init": [33.9, 5.95], "sigma": [0.25, 0.25]}
SDS = {"theta": [0.064, 0.004, 0.09, 0.0036], "z_init": [2.9, 0.53], "sigma": [0.045, 0.045]}
LARGEST_DEVIATION = 0.6
"""Standard deviations, of a chain's mean: of 300 effective draws ten standard errors, and the rounding of the table."""

pytestmark = [pytest.mark.statistical, pytest.mark.nightly]


def chains_that_are_off(seed: int, share_of_lynxes: float = 1.0) -> list[int]:
    """Chains with a mean far from the published one, of a run with default settings."""
    pelts = np.column_stack([HARES, share_of_lynxes * np.array(LYNXES)])
    data = {"n": 20, "years": np.arange(1.0, 21.0), "first": pelts[0], "pelts": pelts[1:]}
    model = grhmc.from_stan(PROGRAMS / "lotka_volterra.stan", data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        result = grhmc.sample(model, seed=seed, check_gradient=False, progress_bar=False)
    off: set[int] = set()
    for name, means in MEANS.items():
        chain_means = result["posterior"][name].mean("draw").to_numpy()
        deviations = np.abs(chain_means - means) / SDS[name]
        off |= set(np.flatnonzero((deviations > LARGEST_DEVIATION).any(axis=1)).tolist())
    return sorted(off)


@pytest.mark.parametrize("seed", range(1, 11))
def test_hares_and_lynxes_are_found_from_random_starts(seed: int) -> None:
    assert chains_that_are_off(seed) == []


def test_the_comparison_notices_another_posterior() -> None:
    """Negative control: of lynxes that are fewer by a quarter."""
    assert chains_that_are_off(1, share_of_lynxes=0.75) == [0, 1, 2, 3]
