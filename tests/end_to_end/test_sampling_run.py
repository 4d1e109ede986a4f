"""Runs in the background: progress, pause, a look inside, stop; and callbacks."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import numba
import numpy as np
import pytest

import grhmc
import short_runs
from forked_scripts import run_script


@numba.njit
def slow(q, gradient):
    waste = 0.0
    for i in range(300):
        waste += np.sin(i * q[0])
    gradient[:] = -q
    return -0.5 * (q @ q) + 0.0 * waste


@pytest.fixture(scope="module")
def model():
    return grhmc.from_numba(slow, 2)


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def start(model, **settings) -> grhmc.SamplingRun:
    defaults = {"draws": 10**6, "tune": 100, "chains": 2, "cores": 2, "seed": 1, "blocking": False}
    run = grhmc.sample(model, **(defaults | settings))
    assert isinstance(run, grhmc.SamplingRun)
    return run


def n_draws(run: grhmc.SamplingRun) -> int:
    return min(chain.draws_done for chain in run.progress)


def assert_beginning(part, whole) -> None:
    """The draws are the first ones of the same chains; on a busy machine one may be far behind, and is left out."""
    draws, chains = short_runs.draws_of(part), part["posterior"]["chain"].to_numpy()
    np.testing.assert_array_equal(draws, short_runs.draws_of(whole)[chains, : draws.shape[1]])


def test_a_run_in_the_background_gives_the_same_result():
    run = short_runs.sample(blocking=False)
    assert isinstance(run, grhmc.SamplingRun)
    result = run.wait()
    assert run.is_done
    np.testing.assert_array_equal(short_runs.draws_of(result), short_runs.draws_of(short_runs.sample()))
    assert run.wait() is result


def test_a_run_pauses_is_looked_into_goes_on_and_stops(model):
    run = start(model)
    wait_for(lambda: n_draws(run) > 50)
    run.pause()
    with pytest.raises(TimeoutError, match="has not ended within"):
        run.wait(0.2)
    assert run.is_pausing
    done = n_draws(run)
    time.sleep(0.2)
    assert n_draws(run) == done
    assert "pausing" in repr(run)
    inside = run.inspect()
    assert inside["posterior"].sizes["draw"] >= done
    run.resume()
    wait_for(lambda: n_draws(run) > done)
    run.stop()
    result = run.wait(60)
    assert result.attrs["stopped_by"] == "stop()"
    longest = max(inside["posterior"].sizes["draw"], result["posterior"].sizes["draw"])
    undisturbed = grhmc.sample(model, draws=longest, tune=100, chains=2, seed=1, progress_bar=False)
    assert_beginning(inside, undisturbed)
    assert_beginning(result, undisturbed)


def test_a_run_on_disk_is_looked_into(model, tmp_path, monkeypatch):
    from grhmc.storage import run_store

    monkeypatch.setattr(run_store, "rows_of_chunk", lambda dim: 40)
    run = start(model, store=tmp_path / "run.zarr", draws=2000)
    wait_for(lambda: n_draws(run) > 100)
    inside = run.inspect()
    result = run.wait()
    assert inside["posterior"].sizes["draw"] > 100
    assert_beginning(inside, result)


def test_there_is_nothing_to_look_at_during_warm_up(model):
    run = start(model, tune=10**6)
    with pytest.raises(ValueError, match="no draws yet"):
        run.inspect()
    run.stop()
    with pytest.raises(grhmc.SamplingError, match=r"stop\(\) was reached before the first draw"):
        run.wait()


def test_an_error_of_the_density_comes_out_of_wait():
    def density(q):
        if time.monotonic() > end:
            raise ZeroDivisionError("mine")
        return -0.5 * float(q @ q), -q

    end = time.monotonic() + 1e9
    run = start(grhmc.from_python(density, 2), check_gradient=False)
    end = time.monotonic() + 0.5
    with pytest.raises(ZeroDivisionError, match="mine"):
        run.wait(60)


@numba.njit
def far_apart(q, gradient):
    gradient[0] = -(q[0] - 40.0) if q[0] > 0.0 else -(q[0] + 40.0)
    return -0.5 * gradient[0] ** 2


def test_warnings_are_given_where_the_run_is_waited_for():
    run = start(grhmc.from_numba(far_apart, 1), draws=200, tune=0, init=[[-40.0], [40.0]])
    wait_for(lambda: run.is_done)
    with pytest.warns(grhmc.SamplingWarning):
        run.wait()
    run.wait()  # once is enough


def test_two_runs_at_once_leave_each_other_and_the_process_alone():
    from threadpoolctl import threadpool_info

    short_runs.sample()  # imports, which change filters
    filters, pools = list(warnings.filters), threadpool_info()
    runs = [short_runs.sample(blocking=False, seed=seed, draws=500) for seed in (1, 2, 1)]
    results = [run.wait() for run in runs]
    assert warnings.filters == filters
    assert threadpool_info() == pools
    for result, seed in zip(results, (1, 2, 1), strict=True):
        alone = short_runs.sample(seed=seed, draws=500)
        np.testing.assert_array_equal(short_runs.draws_of(result), short_runs.draws_of(alone))


IMPORTS_BESIDE_A_LOOK = """
import ctypes, shutil, tempfile, threading, time
from numpy.random import bit_generator
from grhmc.run.cross_chain import _thread_pools

def load():
    with tempfile.TemporaryDirectory() as folder:
        for number in range(300):  # of a library that is loaded already nothing is
            copy = shutil.copy(bit_generator.__file__, f"{folder}/{number}.so")
            ctypes.PyDLL(copy)
            time.sleep(0.003)

thread = threading.Thread(target=load)
thread.start()
n_looks = 0
while thread.is_alive():
    _thread_pools.cache_clear()
    _thread_pools()
    n_looks += 1
print(n_looks)
"""


def test_an_import_in_another_thread_does_not_stop_a_run_that_looks_for_libraries():
    """With threadpoolctl 3.6 this hangs in every run.

    It holds the dynamic loader's lock while it waits for the interpreter's, and an import does the opposite.
    """
    assert int(run_script(IMPORTS_BESIDE_A_LOOK)) > 10


def test_a_callback_sees_every_chain(model):
    seen: list[list[grhmc.ChainSnapshot]] = []
    result = grhmc.sample(model, draws=2000, chains=2, seed=1, progress_bar=False, callback=seen.append)
    assert [chain.chain for chain in seen[-1]] == [0, 1]
    assert seen[-1][0].draws_done == 2000
    assert result["posterior"].sizes["draw"] == 2000
    with pytest.raises(TypeError, match="callback must be a function"):
        grhmc.sample(model, callback=3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="blocking must be True or False"):
        grhmc.sample(model, blocking="no")  # pyright: ignore[reportArgumentType]


def test_chains_take_turns_where_there_are_few_threads(model):
    run = start(model, chains=4, cores=1)
    wait_for(lambda: n_draws(run) > 100)  # all are beyond the warm-up
    time.sleep(2.5)  # several turns of each
    run.stop()
    assert run.wait(60)["posterior"].sizes["chain"] == 4
