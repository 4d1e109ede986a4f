"""Models of other packages on worker processes, where they are made again: the draws are those of threads."""

from __future__ import annotations

import numpy as np
import pytest

import grhmc
from grhmc.run import remote
from short_runs import draws_of, sample

STAN = """
data { int n; vector[n] y; }
parameters { real mu; real<lower=0> sigma; }
model { y ~ normal(mu, sigma); mu ~ normal(0, 5); sigma ~ exponential(1); }
"""
DATA = np.array([1.0, 2.5, 3.0, 0.5])


def assert_same_on_workers(model: grhmc.LogDensity, monkeypatch: pytest.MonkeyPatch) -> None:
    """Send out chains several times to a process, and compare."""
    monkeypatch.setattr(remote, "_BYTES_OF_DRAWS", 8 * model.dim * 50)
    in_threads = sample(model, draws=400)
    on_workers = sample(model, draws=400, executor="processes")
    np.testing.assert_array_equal(draws_of(in_threads), draws_of(on_workers))
    for name, values in in_threads["posterior"].data_vars.items():
        np.testing.assert_array_equal(values, on_workers["posterior"][name])


def test_stan(monkeypatch):
    pytest.importorskip("stanli", reason="needs stanli: pip install 'grhmc[stan]'")
    assert_same_on_workers(grhmc.from_stan(STAN, {"n": 4, "y": DATA}), monkeypatch)


@pytest.mark.nightly
def test_numpyro(monkeypatch):
    pytest.importorskip("numpyro", reason="needs NumPyro: pip install 'grhmc[jax]'")
    import numpyro
    import numpyro.distributions as dist

    def model(y):
        mu = numpyro.sample("mu", dist.Normal(0, 5))
        sigma = numpyro.sample("sigma", dist.Exponential(1))
        numpyro.sample("y", dist.Normal(mu, sigma), obs=y)

    assert_same_on_workers(grhmc.from_numpyro(model, DATA), monkeypatch)
