"""Refreshment laws: Gaussian for rates that do not see the momentum, speed-weighted for the arc-length rate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from grhmc import Outcome
from grhmc.events.random_numbers import generator_state
from grhmc.events.refreshment import (
    GAUSSIAN_LAW,
    SPEED_WEIGHTED_LAW,
    draw_hot_momentum,
    draw_momentum,
    refresh_momentum,
)
from grhmc.models.analytic import independent_normals
from grhmc.process.continuous import refresh
from kernel_helpers import make_chain, run_settings

pytestmark = pytest.mark.statistical

DIM = 3
N_DRAWS = 20_000
SMALLEST_P_VALUE = 1e-3
# Seeds are fixed. A p-value this small has not come up by chance; a wrong law gives far smaller ones.

BOTH_LAWS = pytest.mark.parametrize("law", [GAUSSIAN_LAW, SPEED_WEIGHTED_LAW], ids=["gaussian", "speed_weighted"])


def exact_momenta(law, rng, n_draws=N_DRAWS):
    """Independent draws from the law: a uniform direction, and a squared length that is χ²."""
    direction = rng.normal(size=(n_draws, DIM))
    direction /= np.linalg.norm(direction, axis=1)[:, np.newaxis]
    return direction * np.sqrt(rng.chisquare(degrees_of_freedom(law), n_draws))[:, np.newaxis]


def degrees_of_freedom(law):
    return DIM if law == GAUSSIAN_LAW else DIM + 1


def drawn_momenta(law):
    rng = generator_state(np.random.default_rng(1))
    momenta = np.empty((N_DRAWS, DIM))
    for momentum in momenta:
        draw_momentum(law, momentum, rng)
    return momenta


def refreshed_momenta(law, persistence, momenta, seed=2):
    rng, proposal = generator_state(np.random.default_rng(seed)), np.empty(DIM)
    refreshed = momenta.copy()
    for momentum in refreshed:
        refresh_momentum(law, persistence, momentum, proposal, rng)
    return refreshed


def p_values(momenta, law):
    """Of the squared length, of every coordinate of the direction, and of their independence."""
    squared = np.sum(momenta**2, axis=1)
    directions = momenta / np.sqrt(squared)[:, np.newaxis]
    yield stats.kstest(squared, stats.chi2(degrees_of_freedom(law)).cdf).pvalue
    for k in range(DIM):
        # In three dimensions a coordinate of a uniform direction is uniform on (-1, 1).
        yield stats.kstest(directions[:, k], stats.uniform(-1.0, 2.0).cdf).pvalue
        dependence: Any = stats.pearsonr(squared, np.abs(directions[:, k]))
        yield dependence.pvalue


@BOTH_LAWS
def test_draws_have_the_law(law):
    assert min(p_values(drawn_momenta(law), law)) > SMALLEST_P_VALUE


@BOTH_LAWS
def test_draws_of_the_other_law_are_told_apart(law):
    # Negative control: the tests here have the power to see a wrong law.
    other = SPEED_WEIGHTED_LAW if law == GAUSSIAN_LAW else GAUSSIAN_LAW
    assert min(p_values(drawn_momenta(law), other)) < 1e-12


@BOTH_LAWS
def test_moments_are_exact_within_standard_errors(law):
    momenta = drawn_momenta(law)
    squared = np.sum(momenta**2, axis=1)
    freedom = degrees_of_freedom(law)
    assert np.mean(squared) == pytest.approx(freedom, abs=4.0 * np.sqrt(2.0 * freedom / N_DRAWS))
    for k in range(DIM):
        variance = freedom / DIM
        assert np.mean(momenta[:, k]) == pytest.approx(0.0, abs=4.0 * np.sqrt(variance / N_DRAWS))


@BOTH_LAWS
@pytest.mark.parametrize("persistence", [0.0, 0.3, 0.9])
def test_a_refreshment_leaves_its_law_as_it_is(law, persistence):
    before = exact_momenta(law, np.random.default_rng(3))
    after = refreshed_momenta(law, persistence, before)
    assert min(p_values(after, law)) > SMALLEST_P_VALUE


@pytest.mark.parametrize("persistence", [0.3, 0.7])
def test_partial_refreshment_under_the_wrong_law_is_seen(persistence):
    # Negative control: without the Metropolis step the arc-length rate's law is lost.
    before = exact_momenta(SPEED_WEIGHTED_LAW, np.random.default_rng(3))
    after = refreshed_momenta(GAUSSIAN_LAW, persistence, before)
    assert min(p_values(after, SPEED_WEIGHTED_LAW)) < 1e-12


@BOTH_LAWS
@pytest.mark.parametrize("persistence", [0.3, 0.9])
def test_partial_refreshment_is_reversible(law, persistence):
    # Detailed balance: (before, after) and (after, before) have the same law, seen in an asymmetric function.
    before = exact_momenta(law, np.random.default_rng(4))
    after = refreshed_momenta(law, persistence, before)
    lengths = np.linalg.norm(before, axis=1), np.linalg.norm(after, axis=1)
    difference = lengths[0] ** 2 * lengths[1] - lengths[1] ** 2 * lengths[0]
    assert abs(difference.mean()) < 4.0 * difference.std() / np.sqrt(N_DRAWS)


@pytest.mark.parametrize("persistence", [0.0, 0.3, 0.9])
def test_persistence_is_the_correlation_of_old_and_new_momentum(persistence):
    before = exact_momenta(GAUSSIAN_LAW, np.random.default_rng(5))
    after = refreshed_momenta(GAUSSIAN_LAW, persistence, before)
    for k in range(DIM):
        correlation = np.corrcoef(before[:, k], after[:, k])[0, 1]
        standard_error = (1.0 - persistence**2) / np.sqrt(N_DRAWS)
        assert correlation == pytest.approx(persistence, abs=4.0 * standard_error)


def test_one_coordinate_is_enough_for_the_speed_weighted_law():
    rng = generator_state(np.random.default_rng(6))
    momenta = np.empty((N_DRAWS, 1))
    for momentum in momenta:
        draw_momentum(SPEED_WEIGHTED_LAW, momentum, rng)
    # ‖p‖² is χ² with two degrees of freedom: exponential with mean 2.
    assert stats.kstest(momenta[:, 0] ** 2, stats.expon(scale=2.0).cdf).pvalue > SMALLEST_P_VALUE
    assert np.mean(momenta > 0.0) == pytest.approx(0.5, abs=4.0 * 0.5 / np.sqrt(N_DRAWS))


@BOTH_LAWS
def test_a_hot_momentum_is_a_multiple_of_a_fresh_one(law):
    fresh, hot = np.empty(DIM), np.empty(DIM)
    draw_momentum(law, fresh, generator_state(np.random.default_rng(7)))
    draw_hot_momentum(law, 3.0, hot, generator_state(np.random.default_rng(7)))
    np.testing.assert_array_equal(hot, 3.0 * fresh)


@pytest.mark.parametrize(("below", "factor"), [(1.0, 100.0), (-1.0, 1.0)])
def test_momenta_are_hot_no_further_down_than_the_settings_allow(below, factor):
    """Under heavy tails a hot chain would go out for ever."""
    energies = []
    for seed in range(20):
        chain = make_chain(independent_normals(np.ones(DIM)).log_density(), run_settings(dim=DIM, seed=seed))
        process = chain.process
        process.settings.momentum_factor = 100.0
        process.settings.lowest_hot_log_density = process.path.log_density[0] - below
        assert refresh(process) == Outcome.RUNNING
        energies.append(process.path.kinetic_energy[0])
    assert np.mean(energies) == pytest.approx(0.5 * DIM * factor**2, rel=0.4)
