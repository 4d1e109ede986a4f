"""Which integrator trajectories get: leapfrog is tried first, the splitting where it could be better."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from grhmc.adaptation.pooling import Decision, pool
from grhmc.adaptation.stage import Stage
from grhmc.adaptation.tuners.step_size import longest_step, started_step_tuner
from grhmc.run.cross_chain import findings_of
from grhmc.settings import SYMPLECTIC_INTEGRATORS
from waiting_chains import situation_of, waiting_chains

LOG_TIME = np.log(3.0)
SPLITTING, LEAPFROG = (SYMPLECTIC_INTEGRATORS.index(name) for name in ("splitting", "leapfrog"))


def in_round(number: int) -> Any:
    return lambda stage: stage.round == number


@pytest.fixture(scope="module")
def waiting() -> list[Any]:
    return waiting_chains(4, scale="geo", process="discrete", waits_at=in_round(1))


def decided(chains: list[Any], integrator: str, step: float, before: tuple[float, float], at: int) -> Decision:
    """After round `at` by `integrator`, whose tuned step is `step` over the longest; `before`: by time per gradient."""
    tried = np.zeros(2)
    tried[[SPLITTING, LEAPFROG]] = before
    found = [
        replace(
            findings_of(chain),
            step_tuner=started_step_tuner(step * longest_step(LOG_TIME)),
            log_process_time=LOG_TIME,
            time_per_gradient=tried * longest_step(LOG_TIME),
        )
        for chain in chains
    ]
    situation = situation_of(chains[0])
    index = next(number for number, stage in enumerate(situation.stages) if stage.round == at)
    return pool(found, replace(situation, stage_index=index, integrator=integrator))[0]


def stage_after(chains: list[Any], decision: Decision) -> Stage:
    return chains[0].stages[decision.next_stage]


def test_the_splitting_gets_a_round_where_it_may_be_better(waiting: list[Any]) -> None:
    decision = decided(waiting, "leapfrog", 0.5, before=(0.0, 0.0), at=1)
    assert decision.is_agreed
    assert decision.integrator == "splitting"
    assert stage_after(waiting, decision).round == 2
    assert decision.trajectory_step == pytest.approx(2 * 0.5 * longest_step(LOG_TIME))


def test_it_gets_none_where_leapfrog_is_ahead_of_its_longest_step(waiting: list[Any]) -> None:
    decision = decided(waiting, "leapfrog", 0.7, before=(0.0, 0.0), at=1)  # 0.5 of a step per gradient is its most
    assert decision.integrator == "leapfrog"
    assert stage_after(waiting, decision).name == "settling"
    assert decision.trajectory_step == pytest.approx(0.7 * longest_step(LOG_TIME))


@pytest.mark.parametrize(("leapfrog", "expected"), [(0.55, "splitting"), (0.65, "leapfrog")])
def test_leapfrog_must_go_a_quarter_further_per_gradient(waiting: list[Any], leapfrog: float, expected: str) -> None:
    decision = decided(waiting, "splitting", 1.0, before=(0.0, leapfrog), at=2)
    assert decision.integrator == expected
    assert stage_after(waiting, decision).name == "settling"
    np.testing.assert_allclose(decision.time_per_gradient[[SPLITTING, LEAPFROG]], np.array([0.5, leapfrog]) * 1.5)
