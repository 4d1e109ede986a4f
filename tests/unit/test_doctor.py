"""`grhmc doctor` says what is wrong with an installation, and what to do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from grhmc._kernel_cache import KernelCache
from grhmc.cli.app import app
from grhmc.doctor import compiled_kernels, core_check, examine, installation
from grhmc.doctor.compiled_kernels import Compilations, cache_finding
from grhmc.doctor.core_check import CoreRun, core_findings
from grhmc.doctor.finding import Finding


@pytest.fixture(scope="module")
def run() -> CoreRun:
    return core_check.run_core()


def invoke_doctor(monkeypatch, *findings: Finding):
    monkeypatch.setattr(examine, "examine", lambda: iter(findings))
    return CliRunner().invoke(app, ["doctor"], env={"NO_COLOR": "1"})


def states(findings):
    return {finding.name: finding.state for finding in findings}


def test_the_core_is_right_here(run):
    assert set(states(core_findings(run)).values()) == {"ok"}


def test_a_wrong_scale_of_the_draws_is_a_problem(run):
    wrong = core_check.MEAN + 1.15 * (run.draws - core_check.MEAN)
    found = core_findings(replace(run, draws=wrong, draws_with_threads=wrong))
    assert states(found) == {"the core is right": "problem", "known draws": "problem", "same draws in threads": "ok"}
    assert all(finding.advice for finding in found[:2])


def test_draws_that_are_right_but_not_the_known_ones_are_told_apart(run):
    other = run.draws[::-1, ::-1] + 1e-3 * core_check.SD
    found = states(core_findings(replace(run, draws=other, draws_with_threads=other)))
    assert (found["the core is right"], found["known draws"]) == ("ok", "problem")


def test_other_rounding_is_no_problem(run):
    rounded = run.draws * (1 + 1e-9)
    assert states(core_findings(replace(run, draws=rounded)))["known draws"] == "ok"


def test_draws_that_depend_on_threads_are_a_problem(run):
    moved = run.draws_with_threads + 1e-12
    assert states(core_findings(replace(run, draws_with_threads=moved)))["same draws in threads"] == "problem"


def test_draws_that_are_not_finite_are_a_problem(run):
    broken = np.where(np.arange(3) == 1, np.nan, run.draws)
    assert states(core_findings(replace(run, draws=broken)))["the core is right"] == "problem"


def test_an_optional_package_is_missing_importable_or_broken(tmp_path, monkeypatch):
    (tmp_path / "broken_front_end.py").write_text("raise RuntimeError('no such symbol')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = installation.optional_findings({"broken_front_end": "stan", "no_such_package": "jax", "rich": "plot"})
    assert [finding.state for finding in found] == ["problem", "ok", "ok"]
    assert "no such symbol" in found[0].text
    assert "pip install --force-reinstall broken_front_end" in found[0].advice
    assert found[1].text == "not installed (extra jax)"


def test_a_version_that_grhmc_does_not_take_is_a_problem(monkeypatch):
    monkeypatch.setattr(installation.importlib.metadata, "requires", lambda _: ["numpy>=1000", "nothing>1; extra=='x'"])
    found = list(installation.requirement_findings())
    assert states(found)["numpy"] == "problem"
    assert found[0].advice == "pip install 'numpy>=1000'"
    assert "nothing" not in states(found)


def test_the_cache_is_named_with_what_was_compiled(monkeypatch):
    loaded = cache_finding(Compilations(0, 0.5))
    assert loaded.state == "ok"
    assert loaded.text.startswith("nothing was compiled")
    assert "40 were compiled, 61 s" in cache_finding(Compilations(40, 61.0)).text


def test_a_cache_that_cannot_be_written_is_a_note_with_the_way_out(tmp_path, monkeypatch):
    cache = KernelCache(core_check.run_core, "")
    cache.folders = ([tmp_path / "part"], None)
    monkeypatch.setattr(compiled_kernels, "kernel_caches", lambda: [cache])
    found = cache_finding(Compilations(40, 61.0))
    assert found.state == "note"
    assert str(tmp_path) in found.text
    assert "NUMBA_CACHE_DIR" in found.advice


def test_the_kernels_caches_are_found():
    assert len(compiled_kernels.kernel_caches()) > 50


def test_the_command_exits_with_1_and_the_advice_if_there_is_a_problem(monkeypatch):
    result = invoke_doctor(monkeypatch, Finding("numpy", "problem", "1.0 [old]", "pip install 'numpy>=2'"))
    assert result.exit_code == 1
    assert "1.0 [old]" in result.stdout
    assert "→ pip install 'numpy>=2'" in result.stdout


def test_notes_do_not_fail_the_command(monkeypatch):
    result = invoke_doctor(monkeypatch, Finding("BLAS", "note", "none"), Finding("numpy", "ok", "2.0"))
    assert result.exit_code == 0
    assert "No problems." in result.stdout


def test_a_run_that_ends_with_an_error_is_a_problem(monkeypatch):
    def fail():
        raise RuntimeError("the kernel does not compile")

    monkeypatch.setattr(examine, "run_core", fail)
    monkeypatch.setattr(examine, "optional_findings", list)
    *_, last = examine.examine()
    assert last.state == "problem"
    assert "the kernel does not compile" in last.text


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_can_be_had_for_a_shell(shell, monkeypatch):
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    result = CliRunner().invoke(app, ["--show-completion", shell], prog_name="grhmc")
    assert result.exit_code == 0
    assert "_GRHMC_COMPLETE" in result.stdout
