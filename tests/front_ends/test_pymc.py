"""Models from PyMC: the same posterior as in Stan, names and shapes, data, errors, pickling."""

import importlib.util
import pickle
import warnings

import numpy as np
import pytest

import grhmc
import pymc_models
from reference_posteriors import check_same_posterior, large_discrepancies, read_posterior_data
from second_process import check_second_process_agrees

if importlib.util.find_spec("pymc") is None:
    pytest.skip("needs PyMC: pip install 'grhmc[pymc]'", allow_module_level=True)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyMC's dependencies announce their own plans
    import pymc
    import pytensor

HAS_STANLI = importlib.util.find_spec("stanli") is not None
needs_stanli = pytest.mark.skipif(not HAS_STANLI, reason="needs stanli: pip install 'grhmc[stan]'")
POSTERIORS = ("eight_schools", "arK", "gauss_mix")
FIRST_OF_POSTERIORS = (POSTERIORS[0], *(pytest.param(name, marks=pytest.mark.nightly) for name in POSTERIORS[1:]))

# Numba says so of PyTensor's own code when that is compiled for the first time on a machine.
pytestmark = pytest.mark.filterwarnings("ignore:(?s).*faster on contiguous arrays")


@pytest.fixture(scope="module")
def compiled():
    """Compiled models by the name of their posterior, each compiled when first asked for."""
    models = {}

    def get(name):
        if name not in models:
            models[name] = grhmc.from_pymc(getattr(pymc_models, name)(read_posterior_data(name)))
        return models[name]

    return get


def regression(x):
    with pymc.Model() as model:
        data = pymc.Data("x", x)
        slope = pymc.Normal("slope")
        pymc.Normal("y", slope * data, 1.0, observed=pymc.Data("observed", np.ones(len(x))))
    return model


@pytest.mark.statistical
@pytest.mark.parametrize("name", FIRST_OF_POSTERIORS)
def test_default_settings_agree_with_the_reference(compiled, name):
    result = grhmc.sample(compiled(name), seed=2, progress_bar=False)
    assert large_discrepancies(name, result) == []


@needs_stanli
@pytest.mark.parametrize("name", POSTERIORS)
def test_pymc_and_stan_differ_by_a_constant(compiled, name):
    check_same_posterior(compiled(name), name)


def test_pymc_models_keep_the_contract(compiled):
    compiled("eight_schools").check().raise_if_failed()


def test_names_dims_coords_and_observed_data_are_those_of_the_model(compiled):
    model = compiled("eight_schools")
    assert [(v.name, v.shape, v.dims) for v in model.variables] == [
        ("mu", (), None), ("tau", (), None), ("eta", (8,), ("school",)), ("theta", (8,), ("school",)),
    ]  # fmt: skip
    assert model.coordinate_names[:3] == ("mu", "tau_log__", "eta[0]")
    assert list(model.coords["school"])[:2] == ["school 1", "school 2"]
    np.testing.assert_array_equal(model.observed_data["y"], read_posterior_data("eight_schools")["y"])
    result = grhmc.sample(model, chains=2, draws=20, tune=20, seed=1, progress_bar=False)
    assert result["posterior"]["theta"].dims == ("chain", "draw", "school")
    assert "y" in result["observed_data"]


def test_draws_come_back_constrained_with_deterministics(compiled):
    model = compiled("eight_schools")
    q = np.random.default_rng(1).normal(size=(3, 10))
    values = model.constrain(q)
    np.testing.assert_allclose(values["tau"], np.exp(q[:, 1]))
    np.testing.assert_allclose(values["theta"], q[:, [0]] + np.exp(q[:, [1]]) * q[:, 2:])
    assert model.constrain(q[:0])["theta"].shape == (0, 8)


def test_a_deterministic_that_raises_is_nan_and_the_rest_is_there():
    from pytensor.raise_op import Assert

    with pymc.Model() as model:
        x = pymc.Normal("x")
        pymc.Deterministic("bounded", Assert("x is too large")(x, x < 1.0))
        pymc.Deterministic("is_positive", (x > 0).astype(int))
    density = grhmc.from_pymc(model)
    draws = np.array([[0.5], [2.0], [-1.0]])
    with pytest.warns(RuntimeWarning, match="bounded in 1 of 3 draws.*x is too large"):
        values = density.constrain(draws)
    np.testing.assert_array_equal(values["x"], draws[:, 0])
    np.testing.assert_array_equal(values["bounded"], [0.5, np.nan, -1.0])
    np.testing.assert_array_equal(values["is_positive"], [1, 1, 0])


def test_shapes_of_all_kinds_and_names_of_all_kinds():
    with pymc.Model(coords={"pair": [("a", 1), ("b", 2)]}) as model:
        model.add_coord("plain", length=3)
        pymc.Normal("scalar")
        pymc.Normal("none", shape=(0,))
        pymc.Normal("box", shape=(2, 1, 3))
        pymc.HalfNormal("plain_vector", dims="plain")
        pymc.Normal("a[b, c]", dims="pair")
    density = grhmc.from_pymc(model)
    assert {v.name: v.shape for v in density.variables} == {
        "scalar": (), "none": (0,), "box": (2, 1, 3), "plain_vector": (3,), "a[b, c]": (2,),
    }  # fmt: skip
    assert density.dim == 1 + 0 + 6 + 3 + 2
    density.check_gradient(np.linspace(-1, 1, density.dim))
    result = grhmc.sample(model, chains=1, draws=20, tune=20, seed=1, progress_bar=False)
    posterior = result["posterior"].to_dataset()
    assert posterior["box"].shape == (1, 20, 2, 1, 3)
    assert list(posterior["a[b, c]"].coords["pair"].values) == ["('a', 1)", "('b', 2)"]
    assert posterior["plain_vector"].dims == ("chain", "draw", "plain")


@pytest.mark.nightly  # PyTensor takes half a minute to compile this transform
def test_a_simplex_has_one_coordinate_less_than_entries():
    with pymc.Model() as model:
        pymc.Dirichlet("weights", np.ones(3))
    density = grhmc.from_pymc(model)
    assert density.coordinate_names == ("weights_simplex__[0]", "weights_simplex__[1]")
    density.check_gradient([0.3, -0.2])
    values = density.constrain(np.array([[0.3, -0.2]]))["weights"]
    assert values.shape == (1, 3)
    np.testing.assert_allclose(values.sum(axis=1), 1)


def test_new_data_are_used_without_compiling_again(capsys):
    model = regression(np.array([1.0, 2.0]))
    before = grhmc.from_pymc(model)
    assert "Compiling the PyMC model" in capsys.readouterr().err
    with model:
        pymc.set_data({"x": np.array([3.0, 4.0, 5.0]), "observed": np.zeros(3)})
    after = grhmc.from_pymc(model)
    assert after._graph is before._graph
    assert "Compiling" not in capsys.readouterr().err
    np.testing.assert_allclose(before.evaluate([0.0])[1], [3.0])
    np.testing.assert_allclose(before.evaluate([1.0])[1], [3.0 - 1 - 5])
    np.testing.assert_allclose(after.evaluate([1.0])[1], [-1.0 - 9 - 16 - 25])


def test_a_changed_model_is_compiled_again():
    model = regression(np.array([1.0, 2.0]))
    assert grhmc.from_pymc(model).dim == 1
    with model:
        pymc.Normal("more")
    assert grhmc.from_pymc(model).dim == 2


def test_initial_points_are_those_of_pymc():
    with pymc.Model() as model:
        pymc.Normal("x", 100.0, 1.0, initval=50.0)
    points = np.array([grhmc.from_pymc(model).initial_point(np.random.default_rng(k))[0] for k in range(20)])
    assert np.all(np.abs(points - 50) <= 1)
    assert np.ptp(points) > 0.5


def test_a_place_where_the_compiled_model_raises_is_outside_the_support():
    with pymc.Model() as model:
        x = pymc.Normal("x")
        pymc.Potential("p", pymc.math.log(pymc.math.sqr(x)) + pymc.math.switch(x > 1, -np.inf, 0.0))
    density = grhmc.from_pymc(model)
    assert density.evaluate([0.5])[2] == 0
    assert density.evaluate([2.0])[2] == 1


def test_a_model_survives_pickling_with_its_data():
    model = regression(np.array([1.0, 2.0]))
    density = grhmc.from_pymc(model)
    with model:
        pymc.set_data({"x": np.array([3.0, 4.0])})
    copy = pickle.loads(pickle.dumps(density))
    assert copy.evaluate([0.7])[0] == density.evaluate([0.7])[0]


def test_a_second_process_makes_the_same_model(tmp_path):
    check_second_process_agrees(grhmc.from_pymc(regression(np.array([1.0, 2.0]))), tmp_path)


def test_attributes_say_how_exactly_draws_can_be_repeated(compiled):
    assert "numba__cache=False" in compiled("eight_schools").attributes()["repeatable"]
    with pymc.Model() as model, pytensor.config.change_flags(numba__cache=False):
        pymc.Normal("x")
        assert grhmc.from_pymc(model).attributes() == {"repeatable": "the same seed gives the same draws"}


def test_models_that_cannot_be_sampled_are_rejected():
    with pymc.Model() as discrete:
        pymc.Poisson("k", 3.0)
        pymc.Normal("x")
    with pytest.raises(TypeError, match=r"discrete parameters, k"):
        grhmc.from_pymc(discrete)
    with pymc.Model() as in_parts:
        pymc.Normal("y", pymc.Normal("mu"), 1.0, observed=pymc.Minibatch(np.zeros(50), batch_size=10), total_size=50)
    with pytest.raises(TypeError, match=r"as with pm\.Minibatch.* give the whole data"):
        grhmc.from_pymc(in_parts)
    with pytest.raises(ValueError, match="no free parameters"):
        grhmc.from_pymc(pymc.Model())
    with pytest.raises(TypeError, match=r"must be a pymc\.Model, got str"):
        grhmc.from_pymc("model")
