"""Broken samplers, which the checks of the other files must notice: each has one thing wrong."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest

import grhmc
from exact_expectations import assert_exact, compare_result, seed_for
from grhmc.adaptation.stages_of_run import stages_of_run
from grhmc.events.refreshment import GAUSSIAN_LAW, SPEED_WEIGHTED_LAW
from grhmc.models.analytic import AnalyticTarget, independent_normals, paper_target
from grhmc.running import run_to_end
from grhmc.sampling import prepare
from grhmc.settings import Continuous, RunSettings, ScaleSettings
from kernel_helpers import change_kernel_settings
from monte_carlo import assert_expectations

DRAWS = 4000

# What a run warns of is not the question here.
pytestmark = [pytest.mark.statistical, pytest.mark.filterwarnings("ignore::grhmc.SamplingWarning")]


def assert_exact_with_law(
    monkeypatch: pytest.MonkeyPatch, target: AnalyticTarget, *, law: int, kind: Any, **event_settings: Any
) -> None:
    """The usual check of a run at a fixed scale, its refreshment law overwritten."""
    model = target.log_density()
    change_kernel_settings(monkeypatch, law=law)

    def run(draws: int, seed: int):
        settings = RunSettings(
            draws=draws,
            tune=200,
            cores=2,
            seed=seed,
            progress_bar=False,
            process=Continuous("rkn43", event_rate_kind=kind, **event_settings),
            scale=ScaleSettings.parse(target.sd, target.dim),
        )
        chains = prepare(model, settings, stages_of_run(settings, model.dim), None, None)
        return run_to_end(model, settings, chains, None)

    def compare_run(result):
        return compare_result(result, target)

    assert_expectations(
        run, compare_run, draws=DRAWS, seed=seed_for(target.name, law, kind), largest_standard_error=0.04
    )


LOW_DIMENSIONAL = {
    "two normals": lambda: independent_normals([1.0, 2.0], name="two normals"),
    "four normals": lambda: independent_normals([1.0, 2.0, 0.5, 1.0], name="four normals"),
    "NG2": lambda: paper_target("NG2"),
}


@pytest.mark.parametrize("name", LOW_DIMENSIONAL)
def test_arc_length_rate_with_the_normal_refreshment_law_is_noticed(name: str, monkeypatch) -> None:
    with pytest.raises(AssertionError, match="twice"):
        assert_exact_with_law(monkeypatch, LOW_DIMENSIONAL[name](), law=GAUSSIAN_LAW, kind="arc_length")


@pytest.mark.parametrize("name", LOW_DIMENSIONAL)
def test_constant_rate_with_the_speed_weighted_law_is_noticed(name: str, monkeypatch) -> None:
    with pytest.raises(AssertionError, match="twice"):
        assert_exact_with_law(monkeypatch, LOW_DIMENSIONAL[name](), law=SPEED_WEIGHTED_LAW, kind="constant")


@pytest.mark.parametrize(("law", "kind"), [(SPEED_WEIGHTED_LAW, "arc_length"), (GAUSSIAN_LAW, "constant")])
@pytest.mark.parametrize("name", LOW_DIMENSIONAL)
def test_the_same_run_with_the_right_law_passes(name: str, law: int, kind: Any, monkeypatch) -> None:
    assert_exact_with_law(monkeypatch, LOW_DIMENSIONAL[name](), law=law, kind=kind)


@numba.njit
def normals_with_rescaled_gradient(q, gradient, sd, factor):
    """Independent normals whose gradient is that of the log density times `factor`."""
    log_density = 0.0
    for j in range(q.size):
        z = q[j] / sd[j]
        gradient[j] = -factor[j] * z / sd[j]
        log_density -= 0.5 * z * z
    return log_density


def assert_normals_are_exact(target: AnalyticTarget, factor: np.ndarray, *, scale: Any) -> None:
    """The usual check of normals whose gradient is wrong by a factor."""
    model = grhmc.from_numba(normals_with_rescaled_gradient, target.dim, data=(target.sd, factor))

    def run(draws: int, seed: int):
        return grhmc.sample(
            model,
            draws=draws,
            tune=200,
            seed=seed,
            scale=scale,
            # The splitting rejects paths, so that a wrong gradient costs effective draws only.
            process=grhmc.Continuous(integrator="rkn43"),
            check_gradient=False,
            progress_bar=False,
            cores=2,
        )

    def compare_run(result):
        return compare_result(result, target)

    assert_expectations(run, compare_run, draws=DRAWS, seed=seed_for(target.name), largest_standard_error=0.05)


def test_a_force_that_is_not_scaled_is_noticed() -> None:
    """The sampler multiplies the gradient by S: handed the gradient over S, its force is the bare gradient."""
    target = independent_normals([0.8, 1.2, 1.0], name="nearly equal normals")
    with pytest.raises(AssertionError, match="twice"):
        assert_normals_are_exact(target, 1.0 / target.sd, scale=target.sd)
    assert_normals_are_exact(target, np.ones(3), scale=target.sd)


@pytest.mark.parametrize("scale", ["isg", "vari"])
def test_a_gradient_wrong_by_a_tenth_is_noticed(scale: Any) -> None:
    target = independent_normals([1.0, 2.0], name="two normals")
    with pytest.raises(AssertionError, match="twice"):
        assert_normals_are_exact(target, np.array([1.1, 1.0]), scale=scale)


@pytest.mark.parametrize("name", ["NG2", "NG3"])
def test_a_too_loose_tolerance_is_noticed(name: str) -> None:
    """By its bias, or because so many paths are rejected."""
    with pytest.raises(AssertionError, match=r"twice|too few effective draws"):
        assert_exact(
            paper_target(name), draws=DRAWS, largest_standard_error=0.05, process=grhmc.Continuous(tolerance=1.0)
        )


def test_a_scale_that_freezes_a_coordinate_is_noticed() -> None:
    """Nothing is wrong with the law of such a chain; it only takes a million times too long to see it."""
    target = independent_normals([1.0, 1.0], name="two standard normals")
    with pytest.raises(AssertionError, match=r"too few effective draws|nothing moves"):
        assert_exact(target, draws=DRAWS, scale=[1.0, 1e-3])


def test_moments_of_another_target_are_noticed() -> None:
    """The check itself: a mean wrong by 0.05 standard deviations."""
    target = independent_normals([1.0, 1.0], mean=[0.0, 0.05], name="shifted")
    model = independent_normals([1.0, 1.0], name="not shifted").log_density()

    def run(draws: int, seed: int):
        return grhmc.sample(model, draws=draws, tune=200, seed=seed, progress_bar=False, cores=2)

    def compare_run(result):
        return compare_result(result, target)

    with pytest.raises(AssertionError, match="twice"):
        assert_expectations(run, compare_run, draws=16_000)
