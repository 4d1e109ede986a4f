"""PyMC models on worker processes, where they are compiled again: the draws are those of threads, but for rounding."""

import importlib.util
import warnings

import numpy as np
import pytest

import grhmc
from short_runs import draws_of, sample

if importlib.util.find_spec("pymc") is None:
    pytest.skip("needs PyMC: pip install 'grhmc[pymc]'", allow_module_level=True)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyMC's dependencies announce their own plans
    import pymc


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore:(?s).*faster on contiguous arrays")
def test_draws_are_those_of_threads():
    with pymc.Model() as model:
        mu = pymc.Normal("mu", 0, 5)
        sigma = pymc.Exponential("sigma", 1)
        pymc.Deterministic("ratio", mu / sigma)
        pymc.Normal("y", mu, sigma, observed=np.array([1.0, 2.5, 3.0, 0.5]))
    compiled = grhmc.from_pymc(model)
    in_threads, on_workers = sample(compiled), sample(compiled, executor="processes")
    # Not to the last bit: what is compiled for the first time is inlined, what comes from PyTensor's cache is not.
    np.testing.assert_allclose(draws_of(in_threads), draws_of(on_workers), rtol=1e-6)
    np.testing.assert_allclose(in_threads["posterior"]["ratio"], on_workers["posterior"]["ratio"], rtol=1e-6)
    assert len(np.unique(draws_of(in_threads))) > 300  # chains that move and are not each other
