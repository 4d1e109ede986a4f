"""Models from Stan programs: names, shapes, data, errors, threads, pickling."""

import json
import pickle
import threading
from typing import Any

import numpy as np
import pytest

import grhmc
from grhmc.models.stan.blocks import data_names
from grhmc.models.stan.names import bracketed, parse_columns
from short_runs import sample

pytest.importorskip("stanli", reason="needs stanli, which runs Stan programs: pip install 'grhmc[stan]'")

NORMAL = """
data { int<lower=1> n; vector[n] mean; vector<lower=0>[n] sd; }
parameters { vector[n] x; }
model { x ~ normal(mean, sd); }
"""
OBSERVED = """
data { int n; vector[n] y; }
parameters { real mu; }
model { y ~ normal(mu, 1); }
"""
SHAPES = """
data { int n; }
parameters {
  real scalar;
  real<lower=0> positive;
  vector[0] nothing;
  matrix[2, 3] m;
  array[2, 1, 3] real a;
  array[2] simplex[3] s;
  cholesky_factor_corr[2] L;
}
transformed parameters { matrix[2, 3] twice = 2 * m; }
model {
  scalar ~ std_normal(); positive ~ exponential(1); to_vector(m) ~ std_normal();
  for (i in 1:2) a[i, 1] ~ std_normal();
  L ~ lkj_corr_cholesky(2);
}
generated quantities { vector[2] noise; noise[1] = normal_rng(scalar, 1); noise[2] = scalar; }
"""
ROWS = {"n": 2, "mean": [0.0, 1.0], "sd": [1.0, 10.0]}


@pytest.fixture(scope="module")
def normal():
    return grhmc.from_stan(NORMAL, ROWS)


@pytest.fixture(scope="module")
def shapes():
    return grhmc.from_stan(SHAPES, {"n": 1})


def test_log_density_and_gradient_are_those_of_the_program(normal):
    log_density, gradient, code = normal.evaluate([1.0, 3.0])
    origin, _, _ = normal.evaluate([0.0, 1.0])
    assert code == 0
    assert log_density - origin == pytest.approx(-0.5 * (1 + 0.04))
    np.testing.assert_allclose(gradient, [-1.0, -0.02])
    normal.check_gradient([1.0, 3.0])


def test_variables_have_the_shapes_and_order_of_the_program(shapes):
    assert {v.name: v.shape for v in shapes.variables} == {
        "scalar": (), "positive": (), "m": (2, 3), "a": (2, 1, 3), "s": (2, 3), "L": (2, 2), "twice": (2, 3),
        "noise": (2,),
    }  # fmt: skip
    q = np.arange(shapes.dim) / 10
    values = shapes.constrain(q[np.newaxis])
    start = shapes.coordinate_names.index("m[1,1]")
    np.testing.assert_allclose(values["m"][0], q[start : start + 6].reshape(3, 2).T)  # Stan's order is column-major
    np.testing.assert_allclose(values["twice"], 2 * values["m"])
    start = shapes.coordinate_names.index("a[1,1,1]")
    np.testing.assert_allclose(values["a"][0].ravel(), q[start : start + 6])  # arrays are read in the other order
    np.testing.assert_allclose(values["s"].sum(axis=-1), 1)
    assert values["positive"][0] == pytest.approx(np.exp(q[1]))


def test_coordinates_are_named_as_in_the_program(shapes):
    assert shapes.coordinate_names == (
        "scalar", "positive",
        "m[1,1]", "m[2,1]", "m[1,2]", "m[2,2]", "m[1,3]", "m[2,3]",
        "a[1,1,1]", "a[1,1,2]", "a[1,1,3]", "a[2,1,1]", "a[2,1,2]", "a[2,1,3]",
        "s[1,1]", "s[1,2]", "s[2,1]", "s[2,2]",
        "L[1]",
    )  # fmt: skip


def test_generated_quantities_depend_on_the_draw_and_the_seed_only(shapes):
    draws = np.random.default_rng(1).normal(size=(50, shapes.dim))
    noise = shapes.constrain(draws)["noise"]
    np.testing.assert_array_equal(shapes.constrain(draws[20:30])["noise"], noise[20:30])
    np.testing.assert_array_equal(noise[:, 1], draws[:, 0])
    other = grhmc.from_stan(SHAPES, {"n": 1}, seed=7).constrain(draws)["noise"]
    assert np.all(other[:, 0] != noise[:, 0])
    assert np.std(noise[:, 0] - draws[:, 0]) == pytest.approx(1, abs=0.4)


@pytest.mark.parametrize("kind", ["mapping", "text", "path", "str path"])
def test_data_come_as_a_mapping_json_or_a_file(tmp_path, normal, kind):
    path = tmp_path / "data.json"
    path.write_text(json.dumps(ROWS))
    data = {
        "mapping": {"n": np.int64(2), "mean": np.array([0, 1]), "sd": np.array([1, 10], dtype=np.float32)},
        "text": json.dumps(ROWS),
        "path": path,
        "str path": str(path),
    }[kind]
    assert grhmc.from_stan(NORMAL, data).evaluate([1.0, 2.0])[0] == normal.evaluate([1.0, 2.0])[0]


def test_a_program_comes_as_a_file(tmp_path, normal):
    path = tmp_path / "normal.stan"
    path.write_text(NORMAL)
    for program in (path, str(path)):
        assert grhmc.from_stan(program, ROWS).evaluate([1.0, 2.0])[0] == normal.evaluate([1.0, 2.0])[0]


def test_booleans_and_arrays_with_axes_of_length_zero_are_data():
    program = (
        "data { int flag; matrix[0, 3] m; array[2] vector[2] v; } parameters { real x; } model { x ~ normal(flag, 1); }"
    )
    model = grhmc.from_stan(program, {"flag": True, "m": np.zeros((0, 3)), "v": [[1, 2], np.array([3.0, 4.0])]})
    np.testing.assert_allclose(model.evaluate([0.0])[1], [1.0])


def test_dims_and_coords_reach_the_result(normal):
    model = grhmc.from_stan(NORMAL, ROWS, dims={"x": ["place"]}, coords={"place": ["here", "there"]})
    result = grhmc.sample(model, chains=1, draws=20, tune=20, seed=1, progress_bar=False)
    assert list(result["posterior"]["x"].coords["place"].values) == ["here", "there"]


def test_labels_may_be_tuples(normal):
    model = grhmc.from_stan(NORMAL, ROWS, dims={"x": ["place"]}, coords={"place": [("a", 1), ("b", 2)]})
    assert list(model.coords["place"]) == ["('a', 1)", "('b', 2)"]
    with pytest.raises(TypeError, match=r"dims\['x'\] must be a sequence of strings"):
        grhmc.from_stan(NORMAL, ROWS, dims={"x": "place"})


def test_dims_of_an_unknown_variable_are_rejected():
    with pytest.raises(ValueError, match=r"dims names \['y'\]"):
        grhmc.from_stan(NORMAL, ROWS, dims={"y": ["place"]})


def test_stan_models_keep_the_contract(shapes):
    shapes.check().raise_if_failed()


def test_stan_errors_mean_outside_the_support_and_keep_their_message():
    model = grhmc.from_stan('parameters { real x; } model { if (x > 1) reject("x is ", x); x ~ std_normal(); }')
    assert model.evaluate([0.5])[2] == 0
    assert model.take_message() == ""
    for point in (2.0, 3.0):  # the newer message replaces the older one
        assert model.evaluate([point])[2] == 1
    assert "x is 3" in model.take_message()
    assert model.take_message() == ""


def test_no_starting_point_gives_stans_reason():
    model = grhmc.from_stan('parameters { real x; } model { reject("never mind"); }')
    with pytest.raises(grhmc.InitializationError, match="never mind"):
        grhmc.sample(model, chains=1, draws=10, tune=10, progress_bar=False)


FAILS_IN_PLACES = """
    parameters { real x; real<lower=0> s; }  // generated quantities { }
    transformed parameters { real t = 2 * x; if (x > 2) reject("t is {too} large"); }
    model { x ~ std_normal(); s ~ exponential(1); }
    generated  quantities /* } */ { real y = x; if (x > 1) reject("y is } too large"); }
"""


def test_what_stan_cannot_compute_of_a_draw_is_nan_and_the_rest_is_there():
    model = grhmc.from_stan(FAILS_IN_PLACES)
    draws = np.array([[0.0, 0.0], [1.5, 1.0], [0.5, -1.0], [2.5, 2.0]])
    with pytest.warns(RuntimeWarning, match=r"t, y in 2 of 4 draws.*t is .too. large"):
        values = model.constrain(draws)
    np.testing.assert_array_equal(values["x"], draws[:, 0])
    np.testing.assert_allclose(values["s"], np.exp(draws[:, 1]))
    np.testing.assert_array_equal(values["t"], [0.0, 3.0, 1.0, np.nan])
    np.testing.assert_array_equal(values["y"], [0.0, np.nan, 0.5, np.nan])
    assert model.constrain_each(draws).failed == {"t": 1, "y": 2}


@pytest.mark.parametrize(
    "quantity",
    ["real y = normal_rng(0, x);", 'if (x > 1) reject("no");real y = x;', "int y = poisson_log_rng(20 + 2*x);"],
)
def test_parameters_do_not_depend_on_whether_generated_quantities_fail(quantity):
    program = "parameters { real x; } model { x ~ std_normal(); }"
    settings: dict[str, Any] = {"seed": 1, "draws": 200, "tune": 50, "progress_bar": False, "diagnose": False}
    expected = grhmc.sample(grhmc.from_stan(program), **settings)["posterior"]["x"].to_numpy()
    with pytest.warns(UserWarning, match=r"y could not be computed in \d+ of 800 draws") as caught:
        result = grhmc.sample(grhmc.from_stan(f"{program} generated quantities {{ {quantity} }}"), **settings)
    assert len(caught) == 1
    np.testing.assert_array_equal(result["posterior"]["x"], expected)
    n_missing = int(np.isnan(result["posterior"]["y"]).sum())
    assert 0 < n_missing < 800
    assert json.loads(result.attrs["failed_outputs"]) == {"y": n_missing}


@pytest.mark.parametrize(
    ("program", "data", "error", "words"),
    [
        ("parameters { real x } model {}", None, ValueError, "compile"),
        (NORMAL, {"n": 2}, ValueError, "mean"),
        (NORMAL, {**ROWS, "sd": [-1.0, 1.0]}, ValueError, "sd"),
        (NORMAL, {**ROWS, "sd": ["a", "b"]}, TypeError, r"data\['sd'\]"),
        (NORMAL, "[1]", FileNotFoundError, "data file"),
        (NORMAL, "{1", ValueError, "JSON"),
        (NORMAL, 3, TypeError, "data must be"),
        ("missing.stan", None, FileNotFoundError, "missing.stan"),
        (3, None, TypeError, "program must be"),
        ("generated quantities { real x = 1; }", None, ValueError, "no parameters"),
        ("parameters { real draw; } model { draw ~ std_normal(); }", None, ValueError, "draw"),
    ],
)
def test_what_is_wrong_is_said_before_sampling(program, data, error, words):
    with pytest.raises(error, match=words):
        grhmc.from_stan(program, data)


@pytest.mark.parametrize(
    ("y", "name"),
    [
        (np.ma.array([0.0, 99.0], mask=[False, True]), "y"),
        ([np.ma.array([0.0, 99.0], mask=[False, True])], "y"),
        ([0.0, np.ma.masked], "y"),
        ({"1": np.ma.array(99, mask=True)}, "y"),
    ],
    ids=["array", "in a list", "an entry", "in a tuple"],
)
def test_masked_data_are_rejected_because_the_mask_would_be_lost(y, name):
    with pytest.raises(ValueError, match=rf"data\['{name}'\] is a masked array with 1 masked entries"):
        grhmc.from_stan(OBSERVED, {"n": 2, "y": y})


def test_a_masked_array_without_masked_entries_is_an_array():
    model = grhmc.from_stan(OBSERVED, {"n": 2, "y": np.ma.array([0.0, 2.0])})
    assert model.evaluate([1.0])[1] == pytest.approx([0.0])


@pytest.mark.parametrize("form", [dict, json.dumps, lambda data: json.dumps(data).replace("NaN", '"NaN"')])
def test_nan_in_the_data_is_a_warning_that_names_the_entry(form):
    data = {"n": 3, "y": [1.0, float("nan"), float("nan")]}
    with pytest.warns(UserWarning, match=r"data\['y'\] has 2 NaN, the first is y\[2\]") as caught:
        model = grhmc.from_stan(OBSERVED, form(data))
    assert caught[0].filename == __file__
    with pytest.raises(grhmc.InitializationError, match=r"Random variable\[2\] is nan"):
        grhmc.sample(model, seed=1, progress_bar=False)


def test_nan_is_fine_where_the_program_looks_for_it():
    program = OBSERVED.replace("y ~ normal(mu, 1);", "for (i in 1:n) if (!is_nan(y[i])) y[i] ~ normal(mu, 1);")
    _, gradient, code = grhmc.from_stan(program, {"n": 3, "y": np.array([1.0, np.nan, 3.0])}).evaluate([0.0])
    assert code == 0
    assert gradient == pytest.approx([4.0])


@pytest.mark.parametrize("form", [dict, json.dumps])
def test_infinite_data_reach_stan(form):
    program = (
        "data { real a; real b; } parameters { real x; } model { x ~ normal(0, 1); if (x < a || x > b) reject(x); }"
    )
    model = grhmc.from_stan(program, form({"a": -np.inf, "b": np.inf}))
    assert model.evaluate([1e3])[2] == 0
    assert grhmc.from_stan(program, form({"a": -np.inf, "b": 0.0})).evaluate([1e3])[2] == 1


def test_an_unknown_backend_is_rejected():
    with pytest.raises(ValueError, match="backend must be"):
        grhmc.from_stan(NORMAL, ROWS, backend="cmdstan")


def test_a_library_that_is_no_stan_model_is_rejected(tmp_path):
    path = tmp_path / "model.so"
    path.write_bytes(b"not a library")
    with pytest.raises(ValueError, match="cannot be loaded"):
        grhmc.from_stan(path)


def test_a_model_survives_pickling(normal):
    copy = pickle.loads(pickle.dumps(normal))
    assert copy.evaluate([1.0, 2.0])[0] == normal.evaluate([1.0, 2.0])[0]


def test_threads_get_the_same_values(normal):
    points = np.random.default_rng(1).normal(size=(200, 2))
    expected = [normal.evaluate(point)[0] for point in points]
    found = [[] for _ in range(4)]

    def evaluate(values):
        model = normal.for_thread()
        values += [model.evaluate(point)[0] for point in points]

    threads = [threading.Thread(target=evaluate, args=(values,)) for values in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_draws_do_not_depend_on_the_number_of_threads(normal):
    runs = [
        grhmc.sample(normal, chains=2, cores=cores, draws=30, tune=30, seed=1, progress_bar=False) for cores in (1, 2)
    ]
    one, two = (run["posterior"]["x"].to_numpy() for run in runs)
    np.testing.assert_array_equal(one, two)


def test_columns_may_come_in_any_order_and_notation():
    columns = parse_columns(
        ["a", "b.2", "b.1", "t.1:1", "t.1:2.1", "t.2:1", "t.2:2.1", "z.real", "z.imag", "m[1,2]", "m[1,1]"]
    )
    assert {name: places.tolist() for name, places in columns.items()} == {
        "a": 0, "b": [2, 1], "t:1": [3, 5], "t:2": [[4], [6]], "z.real": 7, "z.imag": 8, "m": [[10, 9]],
    }  # fmt: skip
    assert bracketed("m.1.2") == "m[1,2]"
    with pytest.raises(ValueError, match="do not fill"):
        parse_columns(["b.1", "b.3"])


def test_a_bridgestan_model_is_taken_as_it_is(recwarn):
    pytest.importorskip("bridgestan", reason="needs bridgestan: pip install 'grhmc[stan]'")
    import stanli

    theirs = stanli.bridgestan_model(stan_code=NORMAL, data=json.dumps(ROWS), seed=5)
    model = grhmc.from_stan(theirs, dims={"x": ["place"]})
    log_density, gradient, code = model.evaluate([1.0, 3.0])
    expected = theirs.log_density_gradient(np.array([1.0, 3.0]))
    assert (log_density, code) == (expected[0], 0)
    np.testing.assert_array_equal(gradient, expected[1])
    assert model.instance.seed == 5
    assert model.variables[0].dims == ("place",)
    assert pickle.loads(pickle.dumps(model)).evaluate([1.0, 3.0])[0] == log_density
    result = grhmc.sample(theirs, chains=1, draws=20, tune=20, seed=1, progress_bar=False)
    assert result["posterior"]["x"].shape == (1, 20, 2)
    with pytest.raises(ValueError, match="data must be left out"):
        grhmc.from_stan(theirs, ROWS)


BOUNDED = """
data { int n; vector[n] y; }
parameters { real mu; real<lower=0> sigma; simplex[3] w; vector<lower=mu>[2] above; }
transformed parameters { real twice = mu * 2; }
model { sigma ~ normal(0, 1); mu ~ normal(0, 1); above ~ normal(mu, 1); y ~ normal(mu, sigma); }
generated quantities { vector[n] log_lik; for (i in 1:n) log_lik[i] = normal_lpdf(y[i] | mu, sigma); }
"""


@pytest.fixture(scope="module")
def bounded():
    return grhmc.from_stan(BOUNDED, {"n": 3, "y": [1.0, 2.0, 3.0]})


def test_starts_by_name_are_unconstrained_by_stan(bounded):
    assert [variable.name for variable in bounded.start_variables] == ["mu", "sigma", "w", "above"]
    values = {"sigma": np.array(2.0), "w": np.array([0.2, 0.3, 0.5])}
    there = bounded.constrain(bounded.unconstrain(values, np.zeros(6))[np.newaxis])
    for name, value in values.items():
        np.testing.assert_allclose(there[name][0], value)
    assert there["mu"][0] == 0


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ({"sigma": -1.0}, r"init\['sigma'\] = -1\. is outside the support of sigma: .*greater than or equal to 0"),
        ({"w": [0.2, 0.2, 0.2]}, r"init\['w'\] = \[0\.2, 0\.2, 0\.2\] is outside .*should be 1"),
        ({"twice": 1.0}, r"'twice' = 1\., which is no parameter.*'mu' \(\), 'sigma' \(\), 'w' \(3,\), 'above' \(2,\)"),
    ],
)
def test_a_wrong_start_is_an_error_that_names_it(bounded, init, message):
    with pytest.raises(ValueError, match=f"(?s){message}"):
        sample(bounded, init=init)


def test_log_lik_moves_to_a_group_of_its_own_on_request(bounded):
    run = {"draws": 10, "tune": 10, "init": {"mu": 2.0, "sigma": 1.0}, "diagnose": False}
    result = sample(bounded, log_likelihood=True, **run)
    assert "log_lik" not in result["posterior"]
    values = {name: result["posterior"][name].to_numpy()[..., np.newaxis] for name in ("mu", "sigma")}
    expected = -0.5 * ((np.array([1.0, 2.0, 3.0]) - values["mu"]) / values["sigma"]) ** 2
    expected -= np.log(values["sigma"]) + 0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(result["log_likelihood"]["log_lik"], expected)
    later = grhmc.compute_log_likelihood(sample(bounded, **run), bounded, terms="log_lik")
    np.testing.assert_array_equal(later["log_likelihood"]["log_lik"], result["log_likelihood"]["log_lik"])
    assert "log_lik" in later["posterior"]


def test_without_a_log_likelihood_it_cannot_be_asked_for(normal, bounded):
    with pytest.raises(ValueError, match="a variable called log_lik"):
        sample(normal, log_likelihood=True)
    with pytest.raises(ValueError, match=r"log_likelihood has 'log_like'.*did you mean 'log_lik'"):
        sample(bounded, log_likelihood="log_like")
    with pytest.raises(TypeError, match="log_likelihood must be True, False, or names"):
        sample(bounded, log_likelihood=3)


def test_data_that_are_missing_are_named():
    with pytest.raises(ValueError, match=r"n, y of the program's data are missing; no data were given.*--data FILE"):
        grhmc.from_stan(BOUNDED)
    with pytest.raises(ValueError, match=r"^y of the program's data are missing; given are n"):
        grhmc.from_stan(BOUNDED, {"n": 3})


def test_names_of_data_are_read_from_the_program():
    code = """functions { real f(real x) { return x; } } // data { int no; }
    data { int<lower=0> N; array[N, 2] real<lower=0, upper=1> y; /* int z; */ matrix[N, N] K; }
    transformed data { int M; }"""
    assert data_names(code) == ["N", "y", "K"]
    assert data_names("parameters { real x; } model { }") == []
