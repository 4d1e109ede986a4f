"""Trajectories that fail and are retried with shorter steps: exact, because of what is asked of the way back.

The target is a needle in a haystack, 0.3 N(0, 0.03²) + 0.7 N(0, 1): the step that suits the haystack is thirty times
too long for the needle, and a third of all trajectories are retried.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
import pytest
from arviz_stats.base import array_stats

import grhmc
import grhmc.process.advance as advance_module
from grhmc.adaptation.stages_of_run import stages_of_run
from grhmc.adaptation.tuners.step_size import started_step_tuner
from grhmc.process.discrete import (
    DIVERGENCE_THRESHOLD,
    HALVING,
    LARGEST_STEP_DIVISION,
    SAME,
    follow_in_enough_steps,
)
from grhmc.process.statistics import STEP_SIZE
from grhmc.sampling import prepare
from grhmc.settings import Discrete, RunSettings, ScaleSettings
from kernel_helpers import changed_trajectories

pytestmark = pytest.mark.statistical

WEIGHT, WIDTH = 0.3, 0.03
DRAWS = 60_000


def log_density(q, gradient):
    haystack = math.exp(-0.5 * q[0] * q[0])
    needle = 0.3 / 0.7 / 0.03 * math.exp(-0.5 * (q[0] / 0.03) ** 2)
    gradient[0] = -(haystack * q[0] + needle * q[0] / 0.03**2) / (haystack + needle)
    return math.log(haystack + needle)


MODEL = grhmc.from_numba(log_density, 1)


def share_within(distance: float) -> float:
    """Exact probability of |q| < distance."""
    return WEIGHT * math.erf(distance / WIDTH / math.sqrt(2.0)) + (1.0 - WEIGHT) * math.erf(distance / math.sqrt(2.0))


EXACT = {"second moment": WEIGHT * WIDTH**2 + 1.0 - WEIGHT, "within two widths": share_within(2.0 * WIDTH)}


def sampled(advance: Any, step: float, momentum: Any, model: grhmc.LogDensity = MODEL) -> tuple[np.ndarray, np.ndarray]:
    """Draws and steps of four chains with a fixed step of the size `step`."""
    settings = RunSettings(
        draws=DRAWS,
        tune=0,
        chains=4,
        seed=5,
        process=Discrete(momentum=momentum, u_turns_per_refreshment=0.5),
        scale=ScaleSettings.parse([1.0], 1),
    )
    chains = prepare(model, settings, stages_of_run(settings, model.dim), None, None)
    for chain in chains:
        chain.process.step_tuner = started_step_tuner(step)
        chain.go_on(0)
        while chain.draws_done < DRAWS:
            advance(chain.process, chain.records, 100_000, DRAWS)
    return (
        np.array([chain.records.draws[:, 0] for chain in chains]),
        np.array([chain.records.statistics[:, STEP_SIZE] for chain in chains]),
    )


def distance(values: np.ndarray, exact: float) -> float:
    """Of the mean from the exact one, in standard errors."""
    return (values.mean() - exact) / (
        values.std() / math.sqrt(float(np.asarray(array_stats.ess(values, method="mean"))))
    )


def standard_errors(draws: np.ndarray) -> dict[str, float]:
    """How far each mean is from the exact one."""
    values = {"second moment": draws**2, "within two widths": (np.abs(draws) < 2.0 * WIDTH).astype(float)}
    return {name: distance(x, EXACT[name]) for name, x in values.items()}


@pytest.mark.parametrize("momentum", ["fresh", "persistent"])
@pytest.mark.parametrize("step", [1.0, 0.4])
def test_draws_are_exact(step: float, momentum: Any) -> None:
    draws, steps = sampled(advance_module.advance, step, momentum)
    assert np.mean(steps < 0.99 * step) > 0.15
    assert np.all(np.abs(list(standard_errors(draws).values())) < 4.0)


def test_steps_that_were_taken_are_reported() -> None:
    _, steps = sampled(advance_module.advance, 1.0, "fresh")
    allowed = [HALVING**-k for k in range(1 + round(math.log(LARGEST_STEP_DIVISION, HALVING)))]
    assert set(np.unique(steps)) <= set(allowed)
    assert len(np.unique(steps)) > 2


@pytest.mark.parametrize("momentum", [pytest.param("fresh", marks=pytest.mark.nightly), "persistent"])
def test_not_looking_at_the_way_back_is_noticed(momentum: Any) -> None:
    """The negative control: the same kernels, but every end that was reached by shorter steps may be accepted."""

    @numba.njit
    def anything_goes(process, duration, n_steps, step_division):
        return SAME

    draws, _ = sampled(changed_trajectories(compare_way_back=anything_goes), 1.0, momentum)
    assert np.abs(standard_errors(draws)["within two widths"]) > 6.0


# Two modes of unequal height, and between them a plateau 1000 below the left one: the threshold of a divergence.
PLATEAU = -1000.0
LEFT, RIGHT = (0.5 * (1.0 + math.erf(x / math.sqrt(2.0))) for x in (1.5, 2.0))


def with_a_plateau(q, gradient):
    if q[0] < -0.5:
        gradient[0] = -(q[0] + 2.0)
        return -0.5 * (q[0] + 2.0) ** 2
    if q[0] > 0.5:
        gradient[0] = -400.0 * (q[0] - 0.6)
        return -200.0 * (q[0] - 0.6) ** 2 + math.log(20.0)
    gradient[0] = 0.0
    return PLATEAU


@numba.njit
def judged_from_the_start_alone(process, duration, n_steps):
    """Accept ends of the last try above which the energy has risen too far, but not above the start."""
    path = process.path[0]
    end_time = path.time + duration * n_steps
    error, division = follow_in_enough_steps(process, duration, n_steps)
    if error > DIVERGENCE_THRESHOLD and abs(path.time - end_time) < 1e-9:  # it came to its end
        error = path.kinetic_energy - path.log_density - path.start_energy
    return error, division


@pytest.mark.parametrize("momentum", ["fresh", "persistent"])
def test_the_last_try_is_judged_from_both_ends(momentum: Any) -> None:
    model = grhmc.from_numba(with_a_plateau, 1)
    draws, _ = sampled(advance_module.advance, 1.4, momentum, model)
    share = RIGHT / (LEFT + RIGHT)
    assert abs(distance((draws > 0.0).astype(float), share)) < 4.0
    advance = changed_trajectories(follow_in_enough_steps=judged_from_the_start_alone)
    draws, _ = sampled(advance, 1.4, momentum, model)
    assert distance((draws > 0.0).astype(float), share) > 8.0  # the negative control
