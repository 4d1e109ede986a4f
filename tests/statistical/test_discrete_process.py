"""The discrete process is exact at any step, with either integrator; what breaks its reversibility is noticed."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest

import grhmc
import grhmc.run.chain as chain_module
from exact_expectations import assert_exact, compare_result, seed_for
from grhmc.adaptation.stages_of_run import stages_of_run
from grhmc.adaptation.tuners.step_size import started_step_tuner
from grhmc.dynamics.coefficients import RKN43
from grhmc.models.analytic import independent_normals, paper_target
from grhmc.running import run_to_end
from grhmc.sampling import prepare
from grhmc.settings import RunSettings, ScaleSettings
from kernel_helpers import changed_trajectories
from monte_carlo import assert_expectations

pytestmark = [pytest.mark.statistical, pytest.mark.filterwarnings("ignore::grhmc.SamplingWarning")]

INTEGRATORS = ("splitting", "leapfrog")
SMOOTH_TARGETS = ("G1", "G2", "G3", "G4", "NG1", "NG3")
"""Of the paper: those whose scale is nearly the same everywhere."""


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("tuner", ["vari", "isg", "mct", "geo"])
@pytest.mark.parametrize("name", SMOOTH_TARGETS)
def test_moments_are_exact(name: str, tuner: Any, integrator: Any) -> None:
    """Without the allowance that is made for the continuous process's bias: there is none."""
    assert_exact(
        paper_target(name),
        draws=8000,
        smallest_standard_error=0.0,
        largest_standard_error=0.05,
        scale=tuner,
        process=grhmc.Discrete(integrator=integrator),
    )


@pytest.mark.parametrize("target_accept", [0.6, 0.98])
@pytest.mark.parametrize(
    ("momentum", "length_law"), [("persistent", "uniform"), ("fresh", "uniform"), ("fresh", "exponential")]
)
@pytest.mark.parametrize("u_turns_per_refreshment", [0.1, 0.5, 2.5])
def test_moments_are_exact_whatever_the_step_and_the_momentum(
    momentum: Any, length_law: Any, target_accept: float, u_turns_per_refreshment: float
) -> None:
    assert_exact(
        independent_normals([1.0, 2.0, 0.1, 1.0], name="four normals"),
        draws=8000,
        smallest_standard_error=0.0,
        largest_standard_error=0.05,
        process=grhmc.Discrete(target_accept, momentum, "auto", length_law, u_turns_per_refreshment),
    )


def use_leapfrog(chain: Any) -> None:
    chain.process.step_tuner = started_step_tuner(0.8)
    chain.use_integrator("leapfrog")


def assert_exact_with(change: Any, tableau: Any = None, *, dim: int = 3, draws: int = 4000, **process: Any) -> None:
    """The usual check of normals, sampled at a fixed step with something of the chains changed."""
    target = independent_normals(np.ones(dim), name=f"{dim} normals")
    model = target.log_density()

    def run(draws: int, seed: int):
        settings = RunSettings(
            draws=draws,
            tune=0,
            cores=2,
            seed=seed,
            progress_bar=False,
            process=grhmc.Discrete(**process),
            scale=ScaleSettings.parse(target.sd, target.dim),
        )
        chains = prepare(model, settings, stages_of_run(settings, model.dim), None, None)
        for chain in chains:
            change(chain)
        return run_to_end(model, settings, chains, None)

    assert_expectations(
        run,
        lambda result: compare_result(result, target),
        draws=draws,
        seed=seed_for(target.name, tableau),
        smallest_standard_error=0.0,
        largest_standard_error=0.05,
    )


def use_long_steps(chain: Any) -> None:
    chain.process.step_tuner = started_step_tuner(1.5)


def test_a_long_fixed_step_is_exact() -> None:
    """The positive control of the next test."""
    assert_exact_with(use_long_steps, momentum="fresh", u_turns_per_refreshment=1.0)


def test_a_long_fixed_step_is_exact_with_a_momentum_that_persists() -> None:
    """The positive control of the next test. In one dimension, where a wrong sign after rejections has most effect."""
    assert_exact_with(use_leapfrog, dim=1, draws=20_000, momentum="persistent", u_turns_per_refreshment=0.7)


def test_a_momentum_that_is_not_reversed_after_a_rejection_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the reversal partial refreshment and rejection do not leave the target unchanged (Horowitz 1991)."""

    @numba.njit
    def leave(momentum):
        return None

    monkeypatch.setattr(chain_module, "advance", changed_trajectories(reverse=leave))
    with pytest.raises(AssertionError, match="twice"):
        assert_exact_with(use_leapfrog, dim=1, draws=20_000, momentum="persistent", u_turns_per_refreshment=0.7)


def test_steps_that_cannot_be_reversed_are_noticed() -> None:
    """A Runge-Kutta-Nyström method neither preserves volume nor can be reversed; no Metropolis test mends that."""

    def use_rkn43(chain: Any) -> None:
        use_long_steps(chain)
        tableau = RKN43.to_arrays()
        chain.process.tableau = tableau
        chain.process.step = chain.process.step._replace(stage_forces=np.zeros((RKN43.n_stages, 3)))
        chain.process.step.stage_forces[0] = -chain.process.step.position

    with pytest.raises(AssertionError, match="twice"):
        assert_exact_with(use_rkn43, "rkn43", momentum="fresh", u_turns_per_refreshment=1.0)


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
