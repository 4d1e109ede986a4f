"""`grhmc paper --model`: the paper's comparison on a model of one's own."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from typer.testing import CliRunner

from grhmc.cli.app import app
from grhmc.paper import own_model
from grhmc.paper.own_model import own_model as load

MODEL = """
import grhmc

def normal(q, grad, sd):
    log_density = 0.0
    for j in range(q.size):
        grad[j] = -q[j] / sd[j] ** 2
        log_density -= 0.5 * (q[j] / sd[j]) ** 2
    return log_density

narrow = grhmc.from_numba(normal, 2, ["a", "b"], data=([1.0, SD],))
"""


@pytest.fixture
def model_file(tmp_path):
    path = tmp_path / "two normals.py"
    path.write_text(MODEL.replace("SD", "5.0"), encoding="utf-8")
    return path


def paper(*arguments: str):
    return CliRunner().invoke(app, ["paper", *map(str, arguments)], env={"COLUMNS": "200"})


def test_a_model_of_ones_own_gets_tables_and_figures_without_verdicts(tmp_path, model_file, monkeypatch):
    output = tmp_path / "out"
    arguments = [
        "--output",
        output,
        "--model",
        f"{model_file}:narrow",
        "--scale-down",
        "200",
        "--method",
        "vari",
        "mct",
    ]
    arguments += ["--integrator", "splitting", "--jobs", "2"]
    result = paper(*arguments)
    assert result.exit_code == 0, result.output
    assert "worst ESS per 100 000 evaluations VARI" in result.output
    report = (output / "report.md").read_text(encoding="utf-8")
    for words in ("two_normals-narrow", "splitting, tolerance 0.05", "| MCT | b |", "against the other methods"):
        assert words in report
    assert "agree" not in report
    assert (output / "report.html").read_text(encoding="utf-8").count("<img") == 2
    with (output / "tables.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["method"], row["name"]) for row in rows] == [(m, n) for m in ("vari", "mct") for n in ("a", "b")]
    np.testing.assert_allclose([float(row["s_mean"]) for row in rows], [1.0, 5.0, 1.0, 5.0], rtol=0.1)

    # Nothing is run again, and nothing of another model is taken for this one.
    monkeypatch.setattr(own_model, "run_cell_on", lambda *_: pytest.fail("a finished cell was run"))
    assert paper(*arguments, "--figures-only").exit_code == 0
    assert paper(*arguments, "--no-figures").exit_code == 0
    before = load(f"{model_file}:narrow").fingerprint
    model_file.write_text(MODEL.replace("SD", "6.0"), encoding="utf-8")
    assert load(f"{model_file}:narrow").fingerprint != before


def test_one_method_that_fails_does_not_stop_the_others(tmp_path, model_file, monkeypatch):
    run = own_model.run_cell_on

    def fails_for_mct(model, cell, cores):
        if cell.method == "mct":
            raise ZeroDivisionError("a broken tuner")
        return run(model, cell, cores)

    monkeypatch.setattr(own_model, "run_cell_on", fails_for_mct)
    arguments = ["--output", tmp_path / "out", "--model", f"{model_file}:narrow", "--scale-down", "2500"]
    result = paper(*arguments, "--method", "mct", "isg", "--integrator", "splitting", "--no-figures")
    assert result.exit_code == 1
    assert "failed, ZeroDivisionError: a broken tuner" in result.output
    assert "ISG" in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--model", "missing.py:model"], "no file"),
        (["--model", "missing.py"], "file.py:name"),
        (["--model", "a.py:model", "--target", "G1"], "leave out --tables and --target"),
        (["--data", "data.json"], "--data is for"),
    ],
)
def test_wrong_options_are_named(tmp_path, options, words):
    result = paper("--output", tmp_path / "out", *options)
    assert result.exit_code == 2
    assert words in result.output
