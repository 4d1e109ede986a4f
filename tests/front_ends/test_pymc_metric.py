"""PyMC's own NUTS runs with the metric that was tuned, whatever the order of its parameters."""

import importlib.util
import warnings

import numpy as np
import pytest

import grhmc
import pymc_models
from grhmc.tuned import Origin, Tuned
from reference_posteriors import read_posterior_data

if importlib.util.find_spec("pymc") is None:
    pytest.skip("needs PyMC: pip install 'grhmc[pymc]'", allow_module_level=True)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pymc

pytestmark = pytest.mark.filterwarnings("ignore:(?s).*faster on contiguous arrays")


def wide_and_narrow(names=("z", "m", "tau")):
    """Normals, and a parameter that PyMC transforms, in the order of the names."""
    with pymc.Model() as model:
        for name in names:
            if name == "z":
                pymc.Normal("z", 0, 1e3)
            elif name == "m":
                pymc.Normal("m", 0, np.array([[1e-2, 1.0, 1e3], [3.0, 1e-3, 50.0]]), shape=(2, 3))
            else:
                pymc.LogNormal("tau", 0, 0.1)
    return model


def steps_of(model, potential):
    with model, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few draws
        result = pymc.sample(
            30, tune=60, chains=1, random_seed=1, progressbar=False, compute_convergence_checks=False,
            step=pymc.NUTS(potential=potential, max_treedepth=7),
        )  # fmt: skip
    return float(result.sample_stats["n_steps"].mean())


def test_pymc_runs_with_the_metric_by_name():
    model, reordered = wide_and_narrow(), wide_and_narrow(("tau", "m", "z"))
    tuned = grhmc.tune(model, tune=200, chains=2, seed=1, progress_bar=False)
    assert steps_of(model, tuned.for_pymc()) < 15.0
    with reordered:  # the model of the block, found by name
        potential = tuned.for_pymc(dense=True)
    assert steps_of(reordered, potential) < 15.0
    # The negative control: what the order of the other model would have given.
    assert steps_of(reordered, tuned.for_pymc(dense=False).__class__(tuned.scale**2)) > 50.0


def test_other_parameters_are_named():
    scale = np.ones(10)
    tuned = Tuned(
        scale, scale, 1.0, 1.0, 0, ("mu", "tau_log__", *(f"eta[{k}]" for k in range(8))), np.zeros((0, 10)),
        np.zeros(0), scale[None], scale[None], np.ones(1), Origin("PyMC"),
    )  # fmt: skip
    fits = pymc_models.eight_schools(read_posterior_data("eight_schools"))
    assert len(tuned.for_pymc(fits).v) == 10
    with pytest.raises(ValueError, match=r"it has none for z, m\[0,0\].*the model lacks mu, .*eta\[0\]"):
        tuned.for_pymc(wide_and_narrow())
    with pytest.raises(TypeError, match=r"model must be a pymc\.Model"):
        tuned.for_pymc("model")
