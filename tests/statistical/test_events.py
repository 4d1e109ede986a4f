"""Both event rates, full and partial refreshment: each leaves the target unchanged, whatever the rate."""

from __future__ import annotations

from typing import Any

import pytest

import grhmc
from exact_expectations import assert_exact
from grhmc.adaptation.stages_of_run import final_stage
from grhmc.models.analytic import AnalyticTarget, independent_normals, paper_target
from grhmc.sampling import prepare
from grhmc.settings import Continuous, RunSettings, ScaleSettings

# What a run warns of is not the question here.
pytestmark = [pytest.mark.statistical, pytest.mark.filterwarnings("ignore::grhmc.SamplingWarning")]


def target_of(name: str) -> AnalyticTarget:
    """In few dimensions the refreshment law of the arc-length rate differs most from the normal one."""
    if name == "two normals":
        return independent_normals([1.0, 2.0], mean=[3.0, 0.0], name=name)
    return independent_normals([1.0], name=name) if name == "N(0, 1)" else paper_target(name)


@pytest.mark.parametrize("integrator", ["splitting", "rkn43", "rkn64"])
@pytest.mark.parametrize("refreshment", ["full", 0.7])
@pytest.mark.parametrize("kind", ["constant", "arc_length"])
@pytest.mark.parametrize("name", ["two normals", "NG2", "G4"])
def test_every_event_rate_and_refreshment_gives_exact_moments(
    name: str, kind: Any, refreshment: Any, integrator: Any
) -> None:
    assert_exact(
        target_of(name),
        draws=16_000,
        largest_standard_error=0.02,
        process=grhmc.Continuous(event_rate_kind=kind, refreshment=refreshment, integrator=integrator),
    )


@pytest.mark.parametrize("integrator", ["splitting", "rkn43", "rkn64"])
@pytest.mark.parametrize("refreshment", ["full", 0.7])
def test_moments_are_exact_in_one_dimension(refreshment: Any, integrator: Any) -> None:
    assert_exact(
        target_of("N(0, 1)"), draws=16_000, process=grhmc.Continuous(refreshment=refreshment, integrator=integrator)
    )


@pytest.mark.parametrize("integrator", ["splitting", "rkn43", "rkn64"])
def test_a_quiet_path_in_one_dimension_keeps_its_energy(integrator: Any) -> None:
    """At an amplitude of 0.01 the next event of the arc-length rate is about 100 time units away.

    A path that has lost its energy by then waits for ever: in one dimension this happens once in some 10 000 events.
    """
    settings = RunSettings(
        draws=1,
        tune=0,
        chains=1,
        seed=1,
        process=Continuous(integrator, event_rate=1e-9, event_rate_kind="arc_length", sample_interval=100.0),
        scale=ScaleSettings.parse([1.0], 1),
    )
    (chain,) = prepare(target_of("N(0, 1)").log_density(), settings, [final_stage(settings)], [0.0], None)
    process = chain.process
    process.step.momentum[:] = 0.01
    process.path.step_size = 0.1
    while chain.advance(1000) == grhmc.Outcome.RUNNING:
        continue
    energy = 0.5 * process.step.momentum[0] ** 2 - process.path.log_density[0]
    assert 0.5 < energy / (0.5 * 0.01**2) < 2.0


@pytest.mark.parametrize("kind", ["constant", "arc_length"])
@pytest.mark.parametrize("event_rate", [0.1, 1.0])
@pytest.mark.parametrize("name", ["G3", "NG3"])
def test_moments_are_exact_whatever_the_event_rate(name: str, event_rate: float, kind: Any) -> None:
    assert_exact(
        target_of(name),
        draws=16_000,
        largest_standard_error=0.05,
        process=grhmc.Continuous(event_rate=event_rate, event_rate_kind=kind, sample_interval=2.0),
        scale="vari",
    )


def test_moments_are_exact_with_a_refreshment_that_changes_little() -> None:
    assert_exact(
        target_of("NG2"),
        draws=16_000,
        largest_standard_error=0.02,
        process=grhmc.Continuous(event_rate=1.0, refreshment=0.9, sample_interval=2.0),
    )


@pytest.mark.parametrize("sample_interval", [0.3, 10.0])
def test_moments_are_exact_whatever_the_sample_interval(sample_interval: float) -> None:
    """A draw every fraction of a step, and one every few paths."""
    assert_exact(
        target_of("NG2"),
        draws=16_000,
        largest_standard_error=0.04,
        process=grhmc.Continuous(sample_interval=sample_interval),
    )
