"""Machines that lack something: output, a locale, a home, assertions; and warnings that are errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from numba.core import config

import grhmc
from grhmc.models.analytic import independent_normals
from grhmc.models.analytic_densities import analytic_density

IS_INTERPRETED = config.DISABLE_JIT  # pyright: ignore[reportAttributeAccessIssue]
HOMELESS = {"HOME": "/nonexistent/home", "XDG_CACHE_HOME": "/nonexistent/cache"}
C_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def run() -> Any:
    """A healthy run with all that belongs to it: progress, diagnosis, labels that are not ASCII."""
    target = independent_normals([1.0, 3.0])
    model = analytic_density(target.density, 2, target.parameters, names=["λ", "σ"])
    return grhmc.sample(model, draws=600, tune=600, seed=3)


def draws_of(result: Any) -> list[Any]:
    """Of both parameters."""
    return [result["posterior"][name].values.tolist() for name in ("λ", "σ")]


def write_draws(file: str) -> None:
    """The program of the other process."""
    is_optimized = sys.flags.optimize == 1
    result = run()
    table = grhmc.summary(result)
    words = [is_optimized, sys.stdout is None, sys.getfilesystemencoding(), list(table.index)]
    with open(file, "w", encoding="utf-8") as opened:
        json.dump({"words": words, "draws": draws_of(result)}, opened)


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
@pytest.mark.skipif(IS_INTERPRETED, reason="takes minutes without compilation; test_disable_jit.py runs without")
def test_a_run_needs_no_output_no_locale_no_home_and_no_assertions(tmp_path):
    file = tmp_path / "draws.json"
    command = [sys.executable, "-W", "error", "-O", __file__, str(file)]
    finished = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *command],
        env=os.environ | HOMELESS | C_LOCALE,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        timeout=600,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr.decode()
    found = json.loads(file.read_text(encoding="utf-8"))
    assert found["words"] == [True, True, "ascii", ["λ", "σ"]]
    assert found["draws"] == draws_of(run())


def test_the_package_is_a_command():
    finished = subprocess.run(
        [sys.executable, "-m", "grhmc", "--version"], capture_output=True, text=True, timeout=120, check=True
    )
    assert finished.stdout == f"grhmc {grhmc.__version__}\n"


if __name__ == "__main__":
    write_draws(sys.argv[1])
