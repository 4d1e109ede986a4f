"""What a model says in another process: pickled here, made again there."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np

import grhmc
from forked_scripts import run_script

_SCRIPT = """
import os, pickle, sys, warnings
warnings.simplefilter("ignore")
folder = sys.argv[1]
os.chdir(folder)
with open(folder + "/model.pickle", "rb") as file:
    model, q = pickle.load(file)
with open(folder + "/answer.pickle", "wb") as file:
    pickle.dump((model.evaluate(q), model.constrain(q[None]), model.variables, model.coordinate_names), file)
"""


def check_second_process_agrees(model: grhmc.LogDensity, folder: Path) -> None:
    """Fail unless a process that has never seen the model gets from its pickle the same values, names and shapes."""
    q = np.linspace(-0.5, 0.7, model.dim)
    with (folder / "model.pickle").open("wb") as file:
        pickle.dump((model, q), file)
    run_script(_SCRIPT, str(folder))
    with (folder / "answer.pickle").open("rb") as file:
        (log_density, gradient, code), values, variables, coordinate_names = pickle.load(file)
    expected_log_density, expected_gradient, expected_code = model.evaluate(q)
    assert (code, variables, coordinate_names) == (expected_code, model.variables, model.coordinate_names)
    np.testing.assert_allclose(log_density, expected_log_density, rtol=1e-13)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-12)
    for name, value in model.constrain(q[None]).items():
        np.testing.assert_allclose(values[name], value, rtol=1e-12)
