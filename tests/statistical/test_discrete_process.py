"""The discrete process is exact at any step, with either integrator; what breaks its reversibility is noticed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import grhmc
from exact_expectations import assert_exact, compare_result, seed_for
from grhmc.dynamics.coefficients import RKN43
from grhmc.models.analytic import independent_normals, paper_target
from grhmc.run.programme import final_stage, warmup_stages
from grhmc.sampling import prepare, run_to_end
from grhmc.settings import ProcessSettings, RunSettings, ScaleSettings
from monte_carlo import assert_expectations

pytestmark = [pytest.mark.statistical, pytest.mark.filterwarnings("ignore::grhmc.SamplingWarning")]

INTEGRATORS = ("splitting", "leapfrog")
SMOOTH_TARGETS = ("G1", "G2", "G3", "G4", "NG1", "NG3")
"""Of the paper: those whose scale is nearly the same everywhere."""


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("tuner", ["vari", "isg", "mct", "geo"])
@pytest.mark.parametrize("name", SMOOTH_TARGETS)
def test_moments_are_exact(name: str, tuner: str, integrator: str) -> None:
    """Without the allowance that is made for the continuous process's bias: there is none."""
    assert_exact(
        paper_target(name),
        draws=8000,
        smallest_standard_error=0.0,
        largest_standard_error=0.05,
        scale=tuner,
        integrator=integrator,
        process="discrete",
    )


@pytest.mark.parametrize("target_accept", [0.6, 0.98])
@pytest.mark.parametrize("length_law", ["uniform", "exponential"])
def test_moments_are_exact_whatever_the_step_and_the_law_of_lengths(length_law: str, target_accept: float) -> None:
    assert_exact(
        independent_normals([1.0, 2.0, 0.1, 1.0], name="four normals"),
        draws=8000,
        smallest_standard_error=0.0,
        largest_standard_error=0.05,
        process=ProcessSettings("discrete", target_accept, length_law, 0.5),
    )


def assert_exact_with(change: Any, tableau: Any = None) -> None:
    """The usual check of normals, sampled at a long step with something of the chains changed."""
    target = independent_normals([1.0, 1.0, 1.0], name="three normals")
    model = target.log_density()

    def run(draws: int, seed: int):
        settings = RunSettings(
            draws=draws,
            tune=0,
            cores=2,
            seed=seed,
            progress_bar=False,
            process=ProcessSettings("discrete", u_turns_per_trajectory=0.5),
            scale=ScaleSettings.parse(target.sd, target.dim),
        )
        chains = prepare(model, settings, [*warmup_stages(settings), final_stage(settings)], None, None)
        for chain in chains:
            chain.start_trajectory_step_at(1.7)
            change(chain)
        return run_to_end(model, settings, chains, None)

    assert_expectations(
        run,
        lambda result: compare_result(result, target),
        draws=4000,
        seed=seed_for(target.name, tableau),
        largest_standard_error=0.05,
    )


def test_a_long_fixed_step_is_exact() -> None:
    """The positive control of the next test."""
    assert_exact_with(lambda chain: None)


def test_steps_that_cannot_be_reversed_are_noticed() -> None:
    """A Runge-Kutta-Nyström method neither preserves volume nor can be reversed; no Metropolis test mends that."""

    def use_rkn43(chain: Any) -> None:
        tableau = RKN43.to_arrays()
        chain.process.tableau = tableau
        chain.process.step = chain.process.step._replace(stage_forces=np.zeros((RKN43.n_stages, 3)))
        chain.process.step.stage_forces[0] = -chain.process.step.position

    with pytest.raises(AssertionError, match="twice"):
        assert_exact_with(use_rkn43, "rkn43")


def test_a_density_that_is_not_that_of_the_gradient_is_corrected_for() -> None:
    """The Metropolis test knows the density: a gradient wrong by a tenth costs acceptance, not truth."""
    sd = np.array([1.0, 2.0])
    target = independent_normals(sd, name="two normals")

    def density(q):
        return -0.5 * np.sum((q / sd) ** 2), -1.1 * q / sd**2

    model = grhmc.from_python(density, 2)

    def run(draws: int, seed: int):
        return grhmc.sample(
            model, draws=draws, tune=200, seed=seed, process="discrete", check_gradient=False, progress_bar=False
        )

    assert_expectations(
        run, lambda result: compare_result(result, target), draws=2000, seed=3, largest_standard_error=0.05
    )
