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
    grhmc.sample(model, chains=4, cores=4, draws=200, tune=100, seed=1, progress_bar=False)
    assert ctypes.CDLL(str(library)).test_overlaps() == 0


def test_what_the_library_says_about_the_data_is_passed_on(library):
    with pytest.raises(ValueError, match="told to fail"):
        grhmc.from_stan(library, {"fail": 1})


def test_gradients_are_checked_through_the_adapter(library):
    grhmc.from_stan(library).check_gradient(np.array([0.5, -1.0]))


def test_what_a_library_cannot_compute_of_a_draw_is_nan_and_the_rest_is_there(library):
    model = grhmc.from_stan(library, {"outputs": 1})
    draws = np.array([[0.5, 7.0], [1.5, 8.0], [2.5, 9.0]])
    with pytest.warns(RuntimeWarning, match=r"t, y in 2 of 3 draws.*t is too large"):
        values = model.constrain(draws)
    np.testing.assert_array_equal(values["x"], draws)
    np.testing.assert_array_equal(values["t"], [1.0, 3.0, np.nan])
    np.testing.assert_array_equal(values["y"], [1.5, np.nan, np.nan])
