"""The kernel's settings: one table of all, written where a stage begins, and read-only in kernels."""

from __future__ import annotations

import ast
import math
from pathlib import Path

import numpy as np
import pytest

import grhmc
from grhmc.adaptation.stage import Stage
from grhmc.adaptation.stages_of_run import stages_of_run
from grhmc.process.state import CONTINUOUS, DISCRETE, SETTINGS_DTYPE
from grhmc.run.kernel_settings import StageStart, kernel_settings, write_kernel_settings
from grhmc.settings import Continuous, Discrete, RunSettings

SOURCES = Path(grhmc.__file__).parent
START = StageStart(
    dim=3,
    integrator="splitting",
    time=10.0,
    n_gradients=500,
    log_time_to_u_turn=math.log(2.0),
    u_turns_per_refreshment=0.7,
    u_turns_per_draw=0.5,
    trajectory_step=0.4,
    hot_start=-7.0,
    noise=0.0,
    keeps_warmup=False,
    n_draws_of_run=2000,
)


def stages(settings: RunSettings) -> list[Stage]:
    return [*stages_of_run(settings, dim=3)]


@pytest.mark.parametrize("process", [Discrete(), Discrete(momentum="fresh"), Continuous(), Continuous(warmup="paper")])
def test_every_stage_has_a_number_for_every_field_in_order(process) -> None:
    settings = RunSettings(process=process)
    for stage in stages(settings):
        values = kernel_settings(settings, stage, START)
        assert tuple(values) == SETTINGS_DTYPE.names
        assert not any(math.isnan(value) for value in values.values())


def test_writing_replaces_all() -> None:
    settings = RunSettings()
    values = kernel_settings(settings, stages(settings)[-1], START)
    kernel = np.zeros(1, dtype=SETTINGS_DTYPE).view(np.recarray)
    write_kernel_settings(kernel, values)
    assert {name: kernel[name][0] for name in values} == values


def test_windows_are_by_the_continuous_process_and_end_by_their_gradients() -> None:
    settings = RunSettings()
    first, *_, last = stages(settings)
    window, sampling = (kernel_settings(settings, stage, START) for stage in (first, last))
    assert (window["process"], sampling["process"]) == (CONTINUOUS, DISCRETE)
    assert window["end_gradients"] == START.n_gradients + first.n_draws * first.most_gradients_per_draw
    assert sampling["end_gradients"] > 2**60
    assert window["end_time"] == pytest.approx(START.time + first.n_draws * first.u_turns_per_draw * 2.0)
    assert (window["record"], sampling["record"]) == (False, True)


def test_persistent_trajectories_make_up_the_spacing_of_draws() -> None:
    settings = RunSettings()
    values = kernel_settings(settings, stages(settings)[-1], START)
    # Trajectories of 0.4 of the momentum decorrelation time, draws 0.5 of the time to a U-turn apart.
    assert values["trajectories_per_draw"] == int(0.5 / (0.4 * 0.7) + 0.25)


def assigned_settings(source: str) -> list[str]:
    """What a source assigns to attributes, or elements, of anything called `settings`."""
    found = []
    for node in ast.walk(ast.parse(source)):
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AugAssign | ast.AnnAssign):
            targets = [node.target]
        parts = [part for target in targets for part in (target.elts if isinstance(target, ast.Tuple) else [target])]
        owners = [ast.unparse(part.value) for part in parts if isinstance(part, ast.Attribute | ast.Subscript)]
        found += [owner for owner in owners if "settings" in owner]
    return found


@pytest.mark.parametrize(
    "line",
    ["settings.law = 1", "process.settings[0].law += 1", "a, settings.law = 0, 1", "process.settings[0] = values"],
)
def test_an_assignment_is_noticed(line: str) -> None:
    assert assigned_settings(line)


@pytest.mark.parametrize("package", ["process", "run", "adaptation", "events"])
def test_nothing_else_writes_them(package: str) -> None:
    for file in (SOURCES / package).rglob("*.py"):
        assert assigned_settings(file.read_text()) == [], file


def test_only_hot_windows_have_hot_momenta_and_only_so_far_down() -> None:
    settings = RunSettings()
    for stage in stages(settings):
        values = kernel_settings(settings, stage, START)
        assert (values["momentum_factor"] > 1.0) == stage.is_hot
        assert values["lowest_hot_log_density"] == pytest.approx(-7.0 - 6.0 * math.sqrt(3.0))
