"""Simulation-based calibration: where the truth falls among posterior draws, over many simulated data sets.

Parameters are drawn from the prior, data from the parameters, and the posterior is sampled. The rank of the true value
among independent posterior draws is then uniform (Talts et al. 2018), for every parameter and for the log likelihood
or any other function of parameters and data, which sees more.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import chi2

import grhmc

N_BINS = 10
N_RANKED = 99
"""Draws among which the truth is ranked: 100 possible ranks."""

SMALLEST_P_VALUE = 1e-4

Simulate = Callable[[np.random.Generator], tuple[np.ndarray, tuple[Any, ...]]]
"""One draw from the prior (unconstrained) and the data it makes."""


def ranks(
    simulate: Simulate,
    density: Any,
    statistics: Callable[[np.ndarray, tuple[Any, ...]], np.ndarray],
    n_replications: int,
    *,
    wrong: Callable[[np.ndarray], np.ndarray] | None = None,
    **settings: Any,
) -> np.ndarray:
    """Ranks of the true statistics among those of thinned draws, shape (n_replications, n_statistics).

    Parameters
    ----------
    simulate : callable
    density : jitted function
        Of q, gradient and the data.
    statistics : callable
        From positions (n, dim) and the data to values (n, n_statistics).
    wrong : callable, optional
        What a biased sampler would do to its draws: the negative control.
    """
    found = []
    for replication in range(n_replications):
        truth, data = simulate(np.random.default_rng([1, replication]))
        model = grhmc.from_numba(density, len(truth), data=data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", grhmc.SamplingWarning)
            result = grhmc.sample(
                model, draws=500, tune=400, chains=2, cores=1, seed=replication, progress_bar=False, **settings
            )
        positions = result["unconstrained_posterior"]["position"].to_numpy().reshape(-1, len(truth))
        chosen = positions[np.linspace(0, len(positions) - 1, N_RANKED).round().astype(int)]
        if wrong is not None:
            chosen = wrong(chosen)
        found.append((statistics(chosen, data) < statistics(truth[np.newaxis], data)).sum(axis=0))
    return np.array(found)


def p_values(ranks_found: np.ndarray) -> np.ndarray:
    """Of a χ² test of uniformity, per statistic."""
    expected = len(ranks_found) / N_BINS
    counts = np.stack([np.bincount(r * N_BINS // (N_RANKED + 1), minlength=N_BINS) for r in ranks_found.T])
    return chi2.sf(((counts - expected) ** 2 / expected).sum(axis=1), N_BINS - 1)
