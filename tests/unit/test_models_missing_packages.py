"""Without its package a front-end says which extra to install."""

import re
import sys

import pytest

import grhmc


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
