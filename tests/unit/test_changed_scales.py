"""A pooled scale that is far from a chain's own: what the chain found of steps and times is not taken over."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import grhmc
from grhmc.adaptation.findings import Findings
from grhmc.adaptation.first_standardization import INITIAL_EVENT_RATE
from grhmc.adaptation.found_times import LARGEST_SCALE_CHANGE, in_coordinates, still_count
from grhmc.adaptation.integrator_choice import TriedIntegrators
from grhmc.adaptation.low_rank import LowRank, NewStandardization, diagonal
from grhmc.adaptation.pooling import pool
from grhmc.adaptation.tuners.step_size import first_step
from grhmc.dynamics.standardization import Standardization, init_standardization, set_directions
from grhmc.models.analytic import independent_normals
from grhmc.run.cross_chain import findings_of
from grhmc.run.highest_place import FAR_HIGHER, FAR_HIGHER_PER_DIMENSION, go_to_highest
from kernel_helpers import make_chains, run_settings
from waiting_chains import situation_of, waiting_chains


@pytest.fixture(scope="module")
def waiting() -> list[Any]:
    return waiting_chains(4, scale="geo", process="discrete")


def with_scales(found: Findings, factor: float) -> Findings:
    """As if all that was found had been found in other units of its own."""
    own = found.standardization
    return dataclasses.replace(found, standardization=init_standardization(own.centre, factor * own.scale))


def test_chains_count_whose_scale_changes_by_little(waiting: list[Any]) -> None:
    found = [findings_of(chain) for chain in waiting]
    news = [diagonal(each.standardization.centre, each.standardization.scale) for each in found]
    little, much = 0.9 * LARGEST_SCALE_CHANGE, 1.1 * LARGEST_SCALE_CHANGE
    changed = [with_scales(each, factor) for each, factor in zip(found, (little, much, 1 / much, 1.0), strict=True)]
    assert still_count(changed, news, [False] * 4) == [changed[0], changed[3]]
    assert still_count(changed, news, [True, False, False, False]) == [changed[3]]
    assert still_count(changed, [None] * 4, [False] * 4) == changed


def test_one_chain_in_another_scale_does_not_touch_the_step_and_the_time_of_all(waiting: list[Any]) -> None:
    found, situation = [findings_of(chain) for chain in waiting], situation_of(waiting[0])
    usual = pool(found, situation)[0]
    spoilt = dataclasses.replace(with_scales(found[3], 1e3), log_process_time=-20.0, log_time=-20.0)
    decided = pool([*found[:3], spoilt], situation)[0]
    assert decided.trajectory_step is not None
    assert usual.trajectory_step is not None
    assert abs(np.log(decided.trajectory_step / usual.trajectory_step)) < 1.0
    assert abs(decided.log_process_time - usual.log_process_time) < 1.0


@pytest.mark.parametrize("factor", [1e3, 1e-3])
def test_where_no_chain_has_the_scale_all_begin_anew(waiting: list[Any], factor: float) -> None:
    found, situation = [findings_of(chain) for chain in waiting], situation_of(waiting[0])
    for decided in pool([with_scales(each, factor) for each in found], situation):
        assert decided.trajectory_step == first_step("leapfrog", -np.log(INITIAL_EVENT_RATE))
        assert decided.log_process_time == pytest.approx(-np.log(INITIAL_EVENT_RATE))
        assert not decided.is_agreed


def test_in_a_round_the_integrator_is_not_judged_by_such_steps(waiting: list[Any]) -> None:
    situation = situation_of(waiting[0])
    in_round = next(index for index, stage in enumerate(situation.stages) if stage.round == 1)
    found = [with_scales(findings_of(chain), 1e3) for chain in waiting]
    for decided in pool(found, dataclasses.replace(situation, stage_index=in_round)):
        assert decided.trajectory_step == first_step(situation.integrator, -np.log(INITIAL_EVENT_RATE))
        assert not np.any(decided.tried.time_per_gradient)
        assert decided.next_stage == in_round + 1


def test_steps_are_shorter_by_the_level_of_the_new_metric(waiting: list[Any]) -> None:
    """In a metric twice as wide, and three times along one of three directions, by 2 * 3^(1/3)."""
    found = findings_of(waiting[0])
    found = dataclasses.replace(found, tried=TriedIntegrators(np.array([0.5, 0.6]), np.array([0.9, 0.8])))
    own = found.standardization
    assert own.rank[0] == 0
    new = NewStandardization(own.centre, 2.0 * own.scale, LowRank(np.array([[0.6, 0.8, 0.0]]), np.array([9.0])))
    changed = in_coordinates(found, new)
    factor = 2.0 * 3.0 ** (1 / 3)
    np.testing.assert_allclose(changed.tried.time_per_gradient, found.tried.time_per_gradient / factor)
    np.testing.assert_array_equal(changed.tried.acceptance, found.tried.acceptance)
    before, after = (each.step_tuner.log_value_average[0] for each in (found, changed))
    assert after == pytest.approx(before - np.log(factor))
    assert changed.log_process_time == found.log_process_time
    assert in_coordinates(found, None) is found
    narrowed = dataclasses.replace(changed, standardization=standardization_of(new))
    back = in_coordinates(narrowed, diagonal(own.centre, own.scale))
    np.testing.assert_allclose(back.tried.time_per_gradient, found.tried.time_per_gradient)


def standardization_of(new: NewStandardization) -> Standardization:
    made = init_standardization(new.centre, new.scale, max_rank=new.factor.rank)
    set_directions(made, *new.factor)
    return made


def test_a_chain_goes_back_only_to_a_log_density_that_is_far_higher() -> None:
    dim = 5
    model = independent_normals(np.ones(dim)).log_density()
    settings = run_settings(dim=dim, tune=1000, chains=1, event_rate="tuned", sample_interval=None)
    (chain,) = make_chains(model, settings, init=np.full((1, dim), 50.0))
    process = chain.process
    assert process.path.log_density[0] < -6000.0
    limit = FAR_HIGHER + FAR_HIGHER_PER_DIMENSION * dim
    process.highest[:] = 1.0
    process.path.highest_log_density = process.path.log_density[0] + 0.99 * limit
    go_to_highest(chain)
    assert process.path.log_density[0] < -6000.0
    process.path.highest_log_density = -0.5 * dim
    go_to_highest(chain)
    assert process.path.log_density[0] == pytest.approx(-0.5 * dim)
    np.testing.assert_allclose(process.standardization.centre, 1.0)
    np.testing.assert_allclose(process.standardization.scale, 1.0, rtol=0.5)
    assert not process.moments.weights.any()


def test_a_place_without_a_log_density_any_more_is_left_alone() -> None:
    is_gone = []

    def forgetful(q: np.ndarray) -> tuple[float, np.ndarray]:
        if is_gone:
            raise ValueError("gone")
        return -0.5 * float(q @ q), -q

    settings = run_settings(dim=2, tune=1000, chains=1, event_rate="tuned", sample_interval=None)
    (chain,) = make_chains(grhmc.from_python(forgetful, 2), settings, init=np.full((1, 2), 50.0))
    is_gone.append(True)
    before = chain.process.step.position.copy()
    chain.process.path.highest_log_density = 0.0
    go_to_highest(chain)
    np.testing.assert_array_equal(chain.process.step.position, before)
    assert chain.model.take_exception() is None
