"""Without its package a front-end, or what saves draws, says which extra to install."""

import importlib.util
import re
import sys

import pytest

import grhmc
import short_runs
from grhmc.cli.output import check_output


@pytest.mark.parametrize(
    ("call", "missing", "extra"),
    [
        (lambda: grhmc.from_pymc(None), ["pymc"], "pymc"),
        (lambda: grhmc.from_jax(lambda x: x, 0.0), ["jax"], "jax"),
        (lambda: grhmc.from_numpyro(lambda: None), ["numpyro"], "jax"),
        (lambda: grhmc.from_torch(lambda x: x, 0.0), ["torch"], "torch"),
        (lambda: grhmc.from_stan("parameters { real x; }"), ["stanli", "bridgestan"], "stan"),
        (lambda: grhmc.from_stan("parameters { real x; }", backend="stanli"), ["stanli"], "stan"),
        (lambda: grhmc.from_stan("parameters { real x; }", backend="bridgestan"), ["bridgestan"], "stan"),
    ],
    ids=["pymc", "jax", "numpyro", "torch", "stan", "stanli", "bridgestan"],
)
def test_the_extra_is_named(monkeypatch, call, missing, extra):
    for package in missing:
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=re.escape(f"grhmc[{extra}]")):
        call()


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (lambda: None, "from_numpyro.*for a NumPyro model"),
        ("parameters { real x; }", "from_stan"),
        (3, "got int: 3$"),
    ],
    ids=["function", "text", "number"],
)
def test_what_is_no_model_is_told_the_way(model, words):
    with pytest.raises(TypeError, match=words):
        grhmc.sample(model)


def test_a_run_on_disk_says_what_it_needs_before_it_starts(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(ImportError, match=r"store= needs the package zarr.*pip install 'grhmc\[store\]'"):
        short_runs.sample(store=tmp_path / "run.zarr")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "packages"), [("run.nc", "h5netcdf and h5py"), ("run.zarr", "zarr")])
def test_a_file_of_draws_says_what_it_needs_before_the_run(monkeypatch, tmp_path, name, packages):
    monkeypatch.setattr(importlib.util, "find_spec", lambda package: None)
    with pytest.raises(ImportError, match=rf"needs {packages}; pip install 'grhmc\[store\]'"):
        check_output(tmp_path / name)
