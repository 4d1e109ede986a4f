"""`grhmc sample` and `grhmc compare` on models in files."""

import importlib.util
import json
from typing import Any

import pytest
import xarray
from typer.testing import CliRunner

from grhmc.cli.app import app

runner = CliRunner()
SHORT = ["--draws", "30", "--tune", "30", "--chains", "2", "--seed", "1"]
PYTHON_MODEL = """
import grhmc
model = grhmc.from_python(lambda q: (-0.5 * q @ q, -q), 2, ["a", "b"])
def make():
    return model
number = 3
"""
STAN_MODEL = "data { real m; } parameters { real x; } model { x ~ normal(m, 1); }"
needs_stanli = pytest.mark.skipif(
    importlib.util.find_spec("stanli") is None, reason="needs stanli: pip install 'grhmc[stan]'"
)


@pytest.fixture
def python_file(tmp_path):
    path = tmp_path / "my_model.py"
    path.write_text(PYTHON_MODEL)
    return path


@pytest.mark.parametrize("name", ["model", "make"])
def test_a_model_in_a_python_file_is_sampled(python_file, name):
    result = runner.invoke(app, ["sample", f"{python_file}:{name}", *SHORT])
    assert result.exit_code == 0, result.output
    assert "R-hat" in result.output


@pytest.mark.filterwarnings("ignore:.*data type:Warning")  # zarr 3 has no final word on strings
@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_draws_are_written_where_asked(python_file, tmp_path, suffix):
    pytest.importorskip("zarr" if suffix == ".zarr" else "h5netcdf", reason="needs pip install 'grhmc[store]'")
    output = tmp_path / "runs" / f"run{suffix}"
    result = runner.invoke(app, ["sample", f"{python_file}:model", "--output", str(output), *SHORT])
    assert result.exit_code == 0, result.output
    options: dict[str, Any] = {"engine": "zarr", "consolidated": False} if suffix == ".zarr" else {"engine": "h5netcdf"}
    with xarray.open_datatree(output, **options) as tree:
        assert tree["posterior"]["a"].shape == (2, 30)


@pytest.mark.parametrize("command", ["sample", "compare"])
def test_the_help_says_that_the_file_is_executed(command):
    words = " ".join(runner.invoke(app, [command, "--help"], env={"COLUMNS": "400", "TERM": "dumb"}).output.split())
    assert "is executed" in words


@needs_stanli
def test_nan_in_the_data_of_a_stan_program_is_named(tmp_path):
    program, data = tmp_path / "model.stan", tmp_path / "data.json"
    program.write_text(STAN_MODEL)
    data.write_text('{"m": NaN}')
    result = runner.invoke(app, ["sample", str(program), "--data", str(data), *SHORT])
    assert result.exit_code == 2
    assert "warning: data['m'] has 1 NaN, the first is the value m" in " ".join(result.output.split())


@needs_stanli
@pytest.mark.parametrize("command", ["sample", "compare"])
def test_a_stan_program_is_run_with_its_data(tmp_path, command):
    program, data = tmp_path / "model.stan", tmp_path / "data.json"
    program.write_text(STAN_MODEL)
    data.write_text(json.dumps({"m": 3.0}))
    result = runner.invoke(app, [command, str(program), "--data", str(data), *SHORT])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.py:model"], "missing.py"),
        (["{file}:nothing"], "no 'nothing'"),
        (["{file}:number"], "got int"),
        (["{file}:model", "--output", "run.csv"], ".zarr"),
        (["{file}:model", "--data", "d.json"], "--data"),
        (["missing.stan"], "missing.stan"),
        (["nonsense"], "file.py:name"),
    ],
)
def test_what_is_wrong_is_said_without_a_traceback(python_file, arguments, words):
    arguments = [argument.format(file=python_file) for argument in arguments]
    result = runner.invoke(app, ["sample", *arguments, *SHORT])
    assert result.exit_code == 2
    assert words in result.output.replace("\n", "")


def test_a_run_on_disk_is_resumed_and_extended(python_file, tmp_path):
    pytest.importorskip("zarr")
    model, store = f"{python_file}:model", str(tmp_path / "run.zarr")
    result = runner.invoke(app, ["sample", model, "--store", store, *SHORT])
    assert result.exit_code == 0, result.output
    assert runner.invoke(app, ["resume", store, model]).exit_code == 0
    result = runner.invoke(app, ["extend", store, model, "--draws", "20"])
    assert result.exit_code == 0, result.output
    assert xarray.open_datatree(store, engine="zarr")["posterior"].sizes["draw"] == 50
    result = runner.invoke(app, ["sample", model, "--store", store, *SHORT])
    assert result.exit_code == 2
    assert "grhmc.resume" in " ".join(result.output.split())


def test_a_run_ends_by_a_rule(python_file):
    arguments = [f"{python_file}:model", "--until-ess", "100", "--until-rhat", "1.5", "--seed", "1", "--chains", "2"]
    result = runner.invoke(app, ["sample", *arguments])
    assert result.exit_code == 0, result.output
    assert "Ended by ESS" in result.output
