"""Draws added to a result in memory: they are those of one longer run."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import xarray

import grhmc
import short_runs
from grhmc.results.checkpoint import CheckpointError
from grhmc.results.packed_arrays import pack_arrays, unpack_arrays
from grhmc.storage.fingerprint import DifferentRunError


def extend(result: Any, draws: int = 100, **settings: Any) -> Any:
    return grhmc.extend(result, short_runs.model(), draws=draws, progress_bar=False, **settings)


def assert_same_draws(first: Any, second: Any) -> None:
    for group in ("posterior", "sample_stats", "unconstrained_posterior", "tuning"):
        assert set(first[group].data_vars) == set(second[group].data_vars)
        for name in first[group].data_vars:
            if not name.endswith("_seconds"):
                np.testing.assert_array_equal(first[group][name].to_numpy(), second[group][name].to_numpy())


@pytest.mark.parametrize("settings", [{}, {"save_warmup": True, "scale": "mct"}, {"var_names": ["b"]}])
def test_an_extended_result_is_that_of_the_longer_run(settings):
    first = short_runs.sample(**settings)
    extended = extend(first)
    assert_same_draws(extended, short_runs.sample(draws=200, **settings))
    assert first["posterior"].sizes["draw"] == 100
    assert extended["time_average"].sizes["interval"] == 100
    if "save_warmup" in settings:
        xarray.testing.assert_identical(
            extended["warmup_posterior"].to_dataset().drop_attrs(), first["warmup_posterior"].to_dataset().drop_attrs()
        )
    assert_same_draws(extend(extended, draws=50), short_runs.sample(draws=250, **settings))


def test_a_result_is_extended_after_it_was_written_to_a_file(tmp_path):
    first, longer = short_runs.sample(), short_runs.sample(draws=150)
    first.to_netcdf(tmp_path / "result.nc", engine="h5netcdf")
    with xarray.open_datatree(tmp_path / "result.nc", engine="h5netcdf") as opened:
        assert_same_draws(extend(opened, draws=50), longer)
    first.to_zarr(tmp_path / "result.zarr", zarr_format=2)
    assert_same_draws(extend(xarray.open_datatree(tmp_path / "result.zarr", engine="zarr"), draws=50), longer)
    assert_same_draws(extend(pickle.loads(pickle.dumps(first)), draws=50), longer)


def test_an_extended_result_of_the_continuous_process_has_evenly_spaced_draws():
    process = grhmc.Continuous(sample_interval=0.2)
    extended = extend(short_runs.sample(process=process, diagnose=False), diagnose=False)
    gaps = np.diff(extended["sample_stats"]["process_time"].to_numpy(), axis=1)
    np.testing.assert_allclose(np.delete(gaps, 99, axis=1), 0.2)


def test_a_result_that_a_rule_ended_is_extended():
    stopped = short_runs.sample(until={"ess": 150}, draws=5000)
    n_draws = stopped["posterior"].sizes["draw"]
    assert_same_draws(extend(stopped), short_runs.sample(draws=n_draws + 100))
    again = extend(stopped, draws=5000, until={"ess": 400})
    assert 50 <= again["time_average"].sizes["interval"] <= 100
    assert "ESS" in again.attrs["stopped_by"]


def test_chains_that_were_stopped_at_different_lengths_keep_what_the_result_has_no_room_for():
    """The budget ends them after equal numbers of gradients."""
    stopped = short_runs.sample(max_gradients=3000, draws=10_000)
    n_draws = stopped["posterior"].sizes["draw"]
    extended = extend(stopped, draws=100)
    assert_same_draws(extended, short_runs.sample(draws=extended["posterior"].sizes["draw"]))
    assert extended["posterior"].sizes["draw"] >= n_draws + 100


def test_the_result_of_a_run_in_a_store_extends_the_store(tmp_path):
    extended = extend(short_runs.sample(store=tmp_path / "run.zarr"))
    assert_same_draws(extended, short_runs.sample(draws=200))
    assert_same_draws(extended, xarray.open_datatree(tmp_path / "run.zarr", engine="zarr"))


def test_path_functions_are_averaged_on():
    def square(q, output):
        output[0] = q[0] ** 2

    functions = grhmc.path_functions_from_numba(square, 3, ["square"])
    extended = extend(short_runs.sample(path_functions=functions), path_functions=functions)
    averages = extended["time_average"]
    np.testing.assert_allclose(averages["functions"][..., 0], averages["position_squared"][..., 0])
    with pytest.raises(DifferentRunError, match="path_functions"):
        extend(extended)


def test_what_cannot_be_extended_is_an_error():
    result = short_runs.sample()
    other = grhmc.from_numba(short_runs.normals, 3, short_runs.NAMES, data=(2.0 * short_runs.SD,))
    with pytest.raises(DifferentRunError, match="at the last draw of chain 0"):
        grhmc.extend(result, other, draws=10)
    damaged = result.copy(deep=True)
    damaged["checkpoint"]["state"][0, 100:110] = 0
    with pytest.raises(CheckpointError, match="the result, chain 0 is damaged"):
        extend(damaged)
    with pytest.raises(ValueError, match="has no group checkpoint"):
        extend(result.filter(lambda node: node.name != "checkpoint"))


def test_packed_arrays_are_read_as_they_were():
    arrays = {
        "records": np.array([(1, 2.5)], dtype=[("a", "i8"), ("b", "f8")]),
        "scalar": np.array(3),
        "empty": np.zeros((0, 4)),
        "bytes": np.arange(5, dtype=np.uint8),
    }
    read = unpack_arrays(np.concatenate([pack_arrays(arrays), np.zeros(9, dtype=np.uint8)]), "there")
    assert list(read) == list(arrays)
    for name, array in arrays.items():
        assert read[name].dtype == array.dtype
        np.testing.assert_array_equal(read[name], array)
    with pytest.raises(CheckpointError, match="there is damaged"):
        unpack_arrays(np.zeros(3, dtype=np.uint8), "there")
