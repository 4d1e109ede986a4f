"""Cross-chain adaptation during warm-up: what chains pool, what they choose, and when they stop."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import grhmc
from grhmc import Outcome
from grhmc.adaptation.pooling import pool
from grhmc.adaptation.tuners.moments import init_moments, merge_moments
from grhmc.adaptation.tuners.step_size import longest_step
from grhmc.dynamics.standardization import to_parameters
from grhmc.models.analytic import gaussian, independent_normals, paper_target
from grhmc.run.cross_chain import adapt_across_chains, findings_of
from waiting_chains import NORMALS, SD, advance_until_they_wait, situation_of, waiting_chains

# What a run warns of is not the question here.
pytestmark = pytest.mark.filterwarnings("ignore::grhmc.SamplingWarning")


def scales(chains: list[Any]) -> np.ndarray:
    return np.array([chain.process.standardization.scale for chain in chains])


def sampled(model: grhmc.LogDensity, **settings: Any) -> Any:
    return grhmc.sample(model, **{"draws": 50, "seed": 1, "progress_bar": False, "diagnose": False, **settings})


def test_all_leave_with_one_scale_that_is_better_than_their_own() -> None:
    chains = waiting_chains(8, scale="vari")
    before = np.abs(np.log(scales(chains) / SD)).mean()
    adapt_across_chains(chains)
    assert np.all(scales(chains) == scales(chains)[0])
    assert np.abs(np.log(scales(chains)[0] / SD)).mean() < max(before, 0.02)
    assert all(chain.outcome == Outcome.RUNNING for chain in chains)
    assert len({chain.process.rate_tuner.log_process_time[0] for chain in chains}) == 1


def test_decisions_follow_from_what_was_found_alone_wherever_the_chains_live() -> None:
    """Findings are sent through bytes, as between machines, and are not changed."""
    chains = waiting_chains(4, scale="geo", process="discrete")
    findings, situation = [findings_of(chain) for chain in chains], situation_of(chains[0])
    before = pickle.dumps(findings)
    here = pool(findings, situation)
    assert pickle.dumps(findings) == before
    there = pool(pickle.loads(before), situation)
    for one, other in zip(here, there, strict=True):
        assert one.moments is not None
        assert other.moments is not None
        for array, same in zip(one.moments, other.moments, strict=True):
            np.testing.assert_array_equal(array, same)
        for name in ("log_time", "trajectory_step", "next_stage", "is_lost", "integrator"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        assert one.standardization is not None
        assert other.standardization is not None
        np.testing.assert_array_equal(one.standardization.centre, other.standardization.centre)
        np.testing.assert_array_equal(one.standardization.scale, other.standardization.scale)
        np.testing.assert_array_equal(one.standardization.factor.directions, other.standardization.factor.directions)
    adapt_across_chains(chains)
    for chain, decision in zip(chains, here, strict=True):
        assert decision.standardization is not None
        np.testing.assert_array_equal(chain.process.standardization.scale, decision.standardization.scale)
        assert np.exp(chain.process.step_tuner.log_value[0]) == pytest.approx(decision.trajectory_step, rel=1e-12)


def test_chains_that_agree_after_the_windows_have_agreed_early_and_later_rounds_do_not_change_that() -> None:
    chains = waiting_chains(4, scale="geo", process="discrete")
    adapt_across_chains(chains)
    assert all(chain.is_agreed for chain in chains)
    assert all(chain.agreed_early for chain in chains)
    for chain in chains:
        chain.agreed_early = False
    advance_until_they_wait(chains)
    adapt_across_chains(chains)
    assert not any(chain.agreed_early for chain in chains)


@pytest.mark.parametrize(
    ("chosen", "first", "expected"),
    [(None, "leapfrog", 1 / 3), ("leapfrog", "leapfrog", 1 / 3), ("splitting", "splitting", 2 / 3)],
)
def test_first_steps_of_trajectories_follow_from_the_time_to_a_u_turn_not_from_the_windows_steps(
    chosen: str | None, first: str, expected: float
) -> None:
    """An edge makes the continuous process's steps short, and tuning takes long to lengthen steps."""
    chains = waiting_chains(4, scale="geo", process="discrete")
    situation = situation_of(chains[0])
    if chosen is not None:
        situation = replace(situation, integrator=chosen, chooses_integrator=False)
    for decision in pool([replace(findings_of(chain), step_size=1e-4) for chain in chains], situation):
        assert decision.integrator == first
        assert decision.trajectory_step == pytest.approx(expected * longest_step(decision.log_process_time))


def test_what_is_decided_does_not_depend_on_the_order_of_chains() -> None:
    chains = waiting_chains(4, scale="geo", process="discrete")
    findings, situation = [findings_of(chain) for chain in chains], situation_of(chains[0])
    forwards, backwards = pool(findings, situation), pool(findings[::-1], situation)[::-1]
    for one, other in zip(forwards, backwards, strict=True):
        assert one.standardization is not None
        assert other.standardization is not None
        np.testing.assert_allclose(one.standardization.scale, other.standardization.scale, rtol=1e-12)
        assert one.trajectory_step == pytest.approx(other.trajectory_step, rel=1e-12)
        assert (one.is_lost, one.next_stage, one.integrator) == (other.is_lost, other.next_stage, other.integrator)


def position_in_parameters(chain: Any) -> np.ndarray:
    point = np.empty(len(SD))
    to_parameters(chain.process.standardization, chain.process.step.position, point)
    return point


def test_positions_stay_where_they_are() -> None:
    chains = waiting_chains(3, scale="geo")

    def positions() -> np.ndarray:
        return np.array([position_in_parameters(chain) for chain in chains])

    before = positions()
    adapt_across_chains(chains)
    np.testing.assert_allclose(positions(), before, rtol=1e-12, atol=1e-12)


def test_a_lost_chain_does_not_decide_for_all() -> None:
    chains = waiting_chains(4, scale="geo")
    chains[2].process.moments.position_spread[:] *= 1e12
    adapt_across_chains(chains)
    assert np.all(np.abs(np.log(scales(chains)[0] / SD)) < np.log(2.5))


def test_a_chain_far_out_keeps_its_own_scale_and_does_not_touch_the_others() -> None:
    chains = waiting_chains(4, scale="geo")
    own = scales(chains)[2].copy()
    chains[2].process.moments.position_mean[:] += 1e4 * SD
    adapt_across_chains(chains)
    assert [chain.is_lost for chain in chains] == [False, False, True, False]
    assert np.all(scales(chains)[2] == own)
    assert np.all(np.abs(np.log(scales(chains)[0] / SD)) < 0.2)
    assert not any(chain.n_moves for chain in chains)  # its density is that of the others


def test_a_chain_that_stood_still_neither_holds_the_others_up_nor_keeps_its_scale() -> None:
    """As where its trajectories are far too long, so that all of them are rejected."""
    chains = waiting_chains(4, scale="geo")
    before = scales(chains)[0].copy()
    chains[2].process.standardization.scale[:] *= 1e3
    chains[2].process.moments.position_spread[:] = 0.0
    adapt_across_chains(chains)
    assert [chain.is_lost for chain in chains] == [False, False, True, False]
    assert np.all(scales(chains) == scales(chains)[0])
    assert np.all(scales(chains)[0] != before)
    assert np.all(np.abs(np.log(scales(chains)[0] / SD)) < 0.2)


def test_no_chain_is_called_lost_where_no_half_of_them_is_close_together() -> None:
    chains = waiting_chains(4, scale="geo")
    for number, chain in enumerate(chains):
        chain.process.moments.position_mean[:] += 1e4 * number * SD
    adapt_across_chains(chains)
    assert not any(chain.is_lost for chain in chains)


def test_what_was_seen_on_the_way_in_is_forgotten() -> None:
    chains = waiting_chains(4, scale="geo")
    for chain in chains:
        chain.process.previous_moments.position_spread[:] *= 1e6
    adapt_across_chains(chains)
    for chain in chains:
        chain.advance(300)  # in the round, previous and present moments are put together again
    assert np.all(np.abs(np.log(scales(chains) / SD)) < 0.3)


def test_merged_moments_are_those_of_all_values_together() -> None:
    rng = np.random.default_rng(1)
    parts, everything = [], []
    for n, shift in ((5, 0.0), (50, 3.0), (7, -1e4)):
        values = shift + rng.standard_normal((n, 2))
        part = init_moments(2)
        part.weights[:] = n
        part.position_mean[:], part.position_spread[:] = values.mean(axis=0), n * values.var(axis=0)
        parts.append(part)
        everything.append(values)
    merged, values = merge_moments([*parts, init_moments(2)]), np.concatenate(everything)
    np.testing.assert_allclose(merged.position_mean, values.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(merged.position_spread / merged.weights[0], values.var(axis=0), rtol=1e-10)


@pytest.mark.parametrize("name", ["G1", "G3"])
def test_few_or_different_directions_are_for_leapfrog(name: str) -> None:
    assert sampled(paper_target(name).log_density()).attrs["integrator"] == "leapfrog"


def test_many_equal_directions_are_for_the_splitting() -> None:
    assert sampled(independent_normals(np.ones(100)).log_density()).attrs["integrator"] == "splitting"


def test_warm_up_ends_when_chains_agree_and_not_before() -> None:
    def n_warmup(**settings: Any) -> int:
        return sampled(NORMALS, save_warmup=True, **settings)["warmup_posterior"].sizes["draw"]

    assert n_warmup(tune=1000) < 400
    assert n_warmup(tune=1000, chains=1) > 950  # one chain has nobody to agree with
    assert 450 < n_warmup(tune=1000, scale="mct") < 700  # it has a stage of its own besides


def test_a_window_that_costs_too_much_ends() -> None:
    """From a thousand standard deviations out, where steps are tiny."""
    result = sampled(NORMALS, init=np.array([1e3, 1e2, 1e4]), tune=1000, save_warmup=True)
    assert int(result["tuning"]["n_gradients"].max()) < 12_000
    np.testing.assert_allclose(result["tuning"]["scale"][0], SD, rtol=0.3)


def test_a_chain_that_is_moved_leaves_its_energy_behind() -> None:
    chains = waiting_chains(4, scale="geo")
    chains[1].process.step.momentum[:] = 1e3
    chains[1].process.path["log_density"] = -1e6
    adapt_across_chains(chains)
    assert [chain.n_moves for chain in chains] == [0, 1, 0, 0]
    assert np.abs(chains[1].process.step.momentum).max() < 6.0
    assert chains[1].process.path["log_density"][0] > -20.0
    assert chains[1].trajectory_step == chains[0].trajectory_step


CORRELATED = gaussian(np.zeros(3), np.full((3, 3), 0.999) + 0.001 * np.eye(3))


def test_an_event_rate_that_was_given_stays_where_the_metric_changes() -> None:
    process = grhmc.Continuous(event_rate=0.05)
    tuning = sampled(CORRELATED.log_density(), process=process, tune=400)["tuning"]
    assert tuning["metric_rank"].to_numpy().min() > 0
    np.testing.assert_array_equal(tuning["event_rate"], 0.05)


@pytest.mark.parametrize("kind", ["constant", "arc_length"])
def test_the_time_to_a_u_turn_is_found_anew_where_the_metric_changes(kind: Any) -> None:
    """In the new coordinates it is that of independent normals, and paths are that long, whatever λ counts."""
    tuning = sampled(CORRELATED.log_density(), process=grhmc.Continuous(event_rate_kind=kind))["tuning"]
    assert tuning["metric_rank"].to_numpy().min() > 0
    np.testing.assert_allclose(tuning["time_to_u_turn"], np.pi, rtol=0.4)
    unit = 1.0 if kind == "constant" else np.sqrt(3.0)
    np.testing.assert_allclose(tuning["event_rate"], 1.0 / (1.3 * np.pi * unit), rtol=0.5)


def chains_in_windows() -> list[Any]:
    """Two chains that wait at the end of the fourth window, and have pooled after the third."""
    model = CORRELATED.log_density()
    return waiting_chains(2, model=model, scale="geo", waits_at=lambda stage: stage.name == "window 4")


def test_directions_that_are_far_off_are_shared_before_the_windows_end() -> None:
    chains = chains_in_windows()
    assert not chains[0].stage.pools
    own = [findings_of(chain) for chain in chains]
    for each in own:
        each.standardization.rank[:] = 0  # as if none had found any
    decisions = pool(own, situation_of(chains[0]))
    first, second = (decision.standardization for decision in decisions)
    assert first is not None
    assert second is not None
    assert first.factor.rank > 0
    np.testing.assert_array_equal(first.factor.directions, second.factor.directions)
    np.testing.assert_array_equal(first.scale, second.scale)
    assert not any(decision.is_agreed for decision in decisions)
    assert all(decision.next_stage == chains[0].stage_index + 1 for decision in decisions)


def test_chains_whose_directions_fit_go_on_for_themselves_until_the_windows_end() -> None:
    chains = chains_in_windows()
    assert all(chain.process.standardization.rank[0] > 0 for chain in chains)
    for decision in pool([findings_of(chain) for chain in chains], situation_of(chains[0])):
        assert decision.standardization is None
        assert decision.moments is None
        assert decision.host is None


def test_what_chains_saw_together_before_counts_once() -> None:
    chains = waiting_chains(4, scale="geo")
    own = sum(chain.process.moments.weights[0] for chain in chains)
    apart = [chain.process.previous_moments.weights[0] for chain in chains]
    assert len(set(apart)) == len(chains)

    def pooled_weight() -> float:
        decision = pool([findings_of(chain) for chain in chains], situation_of(chains[0]))[0]
        assert decision.moments is not None
        return float(decision.moments.weights[0])

    assert pooled_weight() == pytest.approx(own + sum(apart))
    for chain in chains[1:]:
        for part, common in zip(chain.process.previous_moments, chains[0].process.previous_moments, strict=True):
            part[:] = common
    assert pooled_weight() == pytest.approx(own + apart[0])


def chains_with_directions() -> tuple[list[Any], list[Any]]:
    """Two chains that wait at the end of the first round, with the same directions; and what they bring."""
    chains = waiting_chains(2, model=CORRELATED.log_density(), scale="geo", waits_at=lambda stage: stage.round > 0)
    return chains, [findings_of(chain) for chain in chains]


def on_a_circle(found: Any) -> Any:
    """The same with draws that lie in a plane, as those between two refreshments do."""
    positions, gradients = found.positions.copy(), found.gradients.copy()
    positions[:, 2] = gradients[:, 2] = 0.0
    return replace(found, positions=positions, gradients=gradients)


def test_directions_in_common_stay_where_the_draws_show_too_little_to_tell() -> None:
    chains, found = chains_with_directions()
    assert all(each.standardization.rank[0] > 0 for each in found)
    told = pool(found, situation_of(chains[0]))
    assert all(decision.standardization is not None for decision in told)
    for decision in pool([on_a_circle(each) for each in found], situation_of(chains[0])):
        assert decision.standardization is None
        assert decision.moments is not None


def test_directions_of_their_own_do_not_stay_where_the_draws_show_too_little_to_tell() -> None:
    chains, found = chains_with_directions()
    found[1].standardization.scale[:] *= 1.5
    for decision in pool([on_a_circle(each) for each in found], situation_of(chains[0])):
        assert decision.standardization is not None
        assert decision.standardization.factor.rank == 0
