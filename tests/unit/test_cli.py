"""The commands print tables, leave files, and say in a line what is wrong."""

import builtins
import warnings

import pytest
from typer.testing import CliRunner

import synthetic_runs
from grhmc import Continuous, Discrete, __version__, sampling
from grhmc.cli.app import app
from grhmc.comparison import run as comparison
from grhmc.diagnosis import Finding, Report, SamplingWarning
from grhmc.outcomes import Outcome, SamplingError

SMALL = ["--draws", "20", "--tune", "20", "--chains", "2"]


@pytest.fixture
def fake_sample(monkeypatch):
    """Replace the sampler by one that answers at once; return the list of its calls."""
    calls = []

    def sample(model, **arguments):
        calls.append(arguments)
        names = list(model.coordinate_names)
        return synthetic_runs.make_result(2, names, model.dim, n_draws=20)

    monkeypatch.setattr(sampling, "sample", sample)
    monkeypatch.setattr(comparison, "sample", sample)
    return calls


def invoke(*arguments: str, code: int = 0):
    result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "120", "NO_COLOR": "1"})
    assert result.exit_code == code, result.output
    return result


def test_version():
    assert invoke("--version").stdout == f"grhmc {__version__}\n"


def test_help_names_the_commands():
    output = invoke("--help").output
    assert "demo" in output
    assert "compare" in output


def test_demo_prints_both_tables_and_fills_the_folder_it_names(fake_sample, tmp_path):
    folder = tmp_path / "new" / "folder"
    output = invoke("demo", "--output", str(folder), "--seed", "7", *SMALL).stdout
    for word in ("intercept", "bulk ESS", "vari", "isg", "mct", "geo", str(folder)):
        assert word in output
    assert output.splitlines()[-2].startswith("Time: ")
    assert output.splitlines()[-1].startswith("of which the sampler: ")
    assert {path.name for path in folder.iterdir()} == {
        "trace.png", "scale.png", "crossing-times.png", "ess.png", "draws.nc",
    }  # fmt: skip
    assert all(path.stat().st_size > 5000 for path in folder.iterdir())
    assert len(fake_sample) == 5
    assert {call["seed"] for call in fake_sample} == {7}
    assert {call["draws"] for call in fake_sample} == {20}


def test_demo_does_without_the_extras_and_names_them(fake_sample, tmp_path, monkeypatch):
    real_import = builtins.__import__

    def without_extras(name, *arguments, **keywords):
        if name.split(".")[0] in ("matplotlib", "h5netcdf"):
            raise ImportError(name)
        return real_import(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without_extras)
    output = invoke("demo", "--output", str(tmp_path), *SMALL).stdout
    assert "pip install 'grhmc[plot]'" in output
    assert "pip install 'grhmc[store]'" in output
    assert list(tmp_path.iterdir()) == []


def test_demo_says_where_it_cannot_write(fake_sample, tmp_path):
    (tmp_path / "file").touch()
    result = invoke("demo", "--output", str(tmp_path / "file"), *SMALL, code=2)
    assert "error:" in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize(("target", "parameter"), [("g4", "x[9]"), ("NG2", "x[1]"), ("German", "amount_100dm")])
def test_compare_knows_the_papers_targets(fake_sample, target, parameter):
    options = ["--process", "continuous", "--integrator", "rkn64", "--tolerance", "1e-3"]
    output = invoke("compare", target, *options).stdout
    assert parameter in output
    assert len(fake_sample) == 4
    assert {call["process"] for call in fake_sample} == {Continuous("rkn64", 1e-3)}


@pytest.mark.parametrize("command", ["sample", "compare"])
def test_a_process_its_target_and_a_budget_can_be_asked_for(fake_sample, python_model, command):
    invoke(command, python_model, "--target-accept", "0.8", "--gradient-budget", "50")
    assert {(call["process"], call["gradient_budget"]) for call in fake_sample} == {(Discrete(0.8), 50)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--tolerance", "0.1"], "--tolerance is for --process continuous"),
        (["--process", "continuous", "--target-accept", "0.9"], "--target-accept is for --process discrete"),
        (["--integrator", "rkn64"], "'rkn64' is one of grhmc.Continuous"),
    ],
)
def test_an_option_of_the_other_process_is_an_error(fake_sample, python_model, options, message):
    assert message in words(invoke("sample", python_model, *options, code=2).stderr)
    assert fake_sample == []


def test_an_unknown_target_is_answered_with_the_known_ones(fake_sample):
    result = invoke("compare", "G9", code=2)
    assert "target must be one of pima, german, G1, G2" in result.stderr
    assert "Traceback" not in result.output


def test_a_chain_that_cannot_go_on_is_explained(monkeypatch):
    def sample(model, **arguments):
        raise SamplingError("chain 2 is enclosed", Outcome.STUCK)

    monkeypatch.setattr(comparison, "sample", sample)
    assert "error: chain 2 is enclosed" in invoke("compare", code=2).stderr


@pytest.mark.parametrize("option", [["--draws", "0"], ["--chains", "0"], ["--seed", "-1"]])
def test_numbers_out_of_range_are_rejected(fake_sample, option):
    invoke("demo", *option, code=2)
    assert fake_sample == []


def test_a_real_comparison_of_a_small_target():
    output = invoke("compare", "G1", *SMALL).stdout
    assert "x[0]" in output
    assert "geo" in output


FINDING = Finding("r_hat", "warning", "R-hat of [a] is 3: the chains disagree.", ("[a]",))


@pytest.fixture
def doubtful_sample(monkeypatch):
    """A sampler whose draws are in doubt with every tuner, and that says two other things."""

    def sample(model, **arguments):
        result = synthetic_runs.make_result(2, list(model.coordinate_names), model.dim, n_draws=20)
        report = Report((FINDING,))
        result.attrs["diagnosis"] = report.to_json()
        warnings.warn("the log density does not depend on [a]", stacklevel=2)
        warnings.warn("the log density does not depend on [a]", stacklevel=2)
        warnings.warn(SamplingWarning("these draws are in doubt (grhmc.diagnose):\n- words", report), stacklevel=2)
        return result

    monkeypatch.setattr(sampling, "sample", sample)
    monkeypatch.setattr(comparison, "sample", sample)
    return sample


@pytest.fixture
def python_model(tmp_path):
    path = tmp_path / "a_model.py"
    path.write_text("import grhmc\nmodel = grhmc.from_python(lambda q: (-0.5 * q @ q, -q), 2)\n")
    return f"{path}:model"


def words(text):
    """Without frames and line breaks."""
    return " ".join(text.replace("│", " ").split())


def test_what_is_in_doubt_is_said_once_and_without_a_line_of_code(doubtful_sample, python_model):
    result = invoke("sample", python_model)
    assert "R-hat" in result.stdout
    assert "disagree" not in result.stdout
    assert words(result.stderr).count("r_hat: R-hat of [a] is 3: the chains disagree.") == 1
    assert result.stderr.count("warning: the log density does not depend on [a]") == 1
    assert "SamplingWarning" not in result.stderr
    assert ".py:" not in result.stderr


def test_draws_in_doubt_are_an_exit_code_for_those_who_ask(doubtful_sample, python_model):
    invoke("sample", python_model, "--strict", code=3)


def test_draws_that_are_not_in_doubt_pass_the_strictest(fake_sample, python_model):
    assert invoke("sample", python_model, "--strict").stderr == ""


def test_a_comparison_says_of_each_tuner_what_is_in_doubt_and_warns_once(doubtful_sample):
    result = invoke("compare", "G1")
    for tuner in ("vari", "isg", "mct", "geo"):
        assert f"{tuner} is in doubt: r_hat" in result.stdout
        assert words(result.stderr).count(f"with scale='{tuner}', R-hat of [a] is 3") == 1
    assert result.stderr.count("in doubt") == 1


def test_the_demo_shows_both_warnings(doubtful_sample, tmp_path):
    result = invoke("demo", "--output", str(tmp_path), *SMALL)
    assert words(result.stderr).count("R-hat of [a] is 3") == 5


@pytest.mark.parametrize("command", ["sample", "compare"])
def test_an_interrupt_has_its_exit_code_and_shows_what_there_is(monkeypatch, python_model, command):
    def sample(model, **arguments):
        result = synthetic_runs.make_result(2, list(model.coordinate_names), model.dim, n_draws=20)
        result.attrs["outcomes"] = "INTERRUPTED, STAGE_DONE"
        warnings.warn("interrupted: the result holds 20 of 1000 draws", stacklevel=2)
        return result

    monkeypatch.setattr(sampling, "sample", sample)
    monkeypatch.setattr(comparison, "sample", sample)
    result = invoke(command, python_model, code=130)
    assert "warning: interrupted: the result holds 20" in result.stderr
    assert "x[0]" in result.stdout


def test_an_interrupt_before_the_first_draw_has_it_too(monkeypatch, python_model):
    def sample(model, **arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(sampling, "sample", sample)
    assert "Stopped" in invoke("sample", python_model, code=130).stderr
