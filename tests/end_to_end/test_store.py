"""Runs on disk: they are those in memory, and one that was cut off goes on with the same draws."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import grhmc
import short_runs
from grhmc.results.checkpoint import CheckpointError
from grhmc.storage import checkpoints, run_store
from grhmc.storage.fingerprint import DifferentRunError
from grhmc.storage.folders import LocalFolder
from grhmc.storage.result import open_result
from grhmc.storage.run_store import StoreError
from loaded_module import load_module

zarr = pytest.importorskip("zarr")

CONTINUOUS = grhmc.Continuous(tolerance=0.1)
TIMES = ("warmup_seconds", "sampling_seconds")


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    """A checkpoint after every block, chunks of few draws, and no waiting for the disk."""
    monkeypatch.setattr(os, "fsync", lambda file: None)
    monkeypatch.setattr(checkpoints, "INTERVAL_SECONDS", 0.0)
    monkeypatch.setattr(checkpoints, "_WRITING_SHARE", 0.0)
    monkeypatch.setattr(run_store, "rows_of_chunk", lambda dim: 32)


def assert_same(first: Any, second: Any) -> None:
    """Every group of both results has the same variables, labels and numbers, but for times and chains' states."""
    assert set(first.children) - {"checkpoint"} == set(second.children) - {"checkpoint"}
    for group in set(first.children) & set(second.children) - {"checkpoint"}:
        one, other = first[group].to_dataset(), second[group].to_dataset()
        assert set(one.data_vars) == set(other.data_vars), group
        assert set(one.coords) == set(other.coords), group
        for name in one.variables:
            if name not in TIMES:
                assert one[name].dims == other[name].dims
                assert one[name].attrs == other[name].attrs
                np.testing.assert_array_equal(one[name].to_numpy(), other[name].to_numpy(), err_msg=f"{group}.{name}")
    without = {"created_at", *TIMES}
    attributes = [{k: v for k, v in each.attrs.items() if k not in without} for each in (first, second)]
    assert attributes[0] == attributes[1]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"save_warmup": True, "draws": 101},
        {"process": CONTINUOUS, "draws": 300, "save_warmup": True},
        {"scale": "mct", "draws": 20},
        {"var_names": ["b"], "cores": 2},
        {"log_likelihood": "b", "save_warmup": True},
    ],
    ids=["default", "warm-up kept", "continuous", "mct", "one variable", "log likelihood"],
)
def test_a_run_on_disk_is_the_run_in_memory(tmp_path, settings):
    in_memory = short_runs.sample(**settings)
    stored = short_runs.sample(store=tmp_path / "run.zarr", **settings)
    assert_same(in_memory, stored)
    opened = xarray.open_datatree(tmp_path / "run.zarr", engine="zarr")
    assert_same(in_memory, opened)
    assert grhmc.diagnose(opened).to_json() == grhmc.diagnose(in_memory).to_json()


def test_draws_are_read_when_they_are_asked_for(tmp_path):
    stored = short_runs.sample(store=tmp_path / "run.zarr")
    assert not stored["posterior"]["a"].variable._in_memory


def test_a_chain_keeps_no_more_than_a_chunk_in_memory(tmp_path, monkeypatch):
    sizes = []
    write = run_store.RunStore.after_block

    def watched(self, chain):
        sizes.append(len(chain.records.draws))
        write(self, chain)

    monkeypatch.setattr(run_store.RunStore, "after_block", watched)
    for process in ("discrete", "continuous"):
        short_runs.sample(store=tmp_path / process, draws=150, process=process)
        assert max(sizes) < 100


def test_a_url_will_do(tmp_path):
    stored = short_runs.sample(store=f"memory://{tmp_path.name}/run.zarr")
    assert_same(short_runs.sample(), stored)
    assert_same(stored, grhmc.resume(f"memory://{tmp_path.name}/run.zarr", short_runs.model(), progress_bar=False))


class FullDisk:
    """A disk that takes so many more files, and then no more; the last one is left half written."""

    def __init__(self, n_files: int) -> None:
        self.n_left = n_files
        self._write = LocalFolder.write
        self._write_rows = run_store.RunStore._write_rows

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        disk = self

        def write(folder: LocalFolder, name: str, content: bytes) -> None:
            disk.count(folder.path, name)
            disk._write(folder, name, content)

        def write_rows(store: run_store.RunStore, chain: Any, n_rows: int) -> None:
            disk.count(None, "")
            disk._write_rows(store, chain, n_rows)

        monkeypatch.setattr(LocalFolder, "write", write)
        monkeypatch.setattr(run_store.RunStore, "_write_rows", write_rows)

    def count(self, folder: Path | None, name: str) -> None:
        self.n_left -= 1
        if self.n_left < 0:
            if folder is not None:
                (folder / f".grhmc-{name}").mkdir(exist_ok=True)  # as a killed process would leave it
            raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("process", ["discrete", "continuous"])
@pytest.mark.parametrize("n_files", [30, *(pytest.param(n, marks=pytest.mark.nightly) for n in (7, 14, 20, 45, 60))])
def test_a_run_that_the_disk_had_no_room_for_goes_on_where_it_was(tmp_path, monkeypatch, process, n_files):
    settings: dict[str, Any] = {"process": process, "draws": 400, "tune": 200, "save_warmup": True, "cores": 2}
    place = tmp_path / "run.zarr"
    with monkeypatch.context() as patched:
        FullDisk(n_files).install(patched)
        with pytest.raises(StoreError, match=r"could not be written to .*No space left.*grhmc.resume") as caught:
            short_runs.sample(store=place, **settings)
    assert caught.value.errno == errno.ENOSPC
    resumed = grhmc.resume(place, short_runs.model(), progress_bar=False)
    assert_same(short_runs.sample(**settings), resumed)
    assert not list((place / "sampler").glob(".grhmc-*"))


def test_a_disk_that_is_full_from_the_beginning_is_an_error_before_sampling(tmp_path, monkeypatch):
    FullDisk(0).install(monkeypatch)
    with pytest.raises(StoreError, match="could not be written"):
        short_runs.sample(store=tmp_path / "run.zarr")


class Raises:
    """A callback that ends a run at its n-th call."""

    def __init__(self, n_calls: int, error: BaseException) -> None:
        self.n_left, self.error = n_calls, error

    def __call__(self, snapshots: list[grhmc.ChainSnapshot]) -> None:
        self.n_left -= 1
        if self.n_left <= 0:
            raise self.error


def test_a_run_that_an_error_ended_is_readable_and_goes_on(tmp_path):
    settings: dict[str, Any] = {"draws": 600, "cores": 2}
    place = tmp_path / "run.zarr"
    with pytest.raises(ZeroDivisionError) as caught:
        short_runs.sample(store=place, callback=Raises(1, ZeroDivisionError("mine")), **settings)
    partial: Any = caught.value.partial_result  # pyright: ignore[reportAttributeAccessIssue]
    whole = grhmc.resume(place, short_runs.model(), progress_bar=False)
    n_draws = partial["posterior"].sizes["draw"]
    assert 0 <= n_draws <= 600
    np.testing.assert_array_equal(partial["posterior"]["a"].to_numpy(), whole["posterior"]["a"].to_numpy()[:, :n_draws])
    assert_same(short_runs.sample(**settings), whole)


def files_below(folder: Path) -> dict[str, tuple[int, bytes]]:
    """When each was written, and what it holds."""
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.rglob("*") if path.is_file()}


def test_resuming_a_complete_run_gives_its_result_and_writes_nothing(tmp_path):
    stored = short_runs.sample(store=tmp_path / "run.zarr", var_names=["b"])
    before = files_below(tmp_path)
    assert_same(stored, grhmc.resume(tmp_path / "run.zarr", short_runs.model(), progress_bar=False))
    assert files_below(tmp_path) == before


def test_resuming_a_complete_run_warns_again(tmp_path):
    settings: dict[str, Any] = {"store": tmp_path / "run.zarr", "draws": 30, "tune": 0, "init": [[-9.0] * 3, [9.0] * 3]}
    with pytest.warns(grhmc.SamplingWarning) as first:
        short_runs.sample(**settings)
    with pytest.warns(grhmc.SamplingWarning) as again:
        grhmc.resume(tmp_path / "run.zarr", short_runs.model(), progress_bar=False)
    assert str(again[0].message) == str(first[0].message)
    assert again[0].filename == __file__


def test_a_complete_run_that_was_not_diagnosed_is_when_it_is_resumed(tmp_path):
    short_runs.sample(store=tmp_path / "run.zarr", diagnose=False)
    resumed = grhmc.resume(tmp_path / "run.zarr", short_runs.model(), progress_bar=False)
    assert_same(short_runs.sample(), resumed)


def test_an_extended_run_is_the_longer_run(tmp_path):
    short_runs.sample(store=tmp_path / "run.zarr")
    extended = grhmc.extend(tmp_path / "run.zarr", short_runs.model(), draws=250, progress_bar=False)
    longer = short_runs.sample(draws=350)
    for group in ("posterior", "sample_stats", "unconstrained_posterior"):
        for name in longer[group].data_vars:
            np.testing.assert_array_equal(extended[group][name].to_numpy(), longer[group][name].to_numpy())
    assert extended["time_average"].sizes["interval"] == 175  # of two draws each, as before
    assert extended.attrs["draws"] == 350
    again = grhmc.extend(tmp_path / "run.zarr", short_runs.model(), draws=50, progress_bar=False)
    assert again["posterior"].sizes["draw"] == 400


def test_the_log_likelihood_grows_with_the_run(tmp_path):
    settings: dict[str, Any] = {"log_likelihood": "b", "diagnose": False}
    for first in (short_runs.sample(store=tmp_path / "run.zarr", **settings), short_runs.sample(**settings)):
        extended = grhmc.extend(first, short_runs.model(), draws=50, progress_bar=False, diagnose=False)
        assert set(extended["posterior"].data_vars) == {"a"}
        np.testing.assert_array_equal(
            extended["log_likelihood"]["b"].to_numpy(), short_runs.sample(draws=150)["posterior"]["b"].to_numpy()
        )


def test_an_extended_run_of_the_continuous_process_has_evenly_spaced_draws(tmp_path):
    settings: dict[str, Any] = {"process": grhmc.Continuous(sample_interval=0.2), "diagnose": False}
    first = short_runs.sample(store=tmp_path / "run.zarr", **settings).load()
    extended = grhmc.extend(tmp_path / "run.zarr", short_runs.model(), draws=200, progress_bar=False, diagnose=False)
    times = extended["sample_stats"]["process_time"].to_numpy()
    np.testing.assert_array_equal(times[:, :100], first["sample_stats"]["process_time"].to_numpy())
    gaps = np.diff(times, axis=1)
    np.testing.assert_allclose(np.delete(gaps, 99, axis=1), 0.2)
    assert np.all(gaps[:, 99] >= 0.2 - 1e-9)


def test_a_run_that_a_rule_ended_can_be_extended(tmp_path):
    stopped = short_runs.sample(store=tmp_path / "run.zarr", until={"ess": 150}, draws=5000)
    n_draws = stopped["posterior"].sizes["draw"]
    assert "ESS" in stopped.attrs["stopped_by"]
    extended = grhmc.extend(tmp_path / "run.zarr", short_runs.model(), draws=100, progress_bar=False)
    assert extended["posterior"].sizes["draw"] == n_draws + 100
    longer = short_runs.sample(draws=n_draws + 100)
    np.testing.assert_array_equal(extended["posterior"]["b"].to_numpy(), longer["posterior"]["b"].to_numpy())


def test_a_rule_ends_a_run_that_was_cut_off_where_it_would_have_ended(tmp_path, monkeypatch):
    settings: dict[str, Any] = {"until": {"ess": 400}, "draws": 5000}
    place = tmp_path / "run.zarr"
    with monkeypatch.context() as patched:
        FullDisk(75).install(patched)
        with pytest.raises(StoreError):
            short_runs.sample(store=place, **settings)
    undisturbed = short_runs.sample(**settings)
    assert_same(undisturbed, grhmc.resume(place, short_runs.model(), progress_bar=False))
    assert_same(undisturbed, grhmc.resume(place, short_runs.model(), progress_bar=False))


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore:stopped by max_time")  # where one chain has next to nothing yet
def test_a_run_that_its_time_ended_goes_on(tmp_path):
    settings: dict[str, Any] = {"draws": 1500}
    place = tmp_path / "run.zarr"
    with contextlib.suppress(grhmc.SamplingError):  # no draw yet, on a busy machine
        short_runs.sample(store=place, max_time=0.1, tune=0, **settings, diagnose=False)
    resumed = grhmc.resume(place, short_runs.model(), max_time=1e6, progress_bar=False, diagnose=False)
    whole = short_runs.sample(tune=0, **settings, diagnose=False)
    np.testing.assert_array_equal(short_runs.draws_of(resumed), short_runs.draws_of(whole))


def test_another_model_is_rejected(tmp_path):
    short_runs.sample(store=tmp_path / "run.zarr")
    other = grhmc.from_numba(short_runs.normals, 3, short_runs.NAMES, data=(2.0 * short_runs.SD,))
    for call in (grhmc.resume, lambda *arguments: grhmc.extend(*arguments, draws=10)):
        with pytest.raises(DifferentRunError, match=r"not that of .* or has other data: where chain 0 started"):
            call(tmp_path / "run.zarr", other)
    renamed = grhmc.from_numba(short_runs.normals, 3, {"a": (), "c": 2}, data=(short_runs.SD,))
    with pytest.raises(DifferentRunError, match=r"parameters' names are a, c\[0\], c\[1\], there they are a, b\[0\]"):
        grhmc.resume(tmp_path / "run.zarr", renamed)
    smaller = grhmc.from_numba(short_runs.normals, 2, data=(short_runs.SD[:2],))
    with pytest.raises(DifferentRunError, match="parameters are 2, there they are 3"):
        grhmc.resume(tmp_path / "run.zarr", smaller)


def test_another_version_is_rejected_and_another_numba_warned_of(tmp_path):
    short_runs.sample(store=tmp_path / "run.zarr")
    description = tmp_path / "run.zarr" / "sampler" / "run.json"
    text = description.read_text()
    description.write_text(text.replace(f'"grhmc": "{grhmc.__version__}"', '"grhmc": "9.9"'))
    with pytest.raises(DifferentRunError, match=r"written by grhmc 9\.9"):
        grhmc.resume(tmp_path / "run.zarr", short_runs.model())
    import numba

    description.write_text(text.replace(f'"numba": "{numba.__version__}"', '"numba": "0.1"'))
    with pytest.warns(UserWarning, match=r"numba 0\.1, now .* may differ in rounding"):
        grhmc.resume(tmp_path / "run.zarr", short_runs.model(), progress_bar=False)


def test_what_is_no_run_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="holds no run of grhmc"):
        grhmc.resume(tmp_path / "nothing.zarr", short_runs.model())
    short_runs.sample(store=tmp_path / "run.zarr")
    with pytest.raises(FileExistsError, match=r"grhmc\.resume"):
        short_runs.sample(store=tmp_path / "run.zarr")
    with pytest.raises(TypeError, match="store must be a path"):
        short_runs.sample(store=3)
    with pytest.raises(TypeError, match="store must be the path"):
        grhmc.resume(3, short_runs.model())  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", ["run.json", "current.json", "starts.npz", "epoch"])
@pytest.mark.parametrize("damage", ["cut", pytest.param("missing", marks=pytest.mark.nightly)])
def test_a_damaged_run_is_an_error_that_says_so(tmp_path, name, damage):
    place = tmp_path / "run.zarr"
    stored = short_runs.sample(store=place)
    states = place / "sampler"
    path = states / name if name != "epoch" else next(states.glob("epoch-*"))
    if damage == "cut":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    else:
        path.unlink()
    with pytest.raises((CheckpointError, FileNotFoundError), match=r"damaged|no run|no complete|cut short"):
        grhmc.resume(place, short_runs.model())
    assert_same(stored, open_result(place))  # draws do not need it


SCRIPT = """
import sys
from pathlib import Path
import numba, numpy as np
import grhmc
from grhmc.storage import checkpoints, run_store

checkpoints.INTERVAL_SECONDS = 0.02
run_store.rows_of_chunk = lambda dim: 100


@numba.njit
def slow(q, gradient):
    waste = 0.0
    for i in range(1000):
        waste += np.sin(i * q[0])
    gradient[:] = -q
    return -0.5 * (q @ q) + 0.0 * waste


def model():
    return grhmc.from_numba(slow, 3, {"a": (), "log_lik": 2})


if __name__ == "__main__":
    place, density = Path(sys.argv[1]), model()
    settings = {"progress_bar": False, "diagnose": False, "cores": 2}
    print("ready", flush=True)
    if (place / "sampler" / "current.json").exists():
        grhmc.resume(place, density, **settings)
    else:
        import shutil
        shutil.rmtree(place, ignore_errors=True)
        grhmc.sample(density, store=place, draws=int(sys.argv[2]), seed=2, log_likelihood=True, **settings)
    print("complete", flush=True)
"""


def run_until_killed(script: Path, place: Path, n_draws: int, seconds: float) -> bool:
    """Start or resume the run, and kill it so long after its model is ready; whether it came to its end."""
    command = [sys.executable, str(script), str(place), str(n_draws)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        while not (place / "sampler" / "current.json").exists():
            assert process.poll() is None
            time.sleep(0.02)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        return "complete" in process.stdout.read()


def kill_again_and_again(folder: Path, n_draws: int, n_kills: int, seconds: tuple[float, float]) -> tuple[Any, Any]:
    """Kill a run so often, and finish it here; the same run in memory, and this one."""
    script, place = folder / "slow_model.py", folder / "run.zarr"
    script.write_text(SCRIPT)
    chance = random.Random(3)
    for _ in range(n_kills):
        assert not run_until_killed(script, place, n_draws, chance.uniform(*seconds))
    module = load_module(script)
    settings: dict[str, Any] = {"seed": 2, "log_likelihood": True, "progress_bar": False, "diagnose": False}
    in_memory = grhmc.sample(module.model(), draws=n_draws, **settings)
    assert set(in_memory["log_likelihood"].data_vars) == {"log_lik"}
    return in_memory, grhmc.resume(place, module.model(), progress_bar=False, diagnose=False)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_run_that_is_killed_goes_on_with_the_same_draws(tmp_path):
    assert_same(*kill_again_and_again(tmp_path, 1500, 1, (0.2, 0.2)))


@pytest.mark.nightly
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_run_that_is_killed_twenty_times_goes_on_with_the_same_draws(tmp_path):
    """In warm-up, while chains are pooled, and while sampling."""
    assert_same(*kill_again_and_again(tmp_path, 100_000, 20, (0.1, 1.5)))
