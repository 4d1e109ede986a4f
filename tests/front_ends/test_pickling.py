"""Models of every front-end are made again in another process, local functions and data included."""

import ctypes
import sys
import threading

import numpy as np
import pytest

import grhmc
from second_process import check_second_process_agrees

pytest.importorskip("cloudpickle", reason="needs cloudpickle: pip install 'grhmc[cluster]'")


def test_python(tmp_path):
    factor = 2.0
    check_second_process_agrees(
        grhmc.from_python(lambda q: (-factor * q @ q, -2 * factor * q), 2, ["a", "b"]), tmp_path
    )


def test_numba(tmp_path):
    power = 2

    def f(q, gradient, mean):
        log_density = 0.0
        for j in range(q.size):  # compiled in a tenth of the time that expressions of arrays take
            gradient[j] = -power * (q[j] - mean[j])
            log_density -= (q[j] - mean[j]) ** power
        return log_density

    check_second_process_agrees(grhmc.from_numba(f, 3, {"v": 3}, data=(np.arange(3.0),)), tmp_path)


def test_stan(tmp_path):
    pytest.importorskip("stanli", reason="needs stanli: pip install 'grhmc[stan]'")
    program = "data { real m; } parameters { real<lower=0> x; } model { x ~ normal(m, 1); } generated quantities { real y = normal_rng(x, 1); }"  # noqa: E501
    check_second_process_agrees(grhmc.from_stan(program, {"m": 3.0}, seed=4), tmp_path)


@pytest.mark.nightly
def test_jax(tmp_path):  # NumPyro's models are JAX's
    pytest.importorskip("jax", reason="needs JAX: pip install 'grhmc[jax]'")
    import jax.numpy as jnp

    mean = np.arange(2.0)
    model = grhmc.from_jax(
        lambda p: -jnp.sum((p["v"] - mean) ** 2) - p["s"] ** 2, {"s": 0, "v": np.zeros(2)}, dims={"v": ["who"]}
    )
    check_second_process_agrees(model, tmp_path)


def test_numpyro(tmp_path):
    pytest.importorskip("numpyro", reason="needs NumPyro: pip install 'grhmc[jax]'")
    import numpyro
    import numpyro.distributions as dist

    def model(mean, *, scale):
        x = numpyro.sample("x", dist.LogNormal(mean, scale))
        numpyro.deterministic("y", 2 * x)

    check_second_process_agrees(grhmc.from_numpyro(model, np.arange(2.0), scale=2.0), tmp_path)


def test_torch(tmp_path):
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'grhmc[torch]'")
    mean = torch.arange(2.0, dtype=torch.float64)
    model = grhmc.from_torch(lambda p: -((p["v"] - mean) ** 2).sum() - p["s"] ** 2, {"s": 0.0, "v": torch.zeros(2)})
    check_second_process_agrees(model, tmp_path)


def test_a_pointer_means_nothing_elsewhere():
    with pytest.raises(TypeError, match="means nothing in another process"):
        grhmc.from_pointer(ctypes.cast(ctypes.CDLL(None).abs, ctypes.c_void_p).value or 0, 1).__reduce__()


def test_without_cloudpickle_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(TypeError, match=r"without the package cloudpickle .*grhmc\[cluster\]"):
        grhmc.from_python(lambda q: (0.0, -q), 1).__reduce__()
    assert len(grhmc.from_python(np.linalg.slogdet, 1).__reduce__()) == 2  # named in a module: nothing is needed


def test_what_cannot_be_pickled_at_all_is_said():
    lock = threading.Lock()
    with pytest.raises(TypeError, match=r"cannot be pickled.*lock"):
        grhmc.from_python(lambda q: (0.0 if lock else 1.0, -q), 1).__reduce__()
