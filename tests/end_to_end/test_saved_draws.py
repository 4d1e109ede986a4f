"""The commands write before they print: what a terminal or a disk cannot take does not cost the draws."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from typer.testing import CliRunner

import synthetic_runs
from forked_scripts import run_script
from grhmc.cli import output
from grhmc.cli.app import app

pytest.importorskip("h5netcdf", reason="needs pip install 'grhmc[store]'")

SHORT = ["--draws", "30", "--tune", "30", "--chains", "2", "--seed", "1"]
MODELS = """
import grhmc
greek = grhmc.from_python(lambda q: (-0.5 * q @ q, -q), 2, ["α", "β"])
calls = 0
def density(q):
    global calls
    calls += 1
    if calls > 600:
        raise ValueError("no more")
    return -0.5 * q @ q, -q
failing = grhmc.from_python(density, 2, ["α", "β"])
"""


@pytest.fixture
def models(tmp_path: Path) -> Path:
    path = tmp_path / "models_for_saving.py"
    path.write_text(MODELS, encoding="utf-8")
    return path


def draws_in(path: Path) -> Any:
    with xarray.open_datatree(path, engine="h5netcdf") as tree:
        return tree["posterior"]["α"].to_numpy()


def test_names_that_the_terminal_cannot_show_are_shown_as_escapes(models: Path, tmp_path: Path) -> None:
    result = CliRunner(charset="cp1252").invoke(
        app, ["sample", f"{models}:greek", "--output", str(tmp_path / "run.nc"), *SHORT]
    )
    assert result.exit_code == 0, result.exception
    assert "\\u03b1" in result.output
    assert draws_in(tmp_path / "run.nc").shape == (2, 30)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a device that is full")
def test_a_full_disk_behind_the_standard_streams_leaves_the_file(models: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from grhmc.cli.app import app; app()", "sample", f"{models}:greek", *SHORT]
    with open("/dev/full", "wb") as full:
        finished = subprocess.run(
            [*command, "--output", str(tmp_path / "run.nc")], stdout=full, stderr=full, timeout=300, check=False
        )
    assert finished.returncode != 0  # the table is not where it should be
    assert draws_in(tmp_path / "run.nc").shape == (2, 30)


def test_the_draws_before_an_error_are_written(models: Path, tmp_path: Path) -> None:
    long = ["--draws", "1000", "--tune", "20", "--chains", "1", "--seed", "1"]
    result = CliRunner().invoke(app, ["sample", f"{models}:failing", "--output", str(tmp_path / "run.nc"), *long])
    assert result.exit_code == 2
    assert "no more" in result.output
    assert "made until then" in result.output
    n_chains, n_draws = draws_in(tmp_path / "run.nc").shape
    assert n_chains == 1
    assert 0 < n_draws < 1000


def test_what_cannot_be_written_there_is_written_elsewhere(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, full, spare = output.write_result, tmp_path / "full", tmp_path / "spare"
    spare.mkdir()

    def write(result: xarray.DataTree, path: Path) -> None:
        if path.parent == full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written(result, path)

    monkeypatch.setattr(output, "write_result", write)
    monkeypatch.setattr(tempfile, "tempdir", str(spare))
    result = CliRunner().invoke(app, ["sample", f"{models}:greek", "--output", str(full / "run.nc"), *SHORT])
    assert result.exit_code == 2
    assert "No space left" in result.output.replace("\n", " ")
    (path,) = spare.glob("grhmc-*/run.nc")
    assert path.parent.name in result.output.replace("\n", "")
    assert draws_in(path).shape == (2, 30)
    assert list(full.iterdir()) == []


LIMITED = """
import resource, sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
import synthetic_runs
from grhmc.cli.output import write_result

result = synthetic_runs.make_result(2, n_draws=5000)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    write_result(result, Path(sys.argv[1]))
except OSError as error:
    print("OSError:", error)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no limit on the size of files")
@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_a_file_for_which_there_is_no_room_is_an_error_and_leaves_nothing(tmp_path: Path, suffix: str) -> None:
    """The HDF5 library crashes the process where it meets the end of a disk."""
    if suffix == ".zarr":
        pytest.importorskip("zarr")
    folder = tmp_path / "folder"
    folder.mkdir()
    if suffix == ".nc":
        (folder / "run.nc").write_text("as it was")
    printed = run_script(LIMITED, str(folder / f"run{suffix}"), str(Path(__file__).parents[1]))
    if suffix == ".nc":
        assert printed.startswith("OSError: [Errno 27]")
        assert (folder / "run.nc").read_text() == "as it was"
        assert [path.name for path in folder.iterdir()] == ["run.nc"]
    elif "OSError" in printed:  # its chunks are files of their own, each of which may be small enough
        assert list(folder.iterdir()) == []


def test_a_file_that_is_not_whole_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = synthetic_runs.make_result(2)
    whole = xarray.DataTree.to_netcdf

    def without_a_group(tree: xarray.DataTree, path: Path, engine: Any) -> None:
        parts = {name: child.to_dataset() for name, child in tree.children.items() if name != "tuning"}
        whole(xarray.DataTree.from_dict(parts), path, engine=engine)

    def without_the_last_draw(tree: xarray.DataTree, path: Path, engine: Any) -> None:
        parts = {name: child.to_dataset() for name, child in tree.children.items()}
        statistics = parts["sample_stats"]
        is_last = statistics["draw"] == statistics["draw"][-1]
        parts["sample_stats"] = statistics.assign(lp=statistics["lp"].where(~is_last, 0.0))
        whole(xarray.DataTree.from_dict(parts), path, engine=engine)

    for damaged, words in ((without_a_group, "tuning is not complete"), (without_the_last_draw, "last draw")):
        monkeypatch.setattr(xarray.DataTree, "to_netcdf", damaged)
        with pytest.raises(OSError, match=words):
            output.write_result(result, tmp_path / "run.nc")
        assert list(tmp_path.iterdir()) == []


def test_the_room_a_file_needs_is_not_underestimated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reserved: list[int] = []
    monkeypatch.setattr(output.os, "posix_fallocate", lambda _file, _start, size: reserved.append(size))
    for n_draws in (1, 20, 5000):
        path = tmp_path / f"{n_draws}.nc"
        output.write_result(synthetic_runs.make_result(2, n_draws=n_draws, n_warmup=5), path)
        assert path.stat().st_size <= reserved[-1] <= 2 * path.stat().st_size + 500_000
    assert len(np.unique(reserved)) == 3
