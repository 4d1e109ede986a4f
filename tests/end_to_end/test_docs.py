"""The code on pages of the documentation does what it says there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def code_of(page: str) -> str:
    return "\n".join(BLOCK.findall((PAGES / page).read_text(encoding="utf-8")))


def test_long_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("zarr")
    monkeypatch.chdir(tmp_path)
    exec(compile(code_of("long-runs.md"), "long-runs.md", "exec"), {"__name__": "page"})
    printed = capsys.readouterr().out
    assert "\n6000\n" in printed
    assert "ESS" in printed
    assert "SamplingRun: pausing" in printed


@pytest.mark.nightly
def test_cluster(tmp_path, monkeypatch):
    import grhmc
    import short_runs

    pytest.importorskip("cloudpickle")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__", "grhmc": grhmc, "model": short_runs.model()}
    exec(compile(code_of("cluster.md"), "cluster.md", "exec"), names)
    assert "RayExecutor" in names
