"""Which integrator trajectories get: leapfrog is tried first, the splitting where it could be better."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from grhmc.adaptation.integrator_choice import IntegratorChoice, TriedIntegrators, choose_integrator
from grhmc.adaptation.pooling import Decision, pool
from grhmc.adaptation.stage import Stage
from grhmc.adaptation.tuners.step_size import init_step_tuner, longest_step, mean_acceptance, started_step_tuner
from grhmc.dynamics.standardization import init_standardization
from grhmc.run.cross_chain import findings_of
from grhmc.settings import SYMPLECTIC_INTEGRATORS
from waiting_chains import situation_of, waiting_chains

LOG_TIME = np.log(3.0)
LONGEST = longest_step(LOG_TIME)
SPLITTING, LEAPFROG = (SYMPLECTIC_INTEGRATORS.index(name) for name in ("splitting", "leapfrog"))


def tried(splitting: tuple[float, float], leapfrog: tuple[float, float]) -> TriedIntegrators:
    """Of each its time per gradient over the longest step, and its acceptance."""
    rows = np.zeros((2, 2))
    rows[:, [SPLITTING, LEAPFROG]] = np.array([splitting, leapfrog]).T
    return TriedIntegrators(rows[0] * LONGEST, rows[1])


def choice(splitting: tuple[float, float], leapfrog: tuple[float, float], *, energy: bool = False) -> IntegratorChoice:
    return choose_integrator(tried(splitting, leapfrog), LOG_TIME, is_limited_by_energy=energy)


NOT_TRIED = (0.0, 0.0)


def test_the_splitting_gets_a_round_where_it_may_be_better() -> None:
    found = choice(NOT_TRIED, (0.6, 0.8))
    assert found.integrator == "splitting"
    assert not found.is_final
    assert found.step == pytest.approx(LONGEST)  # no longer than that, though 2 * 0.6 is more


def test_it_gets_none_where_leapfrog_is_ahead_of_its_longest_step() -> None:
    found = choice(NOT_TRIED, (0.65, 0.8))  # half of the longest step is the most that the splitting goes per gradient
    assert (found.integrator, found.is_final) == ("leapfrog", True)
    assert found.step == pytest.approx(0.65 * LONGEST)


@pytest.mark.parametrize(
    ("splitting_acceptance", "leapfrog", "expected"),
    [(1.0, 0.6, "splitting"), (1.0, 0.67, "leapfrog"), (0.9, 0.6, "leapfrog"), (0.9, 0.57, "splitting")],
)
def test_what_counts_is_time_that_is_accepted(splitting_acceptance: float, leapfrog: float, expected: str) -> None:
    found = choice((0.5, splitting_acceptance), (leapfrog, 0.8))
    assert (found.integrator, found.is_final) == (expected, True)
    assert found.step == pytest.approx(LONGEST if expected == "splitting" else leapfrog * LONGEST)


@pytest.mark.parametrize(
    ("energy", "splitting", "expected"),
    [(False, 0.3, "leapfrog"), (True, 0.3, "splitting"), (True, 0.45, "leapfrog")],
)
def test_where_energy_limits_and_a_narrow_place_holds_steps_back_the_splitting_stays(
    energy: bool, splitting: float, expected: str
) -> None:
    assert choice((splitting, 0.85), (0.6, 0.8), energy=energy).integrator == expected


def test_no_time_counts_for_more_than_the_longest_step() -> None:
    """A change of the metric may lengthen what was found beyond it."""
    assert choice((0.5, 0.85), (3.0, 0.4)).integrator == "splitting"
    assert choice((0.5, 0.85), (3.0, 0.8)).step == pytest.approx(LONGEST)


def test_mean_acceptance_is_that_of_what_the_tuner_has_seen() -> None:
    tuner = init_step_tuner(0.3)
    assert mean_acceptance(tuner, 0.8) == pytest.approx(0.8)
    seen = [1.0, 0.5, -1.0, 0.9]
    tuner.sum_error[0] = sum(0.8 - each for each in seen)
    tuner.iteration[0] += len(seen)
    assert mean_acceptance(tuner, 0.8) == pytest.approx(np.mean(seen))


def in_round(number: int) -> Any:
    return lambda stage: stage.round == number


@pytest.fixture(scope="module")
def waiting() -> list[Any]:
    return waiting_chains(4, scale="geo", process="discrete", waits_at=in_round(1))


def decided(
    chains: list[Any], integrator: str, step: float, before: TriedIntegrators, at: int, scale: float = 1.0
) -> Decision:
    """After round `at` by `integrator`, whose tuned step is `step` over the longest, with an acceptance of 0.8.

    All that has been found is as if it had been found at `scale` times the scale.
    """
    found = [
        replace(
            each,
            step_tuner=started_step_tuner(step * LONGEST),
            log_process_time=LOG_TIME,
            mean_acceptance=0.8,
            tried=before,
            standardization=init_standardization(each.standardization.centre, scale * each.standardization.scale),
        )
        for each in map(findings_of, chains)
    ]
    situation = situation_of(chains[0])
    index = next(number for number, stage in enumerate(situation.stages) if stage.round == at)
    return pool(found, replace(situation, stage_index=index, integrator=integrator))[0]


def stage_after(chains: list[Any], decision: Decision) -> Stage:
    return chains[0].stages[decision.next_stage]


def test_chains_that_agree_go_on_with_what_is_left_to_be_tried(waiting: list[Any]) -> None:
    decision = decided(waiting, "leapfrog", 0.3, tried(NOT_TRIED, NOT_TRIED), at=1)
    assert decision.is_agreed
    assert decision.integrator == "splitting"
    assert stage_after(waiting, decision).round == 2
    assert decision.trajectory_step == pytest.approx(2.0 * decision.tried.time_per_gradient[LEAPFROG])
    decision = decided(waiting, "leapfrog", 1.0, tried(NOT_TRIED, NOT_TRIED), at=1)
    assert decision.integrator == "leapfrog"
    assert stage_after(waiting, decision).name == "settling"
    assert decision.trajectory_step == pytest.approx(decision.tried.time_per_gradient[LEAPFROG])


def test_both_are_compared_after_a_round_of_each(waiting: list[Any]) -> None:
    decision = decided(waiting, "splitting", 1.0, tried(NOT_TRIED, (0.3, 0.8)), at=2)
    assert decision.integrator == "splitting"
    assert stage_after(waiting, decision).name == "settling"
    assert np.all(decision.tried.time_per_gradient > 0.0)
    np.testing.assert_allclose(decision.tried.acceptance, 0.8)


def test_steps_that_were_found_at_too_large_a_scale_are_longer_at_the_new_one(waiting: list[Any]) -> None:
    """At three times the scale both had steps of a third; the one compared as it was found would be behind."""
    right = decided(waiting, "splitting", 0.6, tried(NOT_TRIED, (0.6, 0.8)), at=2)
    rescaled = decided(waiting, "splitting", 0.2, tried(NOT_TRIED, (0.2, 0.8)), at=2, scale=3.0)
    assert right.integrator == rescaled.integrator == "leapfrog"
    assert rescaled.trajectory_step == pytest.approx(right.trajectory_step)
    np.testing.assert_allclose(rescaled.tried.time_per_gradient, right.tried.time_per_gradient)
