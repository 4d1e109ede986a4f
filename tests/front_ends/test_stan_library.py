"""Ready libraries with BridgeStan's interface, without any Stan package."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import grhmc

_SOURCE = Path(__file__).parent / "programs" / "normal_bridgestan.c"


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler to make a library")
    path = tmp_path_factory.mktemp("library") / "normal_model.so"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-w", "-o", str(path), str(_SOURCE)], check=True)
    return path


def test_a_compiled_model_is_sampled_from_its_path(library):
    model = grhmc.from_stan(library)
    assert model.evaluate([1.0, 2.0])[0] == -2.5
    result = grhmc.sample(model, chains=2, draws=50, tune=50, seed=1, progress_bar=False)
    assert result["posterior"]["x"].shape == (2, 50, 2)


def test_without_stan_threads_evaluations_take_turns(library):
    model = grhmc.from_stan(library)
    assert model.holds_gil  # threads do not help
    grhmc.sample(model, chains=4, cores=4, draws=200, tune=100, seed=1, progress_bar=False)
    assert ctypes.CDLL(str(library)).test_overlaps() == 0


def test_what_the_library_says_about_the_data_is_passed_on(library):
    with pytest.raises(ValueError, match="told to fail"):
        grhmc.from_stan(library, {"fail": 1})


def test_gradients_are_checked_through_the_adapter(library):
    grhmc.from_stan(library).check_gradient(np.array([0.5, -1.0]))
