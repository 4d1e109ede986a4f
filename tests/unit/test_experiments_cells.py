"""Cells of the paper's tables: files, resuming, planning, and the command's options."""

from __future__ import annotations

import dataclasses
import io
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from grhmc.cli.app import app
from grhmc.paper import figures, run_cells
from grhmc.paper.cells import Cell, CellResult, default_tolerance, load_cell, save_cell
from grhmc.paper.command import repeat_option_names
from grhmc.paper.run_cells import plan_cells, run_programme
from grhmc.paper.targets import TARGETS


def made_up_result(cell: Cell, seed: int = 0) -> CellResult:
    """A result with the shapes of a real one."""
    rng = np.random.default_rng(seed)
    dim = TARGETS[cell.target].dim
    per_trajectory = {name: rng.uniform(1.0, 2.0, (10, dim)) for name in ("scale", "centre", "last", "path_mean")}
    vectors = {name: rng.uniform(1.0, 2.0, dim) for name in ("mean", "mean_square", "sd", "sd_square")}
    return CellResult(
        cell=cell,
        names=tuple(f"x[{j}]" for j in range(dim)),
        ess=rng.uniform(1e4, 2e4, dim),
        ess_squared=rng.uniform(1e4, 2e4, dim),
        ess_trajectory=rng.uniform(1e3, 2e3, (10, dim)),
        probability=np.zeros((0, dim)),
        ess_probability=np.zeros((0, dim)),
        event_rate=rng.uniform(0.3, 0.5, 10),
        time_to_u_turn=rng.uniform(2.0, 3.0, 10),
        n_tuning=rng.integers(1000, 2000, 10),
        n_sampling=rng.integers(1000, 2000, 10),
        history_time=np.arange(5.0),
        history_scale=rng.uniform(1.0, 2.0, (10, 5, dim)),
        tuning_seconds=1.0,
        sampling_seconds=2.0,
        **per_trajectory,
        **vectors,
    )


CELL = Cell("G1", "isg", "rkn64", 1e-6, scale_down=20)


def silent_console() -> Console:
    return Console(file=io.StringIO())


def test_a_cell_is_the_same_after_saving_and_loading(tmp_path):
    result = made_up_result(CELL)
    save_cell(tmp_path, result)
    loaded = load_cell(tmp_path, CELL)
    assert loaded is not None
    for field in dataclasses.fields(CellResult):
        np.testing.assert_equal(getattr(loaded, field.name), getattr(result, field.name), err_msg=field.name)


@pytest.mark.parametrize(
    "change",
    [
        {"target": "G2"},
        {"method": "mct"},
        {"integrator": "splitting"},
        {"tolerance": 1e-5},
        {"scale_down": 10},
        {"seed": 1},
        {"event_rate_rule": "as_stated"},
    ],
)
def test_a_cell_with_any_other_setting_has_another_file(tmp_path, change):
    save_cell(tmp_path, made_up_result(CELL))
    assert load_cell(tmp_path, dataclasses.replace(CELL, **change)) is None


def test_a_run_goes_on_where_it_stopped(tmp_path, monkeypatch):
    cells = [CELL, dataclasses.replace(CELL, method="vari")]
    save_cell(tmp_path, made_up_result(cells[0], seed=5))
    ran = []

    def run(cell, cores=1):
        ran.append(cell)
        return made_up_result(cell)

    monkeypatch.setattr(run_cells, "run_cell", run)
    results = run_programme(cells, tmp_path, 1, silent_console()).results
    assert ran == [cells[1]]
    assert [result.cell for result in results] == cells
    np.testing.assert_array_equal(results[0].ess, made_up_result(cells[0], seed=5).ess)
    ran.clear()
    run_programme(cells, tmp_path, 1, silent_console())
    assert ran == []


def test_an_interrupt_keeps_what_is_finished_and_nothing_else(tmp_path, monkeypatch):
    cells = [CELL, dataclasses.replace(CELL, method="vari")]

    def run(cell, cores=1):
        if cell == cells[1]:
            raise KeyboardInterrupt
        return made_up_result(cell)

    monkeypatch.setattr(run_cells, "run_cell", run)
    with pytest.raises(KeyboardInterrupt):
        run_programme(cells, tmp_path, 1, silent_console())
    assert load_cell(tmp_path, cells[0]) is not None
    assert load_cell(tmp_path, cells[1]) is None


def test_a_damaged_file_is_run_again(tmp_path, monkeypatch):
    save_cell(tmp_path, made_up_result(CELL))
    path = tmp_path / CELL.file_name
    path.write_bytes(path.read_bytes()[:100])
    monkeypatch.setattr(run_cells, "run_cell", lambda cell, cores=1: made_up_result(cell))
    run_programme([CELL], tmp_path, 1, silent_console())
    assert load_cell(tmp_path, CELL) is not None


def test_a_plan_has_every_target_of_the_tables_asked_for():
    cells = plan_cells(
        tables=[1, 3], methods=["isg"], integrators=["rkn64", "splitting"], tolerance=None, scale_down=2, seed=1
    )
    assert [cell.target for cell in cells] == 2 * ["G1", "G2", "G3", "G4", "F1", "F2"]
    assert {cell.integrator: cell.tolerance for cell in cells} == {
        "rkn64": 1e-6,
        "splitting": default_tolerance("splitting"),
    }


def test_a_plan_can_be_of_some_targets_only():
    cells = plan_cells(
        tables=[1, 2, 3, 4],
        targets=["F2", "G3"],
        methods=["isg"],
        integrators=["lsoda"],
        tolerance=None,
        scale_down=2,
        seed=1,
    )
    assert [cell.target for cell in cells] == ["G3", "F2"]


def test_a_target_that_is_not_the_papers_is_rejected_with_those_that_are(tmp_path):
    result = CliRunner().invoke(app, ["paper", "--output", str(tmp_path), "--target", "G9"], env={"COLUMNS": "120"})
    assert result.exit_code == 2
    assert "G9" in result.output
    assert "G1, G2" in result.output


def test_shortened_runs_are_scaled_up_to_the_full_length():
    assert CELL.draws == 2500
    assert CELL.length_factor == 20.0
    assert Cell("G1", "isg", "rkn64", 1e-6).length_factor == 1.0


def test_list_options_take_their_values_in_either_form():
    spaced = ["--output", "d", "--tables", "1", "2", "--figures", "--method", "isg", "mct"]
    repeated = ["--output", "d", "--tables", "1", "--tables", "2", "--figures", "--method", "isg", "--method", "mct"]
    assert repeat_option_names(spaced) == repeated
    assert repeat_option_names(repeated) == repeated


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_cell_that_fails_does_not_stop_the_others(tmp_path, monkeypatch, jobs):
    def run(cell, cores=1):
        if cell.method == "isg":
            raise ZeroDivisionError("a broken target")
        return made_up_result(cell)

    monkeypatch.setattr(run_cells, "run_cell", run)
    # Threads in the place of processes, which would not see the change.
    monkeypatch.setattr(run_cells, "ProcessPoolExecutor", lambda max_workers, **_: ThreadPoolExecutor(max_workers))
    cells = [CELL, dataclasses.replace(CELL, method="vari"), dataclasses.replace(CELL, method="mct")]
    printed = io.StringIO()
    programme = run_programme(cells, tmp_path, jobs, Console(file=printed))
    assert [result.cell for result in programme.results] == cells[1:]
    assert list(programme.failures) == [CELL]
    assert "ZeroDivisionError: a broken target" in printed.getvalue()
    assert load_cell(tmp_path, CELL) is None


def test_the_command_reports_what_is_finished_and_fails_with_the_cell_that_failed(tmp_path, monkeypatch):
    def run(cell, cores=1):
        if cell.method == "isg":
            raise ZeroDivisionError
        return made_up_result(cell)

    monkeypatch.setattr(run_cells, "run_cell", run)
    arguments = ["paper", "--output", str(tmp_path), "--target", "G1", "--no-figures"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1
    assert "1 of 3 cells failed: G1 ISG" in result.output
    assert (tmp_path / "report.md").exists()


def test_a_report_from_finished_cells_runs_none(tmp_path, monkeypatch):
    def run(cell, cores=1):
        raise AssertionError("a cell was run")

    monkeypatch.setattr(run_cells, "run_cell", run)
    drawn = []
    monkeypatch.setattr("grhmc.paper.figures.draw_figures", lambda *arguments: drawn.append(arguments[2]) or [])
    arguments = ["paper", "--output", str(tmp_path), "--target", "G1", "--method", "isg", "geo", "--figures-only"]
    assert CliRunner().invoke(app, arguments).exit_code == 1  # there are none
    cell = Cell("G1", "isg", "rkn64", 1e-6)
    save_cell(tmp_path / "cells", made_up_result(cell))
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1, result.output  # made-up numbers disagree
    assert "Wrote tables.csv" in result.output
    assert [[one.cell for one in results] for results in drawn] == [[cell]]


def test_targets_outside_the_tables_asked_for_are_an_error_with_its_reason(tmp_path):
    arguments = ["paper", "--output", str(tmp_path), "--tables", "2", "--target", "G1"]
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "160"})
    assert result.exit_code == 2
    assert "no target is left" in result.output


def test_by_default_tables_are_run_at_the_published_tolerance_but_for_the_regressions():
    cells = plan_cells(methods=["mct", "geo"], integrators=None, tolerance=None, scale_down=1, seed=1)
    paths = {cell.target: (cell.integrator, cell.tolerance) for cell in cells}
    assert paths.pop("BLR1") == paths.pop("BLR2") == ("splitting", default_tolerance("splitting"))
    assert set(paths.values()) == {("rkn64", 1e-6)}
    assert len(cells) == 2 * (len(TARGETS) - 1)
    assert "SW" not in paths  # on request only
    asked = plan_cells(targets=["SW"], methods=["mct"], integrators=["rkn64"], tolerance=None, scale_down=1, seed=1)
    assert [(cell.target, cell.applies_at_crossing) for cell in asked] == [("SW", False)]
    # At the published tolerance MCT changes S at crossings, as published.
    assert {cell.target for cell in cells if not cell.applies_at_crossing} == {"BLR1", "BLR2"}
    assert all(cell.event_rate_rule == "as_run" for cell in cells)


def test_figures_take_the_first_cell_of_each_target_and_method(tmp_path, monkeypatch):
    seen = []
    for name in ("draw_paths", "draw_scale_traces", "draw_crossing_times", "draw_tolerance"):
        monkeypatch.setattr(figures, name, lambda *arguments: seen.append(arguments) or [])
    cells = [
        Cell("G1", "isg", "rkn64", 1e-6),
        Cell("BLR1", "isg", "splitting", 0.05),
        Cell("G1", "isg", "splitting", 0.05),
    ]
    figures.draw_figures(tmp_path, tmp_path, [made_up_result(cell) for cell in cells], 1, silent_console())
    assert [result.cell for result in seen[1][1]] == cells[:2]
