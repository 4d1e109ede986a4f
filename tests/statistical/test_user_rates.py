"""An event rate of one's own leaves the target unchanged, whatever it depends on; a wrong refreshment does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import grhmc
from exact_expectations import assert_exact, compare_result, seed_for
from grhmc.adaptation.stages_of_run import stages_of_run
from grhmc.events.refreshment import GAUSSIAN_LAW, USER_LAW
from grhmc.models.analytic import AnalyticTarget, independent_normals, paper_target
from grhmc.running import run_to_end
from grhmc.sampling import prepare
from grhmc.settings import Continuous, RunSettings, ScaleSettings
from kernel_helpers import change_kernel_settings
from monte_carlo import assert_expectations, compare_values
from user_rates import RATES

# What a run warns of is not the question here.
pytestmark = [pytest.mark.statistical, pytest.mark.filterwarnings("ignore::grhmc.SamplingWarning")]

TARGETS = {
    "two normals": lambda: independent_normals([1.0, 2.0], mean=[3.0, 0.0], name="two normals"),
    "NG2": lambda: paper_target("NG2"),
}


@pytest.mark.parametrize("integrator", [pytest.param("splitting", marks=pytest.mark.nightly), "rkn64"])
@pytest.mark.parametrize("refreshment", ["full", 0.7])
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("name", ["two normals", pytest.param("NG2", marks=pytest.mark.nightly)])
def test_moments_are_exact_under_a_rate_of_ones_own(name: str, rate: str, refreshment: Any, integrator: Any) -> None:
    assert_exact(
        TARGETS[name](),
        draws=16_000,
        largest_standard_error=0.02,
        process=Continuous(event_rate_kind=RATES[rate], refreshment=refreshment, integrator=integrator),
    )


def assert_exact_with_law(monkeypatch: pytest.MonkeyPatch, target: AnalyticTarget, rate: str, law: int) -> None:
    """The usual check of a run at a fixed scale, its refreshment law overwritten."""
    model = target.log_density()
    change_kernel_settings(monkeypatch, law=law)

    def run(draws: int, seed: int) -> Any:
        settings = RunSettings(
            draws=draws,
            tune=200,
            cores=2,
            seed=seed,
            progress_bar=False,
            process=Continuous("rkn43", event_rate_kind=RATES[rate]),
            scale=ScaleSettings.parse(target.sd, target.dim),
        )
        return run_to_end(
            model, settings, prepare(model, settings, stages_of_run(settings, model.dim), None, None), None
        )

    assert_expectations(
        run,
        lambda result: compare_result(result, target),
        draws=4000,
        seed=seed_for(target.name, law, rate),
        largest_standard_error=0.04,
    )


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("rate", ["momentum", "both"])
def test_normal_momenta_are_noticed_where_the_rate_depends_on_momentum(name: str, rate: str, monkeypatch) -> None:
    with pytest.raises(AssertionError, match="twice"):
        assert_exact_with_law(monkeypatch, TARGETS[name](), rate, GAUSSIAN_LAW)


@pytest.mark.parametrize(("rate", "law"), [("momentum", USER_LAW), ("both", USER_LAW), ("place", GAUSSIAN_LAW)])
@pytest.mark.parametrize("name", TARGETS)
def test_the_same_run_with_the_right_law_passes(name: str, rate: str, law: int, monkeypatch) -> None:
    assert_exact_with_law(monkeypatch, TARGETS[name](), rate, law)


@pytest.mark.parametrize("rate", RATES)
def test_in_continuous_time_momenta_are_normal_and_independent_of_places(rate: str) -> None:
    """Just after an event they are not: that is what the rate makes up for."""
    target = TARGETS["two normals"]()

    def run(draws: int, seed: int) -> Any:
        return grhmc.sample(
            target.log_density(),
            draws=draws,
            tune=300,
            seed=seed,
            progress_bar=False,
            process=Continuous("rkn64", event_rate_kind=RATES[rate]),
        )

    def compare_run(result: Any) -> list[Any]:
        statistics = result["sample_stats"]
        log_density = statistics["lp"].to_numpy()
        kinetic = statistics["energy"].to_numpy() + log_density
        potential = log_density.max() - log_density
        return [
            compare_values("kinetic energy", kinetic, 1.0),
            compare_values("its square", kinetic**2, 2.0),
            compare_values("P(kinetic < 1)", (kinetic < 1.0).astype(float), 1.0 - np.exp(-1.0)),
            compare_values("its covariance with potential energy", (kinetic - 1.0) * potential, 0.0),
        ]

    assert_expectations(run, compare_run, draws=8000, seed=seed_for(rate), largest_standard_error=0.02)
