"""Models from NumPyro: the reference posteriors, sites, plates, arguments, starting points, rejections."""

import functools
import importlib.util
import warnings
from typing import Any

import numpy as np
import pytest

import grhmc
import numpyro_models
from forked_scripts import run_script
from grhmc.models.numpyro.arguments import draw_until_valid
from reference_posteriors import check_same_posterior, large_discrepancies, read_posterior_data
from short_runs import sample

if importlib.util.find_spec("numpyro") is None:
    pytest.skip("needs NumPyro: pip install 'grhmc[jax]'", allow_module_level=True)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import init_to_median, init_to_value

needs_stanli = pytest.mark.skipif(
    importlib.util.find_spec("stanli") is None, reason="needs stanli: pip install 'grhmc[stan]'"
)
POSTERIORS = ("eight_schools", "arK", "gauss_mix")
FIRST_OF_POSTERIORS = (POSTERIORS[0], *(pytest.param(name, marks=pytest.mark.nightly) for name in POSTERIORS[1:]))


@pytest.fixture(scope="module")
def made():
    """Models by the name of their posterior."""

    @functools.cache
    def get(name):
        return grhmc.from_numpyro(getattr(numpyro_models, name), read_posterior_data(name))

    return get


@pytest.mark.statistical
@pytest.mark.parametrize("name", FIRST_OF_POSTERIORS)
def test_default_settings_agree_with_the_reference(made, name):
    result = grhmc.sample(made(name), seed=2, progress_bar=False)
    assert large_discrepancies(name, result) == []


@needs_stanli
@pytest.mark.parametrize("name", POSTERIORS)
def test_numpyro_and_stan_differ_by_a_constant(made, name):
    check_same_posterior(made(name), name)


def test_sites_plates_and_observations_are_those_of_the_model(made):
    model = made("eight_schools")
    assert [(v.name, v.shape, v.dims) for v in model.variables] == [
        ("mu", (), None), ("tau", (), None), ("eta", (8,), ("school",)), ("theta", (8,), ("school",)),
    ]  # fmt: skip
    assert model.coordinate_names[:3] == ("mu", "tau", "eta[0]")
    np.testing.assert_array_equal(model.observed_data["y"], read_posterior_data("eight_schools")["y"])
    assert list(made("gauss_mix").observed_data) == ["y"]  # a factor is no observation


def test_draws_come_back_constrained_with_deterministics(made):
    model = made("eight_schools")
    for n in (3, 4, 1):
        q = np.random.default_rng(1).normal(size=(n, 10))
        values = model.constrain(q)
        np.testing.assert_allclose(values["tau"], np.exp(q[:, 1]))
        np.testing.assert_allclose(values["theta"], q[:, [0]] + np.exp(q[:, [1]]) * q[:, 2:])
        assert values["theta"].dtype == np.float64
    assert model.constrain(q[:0])["theta"].shape == (0, 8)
    with pytest.raises(ValueError, match="draws must have shape"):
        model.constrain(np.zeros(10))


def of_all_shapes():
    numpyro.sample("scalar", dist.Normal())
    numpyro.sample("none", dist.Normal().expand([0]))
    numpyro.sample("a, [b]", dist.Normal().expand([2, 1, 3]).to_event(3))
    with numpyro.plate("row", 2, dim=-2), numpyro.plate("column", 3, dim=-1):
        both: Any = numpyro.sample("both", dist.Dirichlet(np.ones(4)))
        numpyro.deterministic("first", both[..., 0])
        numpyro.deterministic("whole", both)
    with numpyro.plate("row", 2, dim=-2):
        numpyro.sample("one", dist.Normal(), infer={"event_dims": []})
    numpyro.sample("named", dist.Normal().expand([3]).to_event(1), infer={"event_dims": ["column"]})


def test_plates_name_the_axes_they_stand_for():
    model = grhmc.from_numpyro(of_all_shapes, coords={"column": ["a", "b", "c"], "row": [("x", 1), ("y", 2)]})
    assert {v.name: (v.shape, v.dims) for v in model.variables} == {
        "scalar": ((), None),
        "none": ((0,), ("none_dim_0",)),
        "a, [b]": ((2, 1, 3), ("a, [b]_dim_0", "a, [b]_dim_1", "a, [b]_dim_2")),
        "both": ((2, 3, 4), ("row", "column", "both_dim_2")),
        "first": ((2, 3), ("row", "column")),
        "whole": ((2, 3, 4), ("row", "column", "whole_dim_2")),
        "one": ((2, 1), ("row", "one_dim_1")),
        "named": ((3,), ("column",)),
    }
    assert model.dim == 1 + 0 + 6 + 2 * 3 * 3 + 2 + 3
    result = grhmc.sample(model, chains=1, draws=20, tune=20, seed=1, progress_bar=False)
    posterior = result["posterior"].to_dataset()
    assert posterior["none"].shape == (1, 20, 0)
    np.testing.assert_allclose(posterior["both"].sum("both_dim_2"), 1.0)
    assert list(posterior["named"].coords["column"].values) == ["a", "b", "c"]


def test_numpyro_models_keep_the_contract():
    grhmc.from_numpyro(of_all_shapes).check().raise_if_failed()


def test_dims_may_be_given():
    def model():
        numpyro.sample("x", dist.Normal().expand([2]))

    assert grhmc.from_numpyro(model, dims={"x": ["who"]}).variables[0].dims == ("who",)
    with pytest.raises(ValueError, match=r"dims names \['y'\]"):
        grhmc.from_numpyro(model, dims={"y": ["who"]})


def test_arguments_of_all_kinds_reach_the_model():
    def model(a, *rest, flag, **options):
        assert flag
        total = a + sum(rest) + sum(options.values())
        numpyro.sample("x", dist.Normal(total, 1))

    density = grhmc.from_numpyro(model, 1, 2, 3, flag=True, model=4, y=np.float32(5))
    np.testing.assert_allclose(density.evaluate([0.0])[1], [15.0])


def test_an_argument_with_the_name_of_an_option_must_be_bound_first():
    def model(dims, coords=None):
        numpyro.sample("x", dist.Normal(0, dims))

    with pytest.raises(TypeError, match=r"functools\.partial\(model, dims="):
        grhmc.from_numpyro(model, 2.0)
    density = grhmc.from_numpyro(functools.partial(model, dims=2.0, coords=None))
    np.testing.assert_allclose(density.evaluate([1.0])[1], [-0.25])


def test_double_precision_is_local():
    def model(y):
        x = numpyro.sample("x", dist.Normal(jnp.zeros(2), 1.0))
        numpyro.sample("y", dist.Normal(x, 1e-3), obs=y)

    density = grhmc.from_numpyro(model, jnp.ones(2, jnp.float32))
    q = np.array([1.0 + 1e-9, 1.0])
    assert density.evaluate(q)[1][0] == pytest.approx(-1e-3 - 1.0, rel=1e-6)  # 1e-9 is lost in single precision
    assert density.constrain(q[None])["x"][0, 0] == q[0]
    assert jnp.ones(1).dtype == jnp.float32


def test_starting_points_follow_the_strategy():
    def model():
        numpyro.sample("x", dist.LogNormal(3.0, 0.1))

    def start(strategy, seed):
        return grhmc.from_numpyro(model, init_strategy=strategy).initial_point(np.random.default_rng(seed))[0]

    assert start(init_to_value(values={"x": 2.0}), 0) == pytest.approx(np.log(2.0))
    assert start(init_to_median, 0) == pytest.approx(3.0, abs=0.1)
    points = [start(None, seed) for seed in range(10)]
    assert np.all(np.abs(points) <= 2)
    assert np.ptp(points) > 1


def test_models_of_many_kinds_have_the_right_gradient():
    def model(y):
        scale = numpyro.param("scale", 2.0)
        low: Any = numpyro.sample("low", dist.Exponential())
        high = numpyro.sample("high", dist.Uniform(low, low + 2))  # a support that moves
        base: Any = numpyro.sample("base", dist.TransformedDistribution(dist.Normal(), dist.transforms.ExpTransform()))
        noise: Any = numpyro.prng_key()
        numpyro.deterministic("noise", 0.0 * noise[0])
        L = numpyro.sample("L", dist.LKJCholesky(3))
        numpyro.factor("f", -base * jnp.sum(L))
        with numpyro.handlers.scale(scale=0.5):
            numpyro.sample("y", dist.StudentT(3, high, scale), obs=y)

    density = grhmc.from_numpyro(model, np.arange(4.0))
    q = np.linspace(-1, 1, density.dim)
    density.check_gradient(q)
    values = density.constrain(q[None])
    assert values["low"] < values["high"] < values["low"] + 2
    np.testing.assert_allclose(np.sum(values["L"] ** 2, axis=-1), 1)


def discrete():
    numpyro.sample("k", dist.Poisson(3.0))
    numpyro.sample("x", dist.Normal())


def subsampled():
    with numpyro.plate("some", 10, subsample_size=5):
        numpyro.sample("x", dist.Normal())


def rounded():
    x: Any = numpyro.sample("x", dist.Normal())
    numpyro.factor("f", -(x.astype(jnp.float32) ** 2))


@pytest.mark.parametrize(
    ("model", "error", "words"),
    [
        (discrete, TypeError, "discrete latent sites, k"),
        (subsampled, ValueError, "some take subsamples"),
        (lambda: numpyro.sample("x", dist.Delta(1.0)), ValueError, "x have a Delta"),
        (lambda: None, ValueError, "no latent sites"),
        (lambda: numpyro.sample("draw", dist.Normal()), ValueError, "draw"),
        (rounded, TypeError, "to float32 on the way"),
        (3, TypeError, "must be a function"),
    ],
)
def test_models_that_cannot_be_sampled_are_rejected(model, error, words):
    with pytest.raises(error, match=words):
        grhmc.from_numpyro(model)


def test_errors_of_the_model_are_its_own():
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'data'"):
        grhmc.from_numpyro(numpyro_models.arK)


Y = np.random.default_rng(0).normal(0, 1.5, 50)


def scale_may_be_negative(y):
    x = numpyro.sample("x", dist.Normal(1.0, 1.0))
    numpyro.sample("y", dist.Normal(0.0, x), obs=y)


def scale_may_be_negative_and_is_validated(y):
    x = numpyro.sample("x", dist.Normal(1.0, 1.0))
    numpyro.sample("y", dist.Normal(0.0, x, validate_args=True), obs=y)


@pytest.mark.parametrize("model", [scale_may_be_negative, scale_may_be_negative_and_is_validated])
@pytest.mark.parametrize("validation", [True, False])
def test_a_start_with_invalid_arguments_is_drawn_again(model, validation):
    with numpyro.validation_enabled(validation):
        density = grhmc.from_numpyro(model, Y)
        for seed in range(10):
            point = density.initial_point(np.random.default_rng(seed))
            assert np.isfinite(density.evaluate(point)[0]) or not validation
        for seed in (0, 3):
            result = grhmc.sample(density, draws=50, tune=100, seed=seed, progress_bar=False, diagnose=False)
            assert result["posterior"]["x"].to_numpy().min() > 0.0


def test_a_start_that_is_valid_is_the_only_one_that_is_drawn():
    assert draw_until_valid(lambda number: number, 7) == 7

    def sometimes(number):
        dist.Normal(0.0, number - 9.0, validate_args=True)
        return number

    assert draw_until_valid(sometimes, 7) == 10
    with pytest.raises(ValueError, match="got invalid scale parameter"):
        draw_until_valid(sometimes, -1000)


def gamma(x):
    return dist.Gamma(x, 1.0)


def beta_inside_another(x):
    return dist.TransformedDistribution(dist.Beta(x, 2.0), dist.transforms.AffineTransform(0.0, 1.0)).expand([3])


def mixture(x):
    return dist.MixtureSameFamily(dist.Categorical(logits=np.zeros(2)), dist.Gamma(jnp.stack([x, x + 9]), 1.0))


@pytest.mark.parametrize("make", [gamma, beta_inside_another, mixture])
def test_arguments_outside_their_constraints_have_no_density(make):
    """At -1.5 the formulas of these densities are finite: negative control with the check switched off."""

    def model():
        x = numpyro.sample("x", dist.Normal())
        numpyro.sample("y", make(x), obs=np.full(make(2.0).batch_shape, 0.4))

    density = grhmc.from_numpyro(model)
    assert density.evaluate(np.array([-1.5]))[0] == -np.inf
    with numpyro.validation_enabled(False):
        unchecked = grhmc.from_numpyro(model)
        assert np.isfinite(unchecked.evaluate(np.array([-1.5]))[0])
    value, gradient = density.evaluate(np.array([1.5]))[:2]
    np.testing.assert_allclose(value, unchecked.evaluate(np.array([1.5]))[0], rtol=1e-14)
    np.testing.assert_allclose(gradient, unchecked.evaluate(np.array([1.5]))[1], rtol=1e-14)


def test_what_a_mask_hides_need_not_be_valid():
    def model():
        x = numpyro.sample("x", dist.Normal())
        scales = jnp.stack([jnp.exp(x), -jnp.exp(x)])
        with numpyro.handlers.mask(mask=np.array([True, False])), numpyro.validation_enabled(False):
            numpyro.sample("y", dist.Normal(0.0, scales), obs=np.ones(2))

    assert np.isfinite(grhmc.from_numpyro(model).evaluate(np.array([0.3]))[0])


def test_arguments_in_a_scan_are_checked():
    from numpyro.contrib.control_flow import scan

    def model():
        x = numpyro.sample("x", dist.Normal())
        scan(lambda last, y: (last, numpyro.sample("y", dist.Gamma(last, 1.0), obs=y)), x, np.ones(3))

    density = grhmc.from_numpyro(model)
    assert np.isfinite(density.evaluate(np.array([1.5]))[0])
    assert density.evaluate(np.array([-1.5]))[0] == -np.inf


def test_an_argument_that_is_always_invalid_is_an_error():
    def model():
        numpyro.sample("x", dist.Normal(0.0, -1.0))

    with numpyro.validation_enabled(), pytest.raises(ValueError, match="got invalid scale parameter"):
        grhmc.from_numpyro(model)


def test_other_errors_of_the_model_are_not_taken_for_invalid_arguments():
    calls = []

    def model():
        x: Any = numpyro.sample("x", dist.Normal())
        calls.append(1)
        raise ValueError(f"Normal distribution got invalid scale parameter, says the model at {x}")

    with pytest.raises(ValueError, match="says the model"):
        grhmc.from_numpyro(model)
    assert len(calls) == 1


def schools(sigma, y=None):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("school", len(sigma)):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
        numpyro.sample("y", dist.Normal(theta, sigma), obs=y)


SIGMAS, EFFECTS = (15.0, 10.0, 16.0, 11.0), (28.0, 8.0, -3.0, 7.0)


def test_data_may_be_arrays_of_jax():
    at = np.full(6, 0.3)
    exact = grhmc.from_numpyro(schools, np.array(SIGMAS), y=np.array(EFFECTS)).evaluate(at)[0]
    given = grhmc.from_numpyro(schools, jnp.array(SIGMAS), y=jnp.array(EFFECTS))
    assert given.evaluate(at)[0] == pytest.approx(exact, rel=1e-12)
    sigma, y = jnp.array(SIGMAS), jnp.array(EFFECTS)
    referred_to = grhmc.from_numpyro(lambda: schools(sigma, y))
    assert referred_to.evaluate(at)[0] == pytest.approx(exact, rel=1e-6)
    referred_to.check_gradient(at)
    assert sigma.dtype == jnp.float32


def test_starts_by_name_and_the_log_likelihood():
    model = grhmc.from_numpyro(schools, jnp.array(SIGMAS), y=jnp.array(EFFECTS), coords={"school": list("abcd")})
    start = {"tau": 2.0, "theta": [1.0, 2.0, 3.0, 4.0]}
    with pytest.raises(ValueError, match=r"init\['tau'\] = -1\. is outside the support of tau.*Positive"):
        sample(model, init={"tau": -1.0})
    there = model.constrain(model.unconstrain({"tau": np.array(2.0)}, np.zeros(6))[np.newaxis])
    assert there["tau"][0] == pytest.approx(2.0)
    result = sample(model, init=start, draws=10, tune=10, log_likelihood=True, diagnose=False)
    term = result["log_likelihood"]["y"]
    assert term.dims == ("chain", "draw", "school")
    assert list(term["school"].values) == list("abcd")
    errors = (np.array(EFFECTS) - result["posterior"]["theta"].to_numpy()) / np.array(SIGMAS)
    np.testing.assert_allclose(term, -0.5 * errors**2 - np.log(SIGMAS) - 0.5 * np.log(2 * np.pi), rtol=1e-6)
    assert result["observed_data"]["y"].dims == ("school",)


_LOADED_WHEN_TOUCHED = """
import importlib.util, sys
import grhmc

for name in [name for name in sys.modules if name.partition(".")[0] == "numpyro"]:
    del sys.modules[name]
spec = importlib.util.find_spec("numpyro")  # as ArviZ 1.3 does
spec.loader = importlib.util.LazyLoader(spec.loader)
sys.modules["numpyro"] = module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
import numpyro.distributions as dist
import numpyro

assert not hasattr(dist, "distribution")  # else there is nothing to mend

def model():
    numpyro.sample("x", dist.LogNormal(0.0, 1.0))

print(grhmc.from_numpyro(model).evaluate([0.5])[0])
"""


def test_a_package_that_loads_when_it_is_touched_is_mended() -> None:
    """ArviZ, imported first, leaves NumPyro so: every model with a constrained site then failed."""
    assert float(run_script(_LOADED_WHEN_TOUCHED)) == pytest.approx(-0.125 - 0.5 * np.log(2.0 * np.pi), rel=1e-6)
