"""Results keep every draw under its name, whatever its shape, and files keep the results."""

import json
import os
import zipfile

import numpy as np
import pytest
import xarray

import synthetic_runs
from grhmc.models import LogDensity, Variable
from grhmc.results import (
    Checkpoint,
    CheckpointError,
    build_datatree,
    load_checkpoint,
    save_checkpoint,
)
from grhmc.results.side_by_side import side_by_side

SHAPES = {"mu": (), "none": (0,), "L": (2, 1, 3), "v": (1,), "beta[1,2]": (), "log sd": ()}
DIM = 10
ADDRESS = 1  # of a density that is never called


@pytest.fixture
def shaped_result():
    return synthetic_runs.make_result(2, SHAPES, DIM, n_warmup=5)


def test_the_groups_are_those_of_arviz_and_ours(shaped_result):
    assert list(shaped_result.children) == [
        "posterior",
        "sample_stats",
        "warmup_posterior",
        "warmup_sample_stats",
        "unconstrained_posterior",
        "time_average",
        "tuning",
    ]
    assert "warmup_posterior" not in synthetic_runs.make_result().children


def test_variables_keep_their_shapes_and_order(shaped_result):
    posterior = shaped_result["posterior"]
    assert list(posterior.data_vars) == list(SHAPES)
    for name, shape in SHAPES.items():
        assert posterior[name].shape == (2, 20, *shape)
        assert posterior[name].dims[:2] == ("chain", "draw")
        assert shaped_result["warmup_posterior"][name].shape == (2, 5, *shape)


def test_every_draw_is_where_it_belongs(shaped_result):
    records = [synthetic_runs.make_record(chain, dim=DIM) for chain in range(2)]
    for chain, record in enumerate(records):
        posterior = shaped_result["posterior"].isel(chain=chain)
        assert np.array_equal(posterior["mu"], record.draws[:, 0])
        assert np.array_equal(posterior["L"], record.draws[:, 1:7].reshape(20, 2, 1, 3))
        position = shaped_result["unconstrained_posterior"]["position"].isel(chain=chain)
        assert np.array_equal(position, record.draws)


def test_posterior_and_unconstrained_draws_share_their_memory():
    result = synthetic_runs.make_result(2)
    assert np.shares_memory(result["posterior"]["x"].values, result["unconstrained_posterior"]["position"].values)


def test_unconstrained_coordinates_have_the_models_names(shaped_result):
    names = list(shaped_result["unconstrained_posterior"]["unconstrained"].values)
    assert names[:3] == ["mu", "L[0,0,0]", "L[0,0,1]"]
    assert names[-2:] == ["beta[1,2]", "log sd"]
    assert list(shaped_result["tuning"]["scale"].sel(unconstrained="mu").values) == [1.0, 1.1]


def test_the_users_dims_and_coords_label_the_axes():
    model = LogDensity(
        2,
        ADDRESS,
        variables=[Variable("scale", (2,), ("school",))],
        coords={"school": ["A", "B"]},
        observed_data={"y": np.arange(5.0)},
    )
    result = build_datatree([synthetic_runs.make_record(dim=2)], model, {})
    assert result["posterior"]["scale"].dims == ("chain", "draw", "school")
    assert result["posterior"]["school"].to_numpy().tolist() == ["A", "B"]
    # The tuning group has a variable of that name too, with axes of its own.
    assert result["tuning"]["scale"].dims == ("chain", "unconstrained")
    assert result["observed_data"]["y"].dims == ("y_dim_0",)


def test_the_tuning_group_holds_the_seconds_of_each_chain(shaped_result):
    tuning = shaped_result["tuning"]
    assert list(tuning["warmup_seconds"].values) == [1.0, 2.0]
    assert list(tuning["sampling_seconds"].values) == [2.0, 2.0]
    assert tuning["event_rate"].dims == ("chain",)
    assert tuning["history_scale"].dims == ("chain", "history", "unconstrained")


def test_histories_of_unequal_length_are_padded_visibly():
    records = [synthetic_runs.make_record(chain, n_history=5 + chain) for chain in range(2)]
    tuning = build_datatree(records, synthetic_runs.make_model(), {})["tuning"].to_dataset()
    assert tuning.sizes["history"] == 6
    assert np.isnan(tuning["history_time"][0, -1])
    assert tuning["history_n_gradients"][:, -1].values.tolist() == [-1, 5]
    assert np.isfinite(tuning["history_scale"][1]).all()


def test_functions_are_named():
    record = synthetic_runs.make_record(n_functions=2)
    result = build_datatree([record], synthetic_runs.make_model(), {}, ["f", "g"])
    functions = result["time_average"].to_dataset()["functions"]
    assert functions.dims == ("chain", "interval", "function")
    assert functions["function"].values.tolist() == ["f", "g"]
    assert "functions" not in synthetic_runs.make_result()["time_average"]


def test_chains_of_unequal_length_are_cut_to_the_shortest():
    records = [
        synthetic_runs.make_record(chain, n_draws=n_draws, n_warmup=n_warmup)
        for chain, (n_draws, n_warmup) in enumerate([(20, 6), (13, 4), (17, 6)])
    ]
    result = build_datatree(records, synthetic_runs.make_model(), {})
    assert dict(result["posterior"].sizes) == {"chain": 3, "draw": 13, "x_dim_0": 3}
    assert result["sample_stats"]["lp"].shape == (3, 13)
    assert result["time_average"].sizes["interval"] == 2
    assert result["warmup_posterior"].sizes["draw"] == 4
    assert np.array_equal(result["posterior"].to_dataset()["x"][2], records[2].draws[:13])


def test_a_run_without_draws_still_has_its_tuning():
    class Picky(LogDensity):
        def constrain(self, draws):
            raise AssertionError("asked for nothing")

    model = Picky(3, ADDRESS, variables=[Variable("v", (2,)), Variable("w", ())])
    result = build_datatree([synthetic_runs.make_record(n_draws=0)], model, {})
    assert result["posterior"]["v"].shape == (1, 0, 2)
    assert result["tuning"]["scale"].shape == (1, 3)


def test_more_chains_than_draws_is_no_reason_to_warn():
    assert synthetic_runs.make_result(4, n_draws=2)["posterior"]["x"].shape == (4, 2, 3)


def test_wrong_lengths_from_the_model_leave_the_posterior_out():
    class Broken(LogDensity):
        def constrain(self, draws):
            return {"x": draws[:3]}

    record = synthetic_runs.make_record()
    with pytest.warns(UserWarning, match=r"no group posterior.*one value of 'x' per draw, 20 of them"):
        result = build_datatree([record], Broken(3, ADDRESS), {})
    assert "posterior" not in result.children
    assert np.array_equal(result["unconstrained_posterior"]["position"].to_numpy()[0], record.draws)


class FailsBelow(LogDensity):
    """Variables that are twice the coordinates, where the first coordinate is above a limit."""

    def __init__(self, limit):
        super().__init__(3, ADDRESS, variables=[Variable("x", (3,))])
        self.limit = limit

    def constrain(self, draws):
        if np.any(draws[:, 0] < self.limit):
            raise FloatingPointError("too small")
        return {"x": 2 * draws, "sign": np.ones(len(draws), dtype=np.int64)}


def test_draws_that_the_model_cannot_constrain_are_nan_and_counted():
    records = [synthetic_runs.make_record(chain) for chain in range(2)]
    draws = np.stack([record.draws for record in records])
    limit = float(np.quantile(draws[..., 0], 0.2))
    with pytest.warns(UserWarning, match=r"x, sign could not be computed in 8 of 40 draws.*too small"):
        result = build_datatree(records, FailsBelow(limit), {})
    expected = np.where(draws[..., [0]] < limit, np.nan, 2 * draws)
    np.testing.assert_array_equal(result["posterior"]["x"], expected)
    np.testing.assert_array_equal(result["unconstrained_posterior"]["position"], draws)
    assert json.loads(result.attrs["failed_outputs"]) == {"x": 8, "sign": 8}


def test_a_chain_whose_draws_all_fail_does_not_take_the_others_along():
    records = [synthetic_runs.make_record(chain) for chain in range(2)]
    records[0].draws[:, 0] = -100.0
    records[1].draws[:, 0] = 1.0
    with pytest.warns(UserWarning, match=r"20 of 40 draws.*too small"):
        posterior = build_datatree(records, FailsBelow(0.0), {})["posterior"]
    assert np.isnan(posterior["x"].to_numpy()[0]).all()
    np.testing.assert_array_equal(posterior["x"].to_numpy()[1], 2 * records[1].draws)


def test_a_long_run_is_constrained_in_pieces(monkeypatch):
    monkeypatch.setattr("grhmc.results.constrained._NUMBERS_AT_ONCE", 26)
    records = [synthetic_runs.make_record(chain) for chain in range(2)]
    draws = np.stack([record.draws for record in records])
    posterior = build_datatree(records, FailsBelow(-np.inf), {})["posterior"]
    np.testing.assert_array_equal(posterior["x"], 2 * draws)
    assert posterior["sign"].dtype == np.int64


def test_without_draws_that_can_be_constrained_there_is_no_posterior():
    with pytest.warns(UserWarning, match="no group posterior.*FloatingPointError: too small"):
        result = build_datatree([synthetic_runs.make_record()], FailsBelow(np.inf), {})
    assert "posterior" not in result.children
    assert result["sample_stats"]["lp"].shape == (1, 20)


def test_arrays_side_by_side_are_stacked_without_a_copy():
    block = np.arange(48.0).reshape(4, 6, 2)
    for chains, rows, axes in ((range(4), slice(0, 6), slice(None)), ([1, 3], slice(2, 5), 1), ([2], slice(1, 4), 0)):
        parts = [block[chain][rows, axes] for chain in chains]
        stacked = side_by_side(parts)
        np.testing.assert_array_equal(stacked, np.stack(parts))
        assert np.shares_memory(stacked, block)
    for parts in (
        [block[0], block[1], block[3]],  # at unequal distances
        [block[2], block[1]],
        [block[0], block[0]],
        [block[0], block[1].copy()],
        [block[0].T, np.array(block[1].T)],
        [block[0][:0], block[1][:0]],
        [np.zeros(3), np.ones(3)],
    ):
        np.testing.assert_array_equal(side_by_side(parts), np.stack(parts))


def test_no_records_is_an_error():
    with pytest.raises(ValueError, match="at least one chain"):
        build_datatree([], synthetic_runs.make_model(), {})


def test_attributes_are_such_that_any_file_can_hold_them():
    attrs = {
        "seed": 2**100,
        "tolerance": np.float64(0.05),
        "save_warmup": True,
        "init": None,
        "nested": {"a": [1, np.arange(2)]},
        "largest": float("inf"),
        "draws": np.int64(7),
    }
    result = build_datatree([synthetic_runs.make_record()], synthetic_runs.make_model(), attrs)
    assert result.attrs == {
        "seed": str(2**100),
        "tolerance": 0.05,
        "save_warmup": 1,
        "init": "null",
        "nested": '{"a": [1, [0, 1]]}',
        "largest": "inf",
        "draws": 7,
    }
    json.dumps(result.attrs, allow_nan=False)


def test_every_group_names_the_library():
    result = synthetic_runs.make_result()
    for group in result.children.values():
        assert group.attrs["inference_library"] == "grhmc"
        assert "created_at" in group.attrs


def test_netcdf_gives_back_what_was_written(shaped_result, tmp_path):
    pytest.importorskip("h5netcdf")
    path = tmp_path / "result.nc"
    shaped_result.to_netcdf(path, engine="h5netcdf")
    with xarray.open_datatree(path, engine="h5netcdf") as again:
        again.load()
    xarray.testing.assert_identical(again, shaped_result)
    assert again["sample_stats"]["diverging"].dtype == bool


# xarray writes text in a way that zarr's format 3 has yet to standardize, and zarr says so.
@pytest.mark.filterwarnings("ignore:.*does not have a Zarr V3 specification")
def test_zarr_gives_back_what_was_written(shaped_result, tmp_path):
    pytest.importorskip("zarr")
    path = tmp_path / "result.zarr"
    shaped_result.to_zarr(path, consolidated=False)
    with xarray.open_datatree(path, engine="zarr", consolidated=False) as again:
        again.load()
    xarray.testing.assert_equal(again, shaped_result)
    assert again.attrs == shaped_result.attrs


# --- Checkpoints -------------------------------------------------------------------------------

ARRAYS = {
    "process.path": np.array([(1.5, 3)], dtype=[("time", "f8"), ("n", "i8")]),
    "file": np.array([np.nan, -0.0, 5e-324]),  # a name that numpy.savez could not take
    "metadata.json": np.array(3),
    "rng": np.array([2**64 - 1], dtype=np.uint64),
    "empty": np.zeros((0, 4)),
    "names": np.array(["α", "b"]),
}


def test_a_checkpoint_gives_back_every_bit(tmp_path):
    path = tmp_path / "run.npz"
    metadata = {"settings": {"draws": 10}, "seed": 2**100, "rate": float("inf")}
    save_checkpoint(path, ARRAYS, metadata)
    loaded = load_checkpoint(path)
    assert isinstance(loaded, Checkpoint)
    assert loaded.metadata == metadata
    assert list(loaded.arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert loaded.arrays[name].dtype == array.dtype
        assert loaded.arrays[name].tobytes() == array.tobytes()
    assert os.listdir(tmp_path) == ["run.npz"]


def test_numpy_can_read_a_checkpoint_too(tmp_path):
    save_checkpoint(tmp_path / "run.npz", ARRAYS, {})
    with np.load(tmp_path / "run.npz", allow_pickle=False) as archive:
        assert np.array_equal(archive["arrays/rng"], ARRAYS["rng"])


def test_a_failed_save_leaves_the_old_checkpoint(tmp_path):
    path = tmp_path / "run.npz"
    save_checkpoint(path, {"a": np.arange(3)}, {})
    with pytest.raises(TypeError, match="'b' has dtype object"):
        save_checkpoint(path, {"a": np.zeros(3), "b": np.array([print])}, {})
    with pytest.raises(TypeError, match="metadata must be made of what JSON can hold"):
        save_checkpoint(path, {}, {"f": print})
    assert np.array_equal(load_checkpoint(path).arrays["a"], np.arange(3))
    assert os.listdir(tmp_path) == ["run.npz"]


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        save_checkpoint(tmp_path / "no" / "run.npz", {}, {})
    with pytest.raises(FileNotFoundError):
        load_checkpoint(tmp_path / "run.npz")


def test_a_truncated_file_is_rejected_wherever_it_was_cut(tmp_path):
    path = tmp_path / "run.npz"
    save_checkpoint(path, ARRAYS, {})
    whole = path.read_bytes()
    for length in range(0, len(whole), 97):
        path.write_bytes(whole[:length])
        with pytest.raises(CheckpointError, match="cut short or damaged"):
            load_checkpoint(path)


def test_a_changed_byte_is_noticed(tmp_path):
    path = tmp_path / "run.npz"
    save_checkpoint(path, {"a": np.zeros(1000)}, {})
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(CheckpointError):
        load_checkpoint(path)


def test_foreign_files_are_rejected(tmp_path):
    path = tmp_path / "run.npz"
    path.write_text("not a zip file", encoding="utf-8")
    with pytest.raises(CheckpointError, match="not a grhmc checkpoint"):
        load_checkpoint(path)
    np.savez(path, a=np.zeros(3))
    with pytest.raises(CheckpointError, match="a zip file but not a grhmc checkpoint"):
        load_checkpoint(path)


def test_pickled_objects_are_not_loaded(tmp_path):
    path = tmp_path / "run.npz"
    save_checkpoint(path, {}, {})
    with zipfile.ZipFile(path, "a") as archive, archive.open("arrays/evil.npy", "w") as entry:
        np.lib.format.write_array(entry, np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(CheckpointError, match="allow_pickle"):
        load_checkpoint(path)


def test_another_format_version_is_rejected_and_explained(tmp_path):
    path = tmp_path / "run.npz"
    with zipfile.ZipFile(path, "w") as archive:
        header = {"format": "grhmc checkpoint", "version": 99, "written_by": "7.0"}
        archive.writestr("header.json", json.dumps(header))
    with pytest.raises(CheckpointError, match=r"format 99, written by grhmc 7\.0.*Read it with"):
        load_checkpoint(path)
