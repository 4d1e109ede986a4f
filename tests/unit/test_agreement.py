"""When chains agree: in parameters, and in the coordinates that directions give."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from grhmc.adaptation.agreement import do_agree, do_agree_in_coordinates, share_directions
from grhmc.adaptation.pooling import pool
from grhmc.adaptation.stage import ScaleRule
from grhmc.adaptation.tuners.moments import merge_moments, moments_of_draws
from grhmc.adaptation.tuners.scale_from_moments import GEO, ISG, VARI
from grhmc.models.analytic import gaussian
from grhmc.run.cross_chain import adapt_across_chains, findings_of
from grhmc.settings import MetricSettings
from waiting_chains import advance_until_they_wait, situation_of, waiting_chains

CORRELATED = gaussian(np.zeros(3), np.full((3, 3), 0.9999) + 0.0001 * np.eye(3)).log_density()
N_DRAWS = 200


@pytest.fixture(scope="module")
def found() -> list[Any]:
    """Four chains with directions in common, each of which has seen its own draws of the target."""
    chains = waiting_chains(4, model=CORRELATED, scale="geo", waits_at=lambda stage: stage.round > 0)
    rng = np.random.default_rng(1)
    covariance = np.full((3, 3), 0.9999) + 0.0001 * np.eye(3)
    draws = rng.multivariate_normal(np.zeros(3), covariance, (4, N_DRAWS))
    precision = np.linalg.inv(covariance)
    return [
        replace(findings_of(chain), positions=own, gradients=-own @ precision)
        for chain, own in zip(chains, draws, strict=True)
    ]


@pytest.mark.parametrize(("spread", "agree"), [(0.2, True), (0.3, False)])
def test_the_standard_error_of_the_worst_scale_counts(spread: float, agree: bool) -> None:
    scales = np.exp(spread * np.array([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]]))
    assert do_agree(np.zeros((4, 2)), scales, 1.0, n_rounds=1) == agree


def test_rounds_before_make_scales_more_certain() -> None:
    scales = np.exp(0.4 * np.array([[1.0], [-1.0], [1.0], [-1.0]]))
    assert do_agree(np.zeros((4, 1)), scales, 1.0, n_rounds=4)


@pytest.mark.parametrize(
    ("distance", "n_rounds", "agree"), [(0.9, 0, True), (1.1, 0, False), (0.5, 1, True), (0.7, 1, False)]
)
def test_centres_are_compared_in_scales(distance: float, n_rounds: int, agree: bool) -> None:
    centres = distance * 3.0 * np.sqrt(0.75) * np.array([[1.0], [-1.0], [1.0], [-1.0]])
    assert do_agree(centres, np.full((4, 1), 3.0), np.array([3.0]), n_rounds=n_rounds) == agree


@pytest.mark.parametrize(
    ("n_chains", "largest"), [(2, 0.15 / np.sqrt(3.0)), (3, 0.15 * np.sqrt(2.0 / 3.0)), (4, 0.15), (8, 0.15)]
)
def test_few_chains_must_agree_better_since_they_may_by_chance(n_chains: int, largest: float) -> None:
    spread = np.linspace(-1.0, 1.0, n_chains)
    unit_error = spread.std(ddof=1) / np.sqrt(n_chains)
    for error, agree in ((0.95 * largest, True), (1.05 * largest, False)):
        scales = np.exp(error / unit_error * spread)[:, np.newaxis]
        assert do_agree(np.zeros((n_chains, 1)), scales, 1.0, n_rounds=1) == agree


def test_one_chain_has_nobody_to_agree_with() -> None:
    assert not do_agree(np.zeros((1, 2)), np.ones((1, 2)), 1.0, n_rounds=1)


def test_a_scale_that_is_no_number_is_no_agreement() -> None:
    scales = np.array([[1.0], [np.nan]])
    assert not do_agree(np.zeros((2, 1)), scales, 1.0, n_rounds=1)


@pytest.mark.parametrize("tuner", [VARI, ISG, GEO])
def test_chains_with_draws_of_the_target_agree_in_the_coordinates_of_their_metric(found: list[Any], tuner: int) -> None:
    assert share_directions(found)
    assert do_agree_in_coordinates(found, ScaleRule(tuner=tuner), n_rounds=1)


def test_short_stretches_of_a_long_direction_agree_there_and_not_in_parameters(found: list[Any]) -> None:
    """Along (1, 1, 1), a hundred times as long as it is wide, each chain has come a different way."""
    short = [
        replace(each, positions=each.positions * lengths, gradients=each.gradients * lengths)
        for each, lengths in zip(found, (0.3, 1.0, 0.5, 2.0), strict=True)
    ]
    scales = np.array([each.positions.std(axis=0) for each in short])
    assert not do_agree(np.zeros((4, 3)), scales, 1.0, n_rounds=1)
    assert do_agree_in_coordinates(short, ScaleRule(tuner=GEO), n_rounds=1)


@pytest.mark.parametrize(
    "fault",
    [
        lambda own: replace(own, positions=10.0 * own.positions),
        lambda own: replace(own, gradients=10.0 * own.gradients),
        lambda own: replace(own, positions=own.positions + np.array([3.0, 0.0, 0.0])),
        lambda own: replace(own, positions=own.positions[:0], gradients=own.gradients[:0]),
        lambda own: replace(own, gradients=np.full_like(own.gradients, np.nan)),
    ],
    ids=["wider", "steeper", "elsewhere", "no draws", "gradients that are no numbers"],
)
def test_one_chain_that_saw_something_else_is_no_agreement(found: list[Any], fault: Any) -> None:
    assert not do_agree_in_coordinates([fault(found[0]), *found[1:]], ScaleRule(tuner=GEO), n_rounds=1)


def test_a_metric_is_shared_only_if_scale_and_directions_are(found: list[Any]) -> None:
    own = found[0].standardization
    other = own._replace(scale=2.0 * own.scale)
    without = own._replace(rank=np.zeros_like(own.rank))
    assert not share_directions([replace(found[0], standardization=other), *found[1:]])
    assert not share_directions([replace(each, standardization=without) for each in found])


def test_moments_of_draws_are_those_of_their_parts_together(found: list[Any]) -> None:
    positions, gradients = found[0].positions, found[0].gradients
    parts = [moments_of_draws(positions[at], gradients[at]) for at in (slice(None, 50), slice(50, None))]
    for merged, whole in zip(merge_moments(parts), moments_of_draws(positions, gradients), strict=True):
        np.testing.assert_allclose(merged, whole, rtol=1e-10)


# ---------------------------------------------------------------- windows that are left out


def agreeing_chains(**settings: Any) -> list[Any]:
    """Four chains that wait at the end of the fifth window."""
    return waiting_chains(4, scale="geo", waits_at=lambda stage: stage.may_end_windows, all_windows=False, **settings)


def next_stages(chains: list[Any], found: list[Any]) -> set[str]:
    return {chains[0].stages[decision.next_stage].name for decision in pool(found, situation_of(chains[0]))}


@pytest.mark.parametrize("settings", [{}, {"metric": MetricSettings("diagonal")}, {"process": "continuous"}], ids=str)
def test_chains_that_agree_leave_the_windows_with_one_scale(settings: dict[str, Any]) -> None:
    chains = agreeing_chains(**settings)
    assert chains[0].stage.name == "window 5"
    decisions = pool([findings_of(chain) for chain in chains], situation_of(chains[0]))
    assert all(decision.is_agreed for decision in decisions)
    assert {chains[0].stages[decision.next_stage].name for decision in decisions} == {"round 1"}
    scales = [decision.standardization.scale for decision in decisions if decision.standardization is not None]
    assert len(scales) == 4
    np.testing.assert_array_equal(scales, np.broadcast_to(scales[0], (4, 3)))
    adapt_across_chains(chains)
    assert all(chain.agreed_early for chain in chains)
    advance_until_they_wait(chains)
    assert chains[0].stage.round == 1
    assert chains[0].warmup_draws_before == 20 + 20 + 30 + 40 + 20


def test_after_the_windows_come_crossing_times_where_they_are_looked_at() -> None:
    chains = waiting_chains(4, scale="mct", waits_at=lambda stage: stage.may_end_windows, all_windows=False)
    assert next_stages(chains, [findings_of(chain) for chain in chains]) == {"crossing times"}


def test_chains_that_do_not_agree_go_on_with_the_windows() -> None:
    chains = agreeing_chains()
    chains[2].process.moments.position_spread[:] *= 1e3
    decisions = pool([findings_of(chain) for chain in chains], situation_of(chains[0]))
    assert {chains[0].stages[decision.next_stage].name for decision in decisions} == {"window 6"}
    assert all(decision.standardization is None for decision in decisions)
    assert not any(decision.is_agreed for decision in decisions)


def test_a_chain_that_has_seen_a_far_higher_log_density_has_windows_left_to_go_there() -> None:
    chains = agreeing_chains()
    chains[1].process.path["highest_log_density"] = 1e3
    found = [findings_of(chain) for chain in chains]
    assert [each.is_far_below for each in found] == [False, True, False, False]
    assert next_stages(chains, found) == {"window 6"}


def test_a_chain_elsewhere_keeps_the_others_in_the_windows() -> None:
    chains = agreeing_chains()
    chains[3].process.moments.position_mean[:] += 1e4
    assert next_stages(chains, [findings_of(chain) for chain in chains]) == {"window 6"}
