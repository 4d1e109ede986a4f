"""Models from JAX functions: trees, names, double precision, errors, the reference posteriors."""

import importlib.util
import subprocess
import sys
import traceback
import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest

import grhmc
import jax_models
from reference_posteriors import check_same_posterior, large_discrepancies, read_posterior_data, with_variables

if importlib.util.find_spec("jax") is None:
    pytest.skip("needs JAX: pip install 'grhmc[jax]'", allow_module_level=True)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import jax
    import jax.numpy as jnp

needs_stanli = pytest.mark.skipif(
    importlib.util.find_spec("stanli") is None, reason="needs stanli: pip install 'grhmc[stan]'"
)
POSTERIORS = ("eight_schools", "garch11")
FIRST_OF_POSTERIORS = (POSTERIORS[0], *(pytest.param(name, marks=pytest.mark.nightly) for name in POSTERIORS[1:]))


class Pair(NamedTuple):
    left: Any
    right: Any


def normal(tree):
    return -0.5 * sum(jnp.sum(leaf**2) for leaf in jax.tree_util.tree_leaves(tree))


@pytest.mark.statistical
@pytest.mark.parametrize("name", FIRST_OF_POSTERIORS)
def test_default_settings_agree_with_the_reference(name):
    logp, example, variables = getattr(jax_models, name)(read_posterior_data(name))
    result = grhmc.sample(grhmc.from_jax(logp, example), seed=2, progress_bar=False)
    assert large_discrepancies(name, with_variables(result, variables)) == []


@needs_stanli
@pytest.mark.parametrize("name", POSTERIORS)
def test_jax_and_stan_differ_by_a_constant(name):
    logp, example, _ = getattr(jax_models, name)(read_posterior_data(name))
    check_same_posterior(grhmc.from_jax(logp, example), name)


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        (1.0, {"x": ()}),
        (np.zeros((2, 1, 3), np.float32), {"x": (2, 1, 3)}),
        ({"b": [1, np.zeros(2)], "a": {"c": jnp.zeros(1)}}, {"a.c": (1,), "b[0]": (), "b[1]": (2,)}),
        ((np.zeros(0), 3), {"x[0]": (0,), "x[1]": ()}),
        (Pair(1.0, {"r": np.zeros((1, 2), int)}), {"left": (), "right.r": (1, 2)}),
        ({"a, b": 1.0, "c[0]": 2.0, "": 1.0}, None),
    ],
)
def test_a_tree_gives_names_and_shapes(example, expected):
    if expected is None:
        with pytest.raises(ValueError, match="names must not be empty"):
            grhmc.from_jax(normal, example)
        return
    model = grhmc.from_jax(normal, example)
    assert {v.name: v.shape for v in model.variables} == expected
    q = np.linspace(0.5, 2, model.dim)
    log_density, gradient, code = model.evaluate(q)
    assert (log_density, code) == (pytest.approx(-0.5 * q @ q), 0)
    np.testing.assert_allclose(gradient, -q)
    result = grhmc.sample(model, chains=1, draws=20, tune=20, seed=1, progress_bar=False)
    assert {str(k): v.shape[2:] for k, v in result["posterior"].items()} == expected


def test_the_function_gets_the_tree_it_was_promised():
    seen = []

    def logp(p):
        seen.append((type(p), p.left.shape, p.left.dtype, sorted(p.right)))
        return normal(p)

    grhmc.from_jax(logp, Pair(np.zeros((2, 3), np.float32), {"b": 1, "a": 2})).evaluate(np.zeros(8))
    assert all(what == (Pair, (2, 3), jnp.dtype("float64"), ["a", "b"]) for what in seen)


def test_names_dims_and_coords_are_the_users():
    model = grhmc.from_jax(
        normal,
        (0.0, np.zeros(2)),
        names=["m, u", "beta[x]"],
        dims={"beta[x]": ["who"]},
        coords={"who": [("a", 1), "b"]},
    )
    assert model.coordinate_names == ("m, u", "beta[x][0]", "beta[x][1]")
    result = grhmc.sample(model, chains=1, draws=20, tune=20, seed=1, progress_bar=False)
    assert result["posterior"]["beta[x]"].dims == ("chain", "draw", "who")


def test_double_precision_is_local():
    seen = []

    def logp(x):
        seen.append(x.dtype)
        return jnp.sum(jnp.log1p(1e-12 * x**2)) * 1e12 - jnp.sum(x**2)

    model = grhmc.from_jax(logp, np.zeros(2))
    assert set(seen) == {jnp.dtype("float64")}
    assert model.evaluate([1.0, 0.0])[0] == pytest.approx(-0.5e-12, abs=1e-15)  # log1p(z) = z - z**2 / 2
    assert jnp.ones(1).dtype == jnp.float32
    grhmc.sample(grhmc.from_jax(normal, 0.0), chains=2, cores=2, draws=20, tune=20, progress_bar=False)
    assert jnp.ones(1).dtype == jnp.float32


def half_in_a_loop(x):
    return jax.lax.fori_loop(0, 2, lambda _, s: s.astype(jnp.float16).astype(float), x)


@pytest.mark.parametrize(
    ("logp", "example", "error", "words"),
    [
        (lambda x: x, np.zeros(2), TypeError, r"returns shapes \[\(2,\)\]"),
        (lambda x: (jnp.sum(x), 1.0), np.zeros(2), TypeError, "a scalar"),
        (lambda x: jnp.sum(x.astype(jnp.float32)), np.zeros(2), TypeError, "returns float32"),
        (lambda x: 1.0 * jnp.sum(x.astype(jnp.float32)).astype(float), np.zeros(2), TypeError, "to float32 on the way"),
        (half_in_a_loop, 0.0, TypeError, "float16"),
        (lambda x: jnp.argmax(x), np.zeros(2), TypeError, "returns int64"),
        (3, np.zeros(2), TypeError, "logp must be a function"),
        (normal, {}, ValueError, "nothing to sample"),
        (normal, np.zeros((0, 3)), ValueError, "nothing to sample"),
        (normal, {"a": "text"}, TypeError, "'a' is str"),
        (normal, np.zeros(2, complex), TypeError, "complex128"),
        (normal, {"chain": 1.0}, ValueError, "chain"),
        (normal, {"a": np.ma.array([0.0, 9.0], mask=[False, True])}, ValueError, "at 'a', is a masked array"),
        (normal, {"a/b": 1.0}, ValueError, "/"),
        (normal, {"a[0]": 1.0, "a": [2.0]}, ValueError, r"'a\[0\]'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_before_sampling(logp, example, error, words):
    with pytest.raises(error, match=words):
        grhmc.from_jax(logp, example)


def test_wrong_names_and_dims_are_rejected():
    with pytest.raises(ValueError, match=r"at \['x\[0\]', 'x\[1\]'\]"):
        grhmc.from_jax(normal, (1.0, 2.0), names=["a"])
    with pytest.raises(ValueError, match="must be distinct"):
        grhmc.from_jax(normal, (1.0, 2.0), names=["a", "a"])
    with pytest.raises(TypeError, match="sequence of strings"):
        grhmc.from_jax(normal, (1.0, 2.0), names="ab")
    with pytest.raises(ValueError, match=r"dims names \['y'\]"):
        grhmc.from_jax(normal, 1.0, dims={"y": ["a"]})
    with pytest.raises(TypeError, match=r"dims\['x'\]"):
        grhmc.from_jax(normal, np.zeros(2), dims={"x": "ab"})


def test_an_error_in_the_function_comes_with_its_traceback():
    def fails(x):
        raise ZeroDivisionError("in here")

    with pytest.raises(ZeroDivisionError, match="in here") as caught:
        grhmc.from_jax(fails, 0.0)
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "fails"


def test_an_error_during_sampling_reaches_the_user():
    def check(x):
        if abs(x) > 0.5:
            raise ZeroDivisionError("told to fail")
        return np.asarray(x)

    @jax.custom_jvp
    def guarded(x):
        return jax.pure_callback(check, jax.ShapeDtypeStruct((), np.float64), x)

    guarded.defjvps(lambda tangent, _, x: tangent)  # pyright: ignore[reportFunctionMemberAccess]
    model = grhmc.from_jax(lambda x: -0.5 * guarded(x) ** 2, 0.0)
    with pytest.raises(Exception, match="told to fail"):
        grhmc.sample(model, init=[0.1], chains=1, draws=50, tune=50, seed=1, progress_bar=False)


def test_jax_models_keep_the_contract():
    grhmc.from_jax(normal, {"a": 0.0, "b": np.zeros((2, 3))}).check().raise_if_failed()


def test_outside_the_support_is_no_error():
    model = grhmc.from_jax(lambda x: jnp.log(x), 1.0)
    assert model.evaluate([-1.0])[2] == 1
    assert model.evaluate([2.0])[2] == 0


def test_draws_do_not_depend_on_the_number_of_threads():
    model = grhmc.from_jax(normal, np.zeros(3))
    runs = [
        grhmc.sample(model, chains=2, cores=cores, draws=30, tune=30, seed=1, progress_bar=False) for cores in (1, 2)
    ]
    one, two = (run["posterior"]["x"].to_numpy() for run in runs)
    np.testing.assert_array_equal(one, two)


AFTERWARDS = """
import jax, jax.numpy as jnp, numpy as np, grhmc
s = np.arange(1.0, 9.0)
inner = jax.jit(lambda q: q * s)
def logp(q):
    rows = jax.lax.map(lambda x: jnp.sum(x / s), q)
    return -0.5 * jnp.sum((q / s) ** 2) - 1e-9 * jnp.sum(rows**2){more}
model = grhmc.from_jax(logp, np.zeros(8))
assert np.isfinite(model.evaluate(np.ones(8))[0])
model.constrain(np.zeros((3, 8)))
{numpyro}
ones = jnp.ones(8)
for function in (lambda: ones * s, lambda: ones / s, lambda: inner(ones), lambda: logp(ones)):
    assert function().dtype == jnp.float32
    assert jax.jit(function)().dtype == jnp.float32
assert (jnp.ones(8) * s).dtype == jnp.float32
"""
NUMPYRO = """
import numpyro, numpyro.distributions as dist
def line(s, y):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    numpyro.sample("y", dist.Normal(mu, s), obs=y)
other = grhmc.from_numpyro(line, s, s)
other.evaluate(np.ones(1)), other.constrain(np.zeros((3, 1))), other.log_likelihood(np.zeros((3, 1)))
"""


@pytest.mark.parametrize("more", [pytest.param("", marks=pytest.mark.nightly), " - 1e-9 * jnp.sum(inner(q) ** 2)"])
def test_the_users_own_arrays_are_as_before_afterwards(more):
    """JAX remembers arrays of traced functions with the precision of the trace. In a process of its own."""
    numpyro = NUMPYRO if importlib.util.find_spec("numpyro") and not more else ""
    code = AFTERWARDS.replace("{more}", more).replace("{numpyro}", numpyro)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_data_of_single_precision_may_be_rounded_but_parameters_may_not():
    s = jnp.ones(3)

    def logp(q):
        scale = jnp.float32(np.sqrt(2.0)) * jnp.exp(s)
        return -0.5 * jnp.sum(jax.jit(lambda x: x / jnp.float32(2.0).astype(jnp.float32))(q) ** 2 / scale)

    assert np.isfinite(grhmc.from_jax(logp, np.zeros(3)).evaluate(np.ones(3))[0])
    with pytest.raises(TypeError, match="float32 on the way"):
        grhmc.from_jax(lambda q: logp(jax.jit(lambda x: x.astype(jnp.float32).astype(float))(q)), np.zeros(3))
