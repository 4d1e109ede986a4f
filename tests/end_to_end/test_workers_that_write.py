"""Workers that see the store write their draws themselves: whole chunks, the same as in a run of threads."""

from __future__ import annotations

import contextlib
import errno
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import grhmc
import short_runs
from grhmc.run import remote
from grhmc.run.keeper import Rows
from grhmc.run.stretch import Answer, Stretch, advance_stretch
from grhmc.storage import checkpoints, chunks, run_store
from grhmc.storage.run_store import StoreError
from loaded_module import load_module

pytest.importorskip("zarr")

OTHER_PLACES = ("another run", "nothing installed")
SETTINGS: dict[str, Any] = {"draws": 151, "tune": 100, "diagnose": False}


def settings_with(**changes: Any) -> dict[str, Any]:
    return SETTINGS | changes


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    """Short stretches, a checkpoint after each, chunks of few draws, and no waiting for the disk."""
    monkeypatch.setattr(os, "fsync", lambda file: None)
    monkeypatch.setattr(checkpoints, "INTERVAL_SECONDS", 0.0)
    monkeypatch.setattr(checkpoints, "_WRITING_SHARE", 0.0)
    monkeypatch.setattr(run_store, "rows_of_chunk", lambda dim: 16)
    length_of_stretches(monkeypatch, 0.0)


@pytest.fixture(scope="module")
def threads():
    with ThreadPoolExecutor(2) as executor:
        yield executor


@pytest.fixture
def written_here(monkeypatch):
    """Numbers of draws that who has called `sample` writes at a time."""
    numbers: list[int] = []
    write_rows = chunks.write_rows

    def write(arrays: Any, chain: int, first: int, rows: Rows, **settings: Any) -> None:
        numbers.append(len(rows.draws))
        write_rows(arrays, chain, first, rows, **settings)

    monkeypatch.setattr(run_store, "write_rows", write)
    return numbers


def length_of_stretches(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr(remote.Workers.__init__, "__defaults__", (None, None, seconds, False))


def new_pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))


def assert_same(first: Any, second: Any) -> None:
    for group in set(first.children) - {"checkpoint"}:
        for name in first[group].data_vars:
            if not name.endswith("_seconds"):
                np.testing.assert_array_equal(first[group][name].to_numpy(), second[group][name].to_numpy())


@pytest.mark.parametrize("process", ["discrete", pytest.param("continuous", marks=pytest.mark.nightly)])
def test_processes_write_to_a_store_on_the_same_disk(tmp_path, monkeypatch, written_here, process):
    monkeypatch.chdir(tmp_path)
    settings = settings_with(process=process, save_warmup=True)
    with new_pool() as pool:
        stored = short_runs.sample(store="run.zarr", executor=pool, **settings)
    assert_same(short_runs.sample(**settings), stored)
    assert sum(written_here) < 151  # of 302
    assert not (tmp_path / "run.zarr" / "sampler" / "workers.json").exists()


@pytest.mark.nightly
def test_the_workers_of_a_dask_cluster_write_to_a_store_on_the_same_disk(tmp_path, written_here):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        stored = short_runs.sample(store=tmp_path / "run.zarr", executor=client, **SETTINGS)
    assert_same(short_runs.sample(**SETTINGS), stored)
    assert sum(written_here) < 151


@pytest.mark.nightly
def test_rules_that_end_a_run_see_what_workers_have_written(tmp_path, threads, written_here):
    settings = settings_with(until={"ess": 150}, draws=5000)
    stored = short_runs.sample(store=tmp_path / "run.zarr", executor=threads, **settings)
    assert_same(short_runs.sample(**settings), stored)
    longer = grhmc.extend(
        tmp_path / "run.zarr", short_runs.model(), draws=100, executor=threads, progress_bar=False, diagnose=False
    )
    n_draws = stored["posterior"].sizes["draw"] + 100
    np.testing.assert_array_equal(
        short_runs.draws_of(longer), short_runs.draws_of(short_runs.sample(**settings_with(draws=n_draws)))
    )
    assert sum(written_here) < n_draws


def test_a_run_on_workers_can_be_looked_at(tmp_path, threads):
    run = short_runs.sample(
        store=tmp_path / "run.zarr", executor=threads, blocking=False, **settings_with(draws=20_000)
    )
    while min(chain.draws_done for chain in run.progress) < 100:
        time.sleep(0.01)
    halfway = run.inspect()
    run.stop()
    result = run.wait()
    n_draws = halfway["posterior"].sizes["draw"]
    assert 100 <= n_draws <= result["posterior"].sizes["draw"]
    np.testing.assert_array_equal(short_runs.draws_of(halfway), short_runs.draws_of(result)[:, :n_draws])


@pytest.mark.nightly
def test_stretches_end_with_chunks_so_that_no_draws_travel(tmp_path, threads, monkeypatch):
    monkeypatch.setattr(run_store, "rows_of_chunk", lambda dim: 64)
    length_of_stretches(monkeypatch, 0.02)
    answers: list[Answer] = []

    def advance(stretch: Stretch) -> Answer:
        answers.append(advance_stretch(stretch))
        return answers[-1]

    monkeypatch.setattr(remote, "advance_stretch", advance)
    short_runs.sample(store=tmp_path / "run.zarr", executor=threads, **settings_with(draws=4001))
    states = [answer.state for answer in answers if answer.state is not None]
    n_travelling = [len(state["records.draws"]) for state in states]
    n_travelling += [len(answer.head.draws) for answer in answers if answer.head is not None]
    assert len(states) > 10
    assert sum(n_travelling) < 1600  # of 8002: a busy machine may interrupt one just before the end of a chunk


@pytest.mark.parametrize(
    "place",
    ["elsewhere", *(pytest.param(other, marks=pytest.mark.nightly) for other in OTHER_PLACES)],
)
def test_workers_that_do_not_see_the_store_send_draws(tmp_path, threads, monkeypatch, written_here, place):
    lend = run_store.RunStore.lend_writer

    def another(store: run_store.RunStore) -> chunks.StoreWriter:
        writer = lend(store)
        location = str(tmp_path / "nowhere") if place == "elsewhere" else writer.location
        token = "0" if place == "another run" else writer.token
        return chunks.StoreWriter(location, token, writer.n_rows, writer.is_discrete)

    def missing(location: str, mode: str = "r") -> Any:
        raise ImportError("made up")

    monkeypatch.setattr(run_store.RunStore, "lend_writer", another)
    if place == "nothing installed":
        monkeypatch.setattr(chunks, "arrays_of_draws", missing)
    stored = short_runs.sample(store=tmp_path / "run.zarr", executor=threads, **SETTINGS)
    assert_same(short_runs.sample(**SETTINGS), stored)
    assert sum(written_here) == 302


def test_what_a_worker_cannot_write_is_written_by_who_has_called_it(tmp_path, threads, monkeypatch, written_here):
    def write(*_: Any) -> None:
        raise PermissionError("made up")

    monkeypatch.setattr(chunks.StoreWriter, "write", write)
    with pytest.warns(UserWarning, match="worker could not write to the store.*PermissionError: made up"):
        stored = short_runs.sample(store=tmp_path / "run.zarr", executor=threads, **SETTINGS)
    assert_same(short_runs.sample(**SETTINGS), stored)
    assert sum(written_here) == 302


@pytest.mark.parametrize("n_chunks", [9, pytest.param(0, marks=pytest.mark.nightly)])
def test_a_full_disk_is_the_same_error_as_without_workers(tmp_path, threads, monkeypatch, n_chunks):
    n_left, write_rows = n_chunks, chunks.write_rows

    def write(*arguments: Any, **settings: Any) -> None:
        nonlocal n_left
        n_left -= 1
        if n_left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        write_rows(*arguments, **settings)

    place = tmp_path / "run.zarr"
    with monkeypatch.context() as patched:
        for module in (chunks, run_store):
            patched.setattr(module, "write_rows", write)
        with pytest.raises(StoreError, match=r"could not be written to .*No space left.*grhmc.resume") as caught:
            short_runs.sample(store=place, executor=threads, **SETTINGS)
    assert caught.value.errno == errno.ENOSPC
    resumed = grhmc.resume(place, short_runs.model(), executor=threads, progress_bar=False, diagnose=False)
    assert_same(short_runs.sample(**SETTINGS), resumed)


def test_a_worker_that_was_thought_to_be_lost_writes_no_more_once_the_run_has_ended(tmp_path, monkeypatch):
    lent: list[chunks.StoreWriter] = []
    lend = run_store.RunStore.lend_writer
    monkeypatch.setattr(run_store.RunStore, "lend_writer", lambda store: lent.append(lend(store)) or lent[-1])
    with ThreadPoolExecutor(1) as executor:
        short_runs.sample(store=tmp_path / "run.zarr", executor=executor, **SETTINGS)
    (writer,) = lent
    rows = Rows(np.zeros((16, 3)), np.zeros((16, 11)))
    with pytest.raises(FileNotFoundError):
        writer.write(0, 0, rows)
    chunks.lend(chunks.StoreWriter(writer.location, "another", 16, True))
    with pytest.raises(chunks.WriterTakenBackError):
        writer.write(0, 0, rows)


class Killer:
    """Makes pools, and kills the worker of the first one when it has written for a while."""

    def __init__(self) -> None:
        self.n_made = 0

    def __call__(self) -> ProcessPoolExecutor:
        executor = new_pool()
        self.n_made += 1
        if self.n_made == 1:
            process_id = executor.submit(os.getpid).result()
            threading.Timer(1.0, os.kill, (process_id, signal.SIGKILL)).start()
        return executor


@pytest.mark.nightly
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_worker_that_is_killed_while_it_writes_is_replaced(tmp_path, monkeypatch, written_here):
    length_of_stretches(monkeypatch, 0.3)
    killer, settings = Killer(), settings_with(draws=6000)
    stored = short_runs.sample(store=tmp_path / "run.zarr", executor=killer, **settings)
    assert killer.n_made == 2
    assert_same(short_runs.sample(**settings), stored)
    assert sum(written_here) < 6000


SCRIPT = """
import sys
from pathlib import Path
import numba, numpy as np
import grhmc
from grhmc.run import remote
from grhmc.storage import checkpoints, run_store

checkpoints.INTERVAL_SECONDS = 0.02
run_store.rows_of_chunk = lambda dim: 20
remote.Workers.__init__.__defaults__ = (None, None, 0.05, False)


@numba.njit
def slow(q, gradient):
    waste = 0.0
    for i in range(1000):
        waste += np.sin(i * q[0])
    gradient[:] = -q
    return -0.5 * (q @ q) + 0.0 * waste


def model():
    return grhmc.from_numba(slow, 3)


if __name__ == "__main__":
    grhmc.sample(
        model(), store=sys.argv[1], draws=3000, chains=2, seed=2, cores=2, executor="processes", progress_bar=False,
        diagnose=False,
    )
"""


def wait_until_gone(group: int) -> None:
    """Workers do not outlive who has started them for long."""
    for _ in range(600):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    raise TimeoutError("the workers are still there")


@pytest.mark.nightly
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_run_whose_caller_is_killed_while_workers_write_goes_on_with_the_same_draws(tmp_path):
    script, place = tmp_path / "slow_model.py", tmp_path / "run.zarr"
    script.write_text(SCRIPT)
    written = place / "unconstrained_posterior" / "position" / "c" / "1"
    with subprocess.Popen([sys.executable, str(script), str(place)], start_new_session=True) as process:
        try:
            while not written.exists() or len(list(written.iterdir())) < 20:
                assert process.poll() is None
                time.sleep(0.02)
            process.kill()  # workers may write on until they hear of it
            process.wait()
            module = load_module(script)
            resumed = grhmc.resume(place, module.model(), progress_bar=False, diagnose=False)
            wait_until_gone(process.pid)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    in_memory = grhmc.sample(module.model(), draws=3000, chains=2, seed=2, progress_bar=False, diagnose=False)
    assert_same(in_memory, resumed)
