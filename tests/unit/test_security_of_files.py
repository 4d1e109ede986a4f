"""Every file we write holds numbers and text only, lies in the folder that was named, and cannot run code when read."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from typer.testing import CliRunner

import grhmc
import synthetic_runs
from grhmc import sampling
from grhmc.cli.app import app
from grhmc.cli.output import check_output, write_result
from grhmc.comparison import run as comparison
from grhmc.models.variables import NAMES_OF_FILES, Variable, check_variables, parse_coords, parse_names
from grhmc.results import build_datatree, save_checkpoint

STRANGE_NAMES = ["<script>", "$(touch x)", "~", "[red]x", "%2e%2e", "c.0", "..x", "__init__", "a;b", "ä"]
ESCAPE = "\x1b[2J"

pytestmark = pytest.mark.filterwarnings("ignore:.*data type:Warning")  # zarr 3 has no final word on strings
needs_links = pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")


class Thing:
    """What only a pickle could hold."""

    def __str__(self) -> str:
        return "a thing"


def strange_result() -> xarray.DataTree:
    """Of a model with strange names, labels of strange types, and data that are Python objects."""
    model = synthetic_runs.make_model(STRANGE_NAMES, len(STRANGE_NAMES))
    model.observed_data = {"y": np.array([1, "two", Thing()], dtype=object)}
    records = [synthetic_runs.make_record(chain, dim=len(STRANGE_NAMES)) for chain in range(2)]
    return build_datatree(records, model, {"inference_library": "grhmc", "strange": {"a": Thing(), "b": (1, None)}})


def write(suffix: str, folder: Path) -> Path:
    pytest.importorskip("zarr" if suffix == ".zarr" else "h5py", reason="needs pip install 'grhmc[store]'")
    path = folder / f"run{suffix}"
    write_result(strange_result(), path)
    return path


def files_under(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_strange_names_stay_inside_the_file_and_are_read_back(suffix: str, tmp_path: Path) -> None:
    folder = tmp_path / "inner"
    folder.mkdir()
    path = write(suffix, folder)
    assert os.listdir(tmp_path) == ["inner"]
    assert os.listdir(folder) == [path.name]
    options: dict[str, Any] = {"engine": "zarr", "consolidated": False} if suffix == ".zarr" else {"engine": "h5netcdf"}
    with xarray.open_datatree(path, **options) as tree:
        assert set(tree["posterior"].data_vars) == set(STRANGE_NAMES)
        assert tree["observed_data"]["y"].to_numpy().tolist() == ["1", "two", "a thing"]


def test_a_netcdf_file_holds_numbers_and_text_only(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="needs pip install 'grhmc[store]'")
    path = write(".nc", tmp_path)
    seen = []

    def is_plain(dtype: np.dtype) -> bool:
        return dtype.kind in "fiubUS" or h5py.check_string_dtype(dtype) is not None

    def visit(name: str, item: Any) -> None:
        seen.append(name)
        if isinstance(item, h5py.Dataset):
            assert is_plain(item.dtype), name
            assert item.external is None
            assert not item.is_virtual
        own = {key: value for key, value in item.attrs.items() if key not in ("DIMENSION_LIST", "REFERENCE_LIST")}
        for key, value in own.items():  # those two are HDF5's own, references within the file
            assert isinstance(value, str | bytes | np.number) or is_plain(np.asarray(value).dtype), (name, key)

    with h5py.File(path, "r") as file:
        file.visititems(visit)
        for group in ("/", "posterior"):
            kinds = {type(file[group].get(key, getlink=True)) for key in file[group]}
            assert kinds == {h5py.HardLink}
    assert any("posterior" in name for name in seen)


def test_a_zarr_store_holds_numbers_and_text_only(tmp_path: Path) -> None:
    path = write(".zarr", tmp_path)
    n_arrays = 0
    for file in files_under(path):
        assert not file.is_symlink()
        if file.name != "zarr.json":
            continue
        metadata = json.loads(file.read_text("utf-8"))
        if metadata["node_type"] != "array":
            continue
        n_arrays += 1
        data_type = metadata["data_type"]
        name = data_type if isinstance(data_type, str) else data_type["name"]
        assert name.startswith(("float", "int", "uint", "bool", "string", "fixed_length_utf32")), data_type
        codecs = {codec["name"] for codec in metadata["codecs"]}
        assert codecs <= {"bytes", "zstd", "vlen-utf8", "blosc", "gzip"}
    assert n_arrays > 20


def test_no_file_that_we_write_holds_a_pickle(tmp_path: Path) -> None:
    """Uncompressed parts of each are searched for the names that a pickle of an object would need."""
    write(".nc", tmp_path)
    write(".zarr", tmp_path)
    save_checkpoint(tmp_path / "run.npz", {"a": np.zeros(2), "b": np.array(["text"])}, {"c": [1, "d"]})
    for path in files_under(tmp_path):
        content = path.read_bytes()
        assert b"numpy.core" not in content
        assert b"numpy._core" not in content
        assert b"Thing" not in content
    with zipfile.ZipFile(tmp_path / "run.npz") as archive:
        names = [name for name in archive.namelist() if name.endswith(".npy")]
        for name in names:
            with archive.open(name) as entry:
                assert not np.lib.format.read_array(entry, allow_pickle=False).dtype.hasobject


def test_a_checkpoint_of_objects_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="must not hold Python objects"):
        save_checkpoint(tmp_path / "run.npz", {"a": np.array([Thing()], dtype=object)}, {})
    with pytest.raises(TypeError, match="JSON"):
        save_checkpoint(tmp_path / "run.npz", {}, {"a": Thing()})
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["../a", "a/b", "..\\a", "/etc/passwd", "a\0b", "a\nb", ESCAPE, *NAMES_OF_FILES])
def test_names_that_are_paths_or_control_characters_are_rejected_before_sampling(name: str) -> None:
    with pytest.raises(ValueError, match="names must not"):
        parse_names([name], 1)
    with pytest.raises(ValueError, match="dims of 'x' must not"):
        check_variables([Variable("x", (2,), (name,))])
    with pytest.raises(ValueError, match="coords must not"):
        parse_coords({name: [1, 2]})


@pytest.mark.parametrize("name", ["../a", "..", "a\\.."])
def test_names_of_data_are_checked_as_well(name: str) -> None:
    address = synthetic_runs.make_model(dim=2).address
    with pytest.raises(ValueError, match="observed_data must not"):
        grhmc.LogDensity(2, address, observed_data={name: np.zeros(2)})


def test_a_backslash_in_a_name_is_kept_from_zarr_which_takes_it_for_a_separator(tmp_path: Path) -> None:
    pytest.importorskip("zarr", reason="needs pip install 'grhmc[store]'")
    model = synthetic_runs.make_model(["$\\alpha$"], 1)
    check_output(tmp_path / "run.nc", model)
    with pytest.raises(ValueError, match=r"write \.nc instead"):
        check_output(tmp_path / "run.zarr", model)


@needs_links
@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_a_result_replaces_a_link_and_does_not_follow_it(suffix: str, tmp_path: Path) -> None:
    folder, outside = tmp_path / "inner", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (outside / "precious").touch()
    (folder / f"run{suffix}").symlink_to(outside / "precious" if suffix == ".nc" else outside)
    path = write(suffix, folder)
    assert not path.is_symlink()
    assert os.listdir(outside) == ["precious"]
    assert (outside / "precious").stat().st_size == 0


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_a_folder_that_is_no_result_is_not_overwritten(suffix: str, tmp_path: Path) -> None:
    pytest.importorskip("zarr" if suffix == ".zarr" else "h5py", reason="needs pip install 'grhmc[store]'")
    path = tmp_path / f"photos{suffix}"
    path.mkdir()
    (path / "precious").touch()
    with pytest.raises(ValueError, match="is a folder that no result was written to"):
        check_output(path)
    result = write(suffix, tmp_path)
    check_output(result)  # an earlier result may be


@needs_links
def test_the_demo_writes_nowhere_but_in_its_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def sample(model: Any, **arguments: Any) -> xarray.DataTree:
        return synthetic_runs.make_result(2, list(model.coordinate_names), model.dim, n_draws=20)

    monkeypatch.setattr(sampling, "sample", sample)
    monkeypatch.setattr(comparison, "sample", sample)
    folder, outside = tmp_path / "demo", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    names = ("trace.png", "scale.png", "crossing-times.png", "ess.png", "draws.nc")
    for name in names:
        (outside / name).write_text("precious")
        (folder / name).symlink_to(outside / name)
    arguments = ["demo", "--output", str(folder), "--draws", "20", "--tune", "20", "--chains", "2"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert all((outside / name).read_text() == "precious" for name in names)
    assert sorted(os.listdir(folder)) == sorted(names)
    assert not any((folder / name).is_symlink() for name in names)


@needs_links
def test_a_report_writes_nowhere_but_in_its_folder(tmp_path: Path) -> None:
    from grhmc.paper.write_report import write_report

    folder, outside = tmp_path / "paper", tmp_path / "outside"
    folder.mkdir()
    outside.write_text("precious")
    names = ("tables.csv", "moments.csv", "report.html", "report.md")
    for name in names:
        (folder / name).symlink_to(outside)
    write_report(folder, [], [], 1.0)
    assert outside.read_text() == "precious"
    assert sorted(os.listdir(folder)) == sorted(names)
