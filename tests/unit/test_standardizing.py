"""Which directions chains that pool take on, from what they have in common and what their draws show."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from grhmc.adaptation.directions import find_directions, misfit
from grhmc.adaptation.findings import Findings
from grhmc.adaptation.low_rank import metric_of, no_directions
from grhmc.adaptation.spectrum import spectrum_of_draws
from grhmc.adaptation.standardizing import directions_together
from grhmc.adaptation.tuners.scale_from_moments import GEO
from grhmc.dynamics.standardization import init_standardization, set_directions
from grhmc.run.cross_chain import findings_of
from waiting_chains import waiting_chains

DIM, N_CHAINS = 3, 4
VARIANCES = np.array([1.0, 100.0, 1e4])
TURN = np.linalg.qr(np.random.default_rng(1).normal(size=(DIM, DIM)))[0]
COVARIANCE = (TURN * VARIANCES) @ TURN.T


@pytest.fixture(scope="module")
def some() -> Findings:
    return findings_of(waiting_chains(1, all_windows=False)[0])


def metric(directions: np.ndarray, eigenvalues: np.ndarray) -> Any:
    standardization = init_standardization(np.zeros(DIM), np.ones(DIM), max_rank=DIM)
    set_directions(standardization, directions, eigenvalues)
    return standardization


RIGHT = metric(TURN.T, VARIANCES)


def chains_with(some: Findings, standardization: Any, draws: np.ndarray) -> list[Findings]:
    gradients = -np.linalg.solve(COVARIANCE, draws.T).T
    parts = zip(np.array_split(draws, N_CHAINS), np.array_split(gradients, N_CHAINS), strict=True)
    return [replace(some, positions=q, gradients=g, standardization=standardization) for q, g in parts]


def circle(n: int) -> np.ndarray:
    """A path in the right coordinates without a refreshment: in a plane but for errors of steps."""
    time = np.linspace(0.0, 6.0, n)[:, np.newaxis]
    standard = np.cos(time) * np.eye(DIM)[0] + np.sin(time) * np.eye(DIM)[1]
    return (standard * np.sqrt(2.0 * VARIANCES)) @ TURN.T


def left_by(found: Any) -> float:
    """What a metric leaves, by draws that show all."""
    draws = np.random.default_rng(2).multivariate_normal(np.zeros(DIM), COVARIANCE, size=500)
    return misfit(spectrum_of_draws(draws, -np.linalg.solve(COVARIANCE, draws.T).T, found, GEO))


def test_in_a_window_what_chains_have_in_common_stays_where_draws_show_little(some: Findings) -> None:
    chains = chains_with(some, RIGHT, circle(80))
    found, is_new = directions_together(chains, np.ones(DIM), GEO, counts_cost=True, is_round=False)
    assert not is_new
    assert left_by(metric_of(RIGHT) if found is None else found) < np.log(1.5)


def test_in_a_window_what_draws_show_changes_what_chains_have_in_common(some: Findings) -> None:
    draws = np.random.default_rng(3).multivariate_normal(np.zeros(DIM), COVARIANCE, size=80)
    chains = chains_with(some, metric(TURN.T[:2], VARIANCES[:2]), draws)
    found, is_new = directions_together(chains, np.ones(DIM), GEO, counts_cost=True, is_round=False)
    assert is_new
    assert found is not None
    assert left_by(found) < np.log(1.5)


@pytest.mark.parametrize("is_round", [False, True])
def test_after_a_round_and_only_then_directions_are_found_anew(some: Findings, is_round: bool) -> None:
    """The common directions are none here: a round forgets them."""
    rng = np.random.default_rng(4)
    wrong = metric(np.eye(DIM)[:1], np.array([1.45]))
    draws = rng.normal(size=(20 * DIM, DIM))
    chains = [replace(each, gradients=-each.positions) for each in chains_with(some, wrong, draws)]
    scale = np.full(DIM, 1.1)
    found, _ = directions_together(chains, scale, GEO, counts_cost=False, is_round=is_round)
    assert found is not None
    expected = find_directions(draws, -draws, scale, GEO, DIM, counts_cost=False)
    assert expected is not None
    assert np.array_equal(found.scale, expected.scale) == is_round


def test_chains_without_a_common_metric_find_directions_from_nothing(some: Findings) -> None:
    draws = np.random.default_rng(5).multivariate_normal(np.zeros(DIM), COVARIANCE, size=80)
    chains = chains_with(some, RIGHT, draws)
    chains[1] = replace(chains[1], standardization=metric(TURN.T[:1], VARIANCES[:1]))
    found, is_new = directions_together(chains, np.ones(DIM), GEO, counts_cost=False, is_round=False)
    expected = find_directions(
        draws, np.concatenate([each.gradients for each in chains]), np.ones(DIM), GEO, DIM, counts_cost=False
    )
    assert found is not None
    assert expected is not None
    assert not is_new
    np.testing.assert_array_equal(found.scale, expected.scale)


def test_with_too_few_draws_common_directions_stay_and_others_are_dropped(some: Findings) -> None:
    chains = chains_with(some, RIGHT, circle(4))
    assert directions_together(chains, np.ones(DIM), GEO, counts_cost=True, is_round=False) == (None, False)
    chains[0] = replace(chains[0], standardization=metric(TURN.T[:1], VARIANCES[:1]))
    found, _ = directions_together(chains, np.ones(DIM), GEO, counts_cost=True, is_round=False)
    assert found is not None
    assert found.factor.rank == no_directions(DIM).rank
