"""Chains on the workers of an executor: the same draws as in threads, whatever becomes of the workers."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import grhmc
import short_runs
from grhmc.run import remote

SETTINGS: dict[str, Any] = {"draws": 300, "tune": 200, "save_warmup": True}


def new_pool(n_workers: int = 1) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(n_workers, mp_context=multiprocessing.get_context("spawn"))


@pytest.fixture(scope="module")
def pool():
    with new_pool() as executor:
        yield executor


@pytest.fixture
def short_stretches(monkeypatch):
    """So that even short runs are sent out many times."""
    monkeypatch.setattr(remote, "STRETCH_SECONDS", 0.0)
    monkeypatch.setattr(remote.Workers.__init__, "__defaults__", (None, None, 0.0, False))
    monkeypatch.setattr(remote, "_BYTES_OF_DRAWS", 8 * 3 * 40)


def assert_same(first: Any, second: Any) -> None:
    assert set(first.children) == set(second.children)
    for group in first.children:
        for name in first[group].data_vars:
            if not name.endswith("_seconds"):
                np.testing.assert_array_equal(first[group][name].to_numpy(), second[group][name].to_numpy())


@pytest.mark.usefixtures("short_stretches")
@pytest.mark.parametrize("process", ["discrete", pytest.param("continuous", marks=pytest.mark.nightly)])
def test_draws_are_those_of_threads(pool, process):
    in_threads = short_runs.sample(process=process, **SETTINGS)
    assert_same(in_threads, short_runs.sample(process=process, executor=pool, **SETTINGS))


@pytest.mark.nightly
@pytest.mark.usefixtures("short_stretches")
def test_mct_and_many_chains_travel_too(pool):
    settings = SETTINGS | {"scale": "mct", "chains": 5, "draws": 20}
    assert_same(short_runs.sample(**settings), short_runs.sample(executor=pool, **settings))


def test_a_store_and_rules_work_with_workers(pool, tmp_path):
    settings: dict[str, Any] = {"until": {"ess": 300}, "draws": 5000, "tune": 200}
    in_threads = short_runs.sample(**settings)
    stored = short_runs.sample(executor=pool, store=tmp_path / "run.zarr", **settings)
    del in_threads["checkpoint"]  # which a store has otherwise
    assert_same(in_threads, stored)
    longer = grhmc.extend(tmp_path / "run.zarr", short_runs.model(), draws=100, executor=pool, progress_bar=False)
    assert longer["posterior"].sizes["draw"] == in_threads["posterior"].sizes["draw"] + 100
    settings = {"max_gradients": 6000, "draws": 5000, "tune": 200}
    assert_same(short_runs.sample(**settings), short_runs.sample(executor=pool, **settings))


class Killer:
    """Makes pools, and kills the worker of the first ones soon after work has begun."""

    def __init__(self, n_kills: int) -> None:
        self.n_kills, self.n_made = n_kills, 0

    def __call__(self) -> ProcessPoolExecutor:
        executor = new_pool()
        self.n_made += 1
        if self.n_made <= self.n_kills:
            process_id = executor.submit(os.getpid).result()

            def kill() -> None:
                time.sleep(0.5)
                os.kill(process_id, signal.SIGKILL)

            threading.Thread(target=kill, daemon=True).start()
        return executor


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
@pytest.mark.usefixtures("short_stretches")
def test_a_worker_that_is_killed_is_replaced_and_draws_stay_the_same():
    killer = Killer(1)
    settings = SETTINGS | {"draws": 4000, "save_warmup": False}
    result = short_runs.sample(executor=killer, **settings)
    assert killer.n_made == 2
    assert_same(short_runs.sample(**settings), result)


class Broken:
    """An executor whose workers are always lost."""

    def submit(self, *arguments: Any) -> Any:
        from concurrent.futures.process import BrokenProcessPool

        raise BrokenProcessPool("gone")

    def shutdown(self, **_: Any) -> None:
        pass


def test_workers_that_are_always_lost_are_an_error():
    with pytest.raises(RuntimeError, match="workers were lost 21 times"):
        short_runs.sample(executor=Broken)


def failing_density(q):
    if q[0] > 2.5:
        raise ZeroDivisionError("beyond 2.5")
    return -0.5 * float(q @ q), -q


def test_an_exception_on_a_worker_comes_back_with_its_traceback(pool):
    model = grhmc.from_python(failing_density, 2)
    with pytest.raises(ZeroDivisionError, match=r"beyond 2\.5") as caught:
        short_runs.sample(model, executor=pool, draws=20_000, init=[0.0, 0.0])
    assert any("failing_density" in note for note in caught.value.__notes__)
    assert caught.value.partial_result is not None  # pyright: ignore[reportAttributeAccessIssue]


def test_an_executor_of_threads_will_do():
    with ThreadPoolExecutor(2) as executor:
        assert_same(short_runs.sample(**SETTINGS), short_runs.sample(executor=executor, **SETTINGS))


@pytest.mark.nightly
def test_a_dask_cluster_will_do():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert_same(short_runs.sample(**SETTINGS), short_runs.sample(executor=client, **SETTINGS))


def test_what_is_no_executor_is_an_error():
    with pytest.raises(ValueError, match="executor must be 'processes'"):
        short_runs.sample(executor="threads")
    with pytest.raises(TypeError, match="executor must be 'processes'"):
        short_runs.sample(executor=3)
    with pytest.raises(TypeError, match="must make an executor"):
        short_runs.sample(executor=dict)
    functions = grhmc.path_functions_from_numba(lambda q, output: None, 3, ["f"])
    with pytest.raises(ValueError, match="path_functions cannot be sent"):
        short_runs.sample(executor="processes", path_functions=functions)
