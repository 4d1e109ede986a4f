"""Models from PyTorch functions: trees, double precision, autograd's graph, the reference posteriors."""

import importlib.util
import traceback
import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest

import grhmc
import torch_models
from reference_posteriors import check_same_posterior, large_discrepancies, read_posterior_data, with_variables

if importlib.util.find_spec("torch") is None:
    pytest.skip("needs PyTorch: pip install 'grhmc[torch]'", allow_module_level=True)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch

needs_stanli = pytest.mark.skipif(
    importlib.util.find_spec("stanli") is None, reason="needs stanli: pip install 'grhmc[stan]'"
)
POSTERIORS = ("eight_schools", "arK")


class Pair(NamedTuple):
    left: Any
    right: Any


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def normal(tree):
    if isinstance(tree, torch.Tensor):
        return -0.5 * (tree**2).sum()
    return sum(normal(part) for part in (tree.values() if isinstance(tree, dict) else tree))


# They take 40 s each.
SLOW = ("eight_schools", "arK")


@pytest.mark.statistical
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly) if name in SLOW else name for name in POSTERIORS]
)
def test_default_settings_agree_with_the_reference(name):
    logp, example, variables = getattr(torch_models, name)(read_posterior_data(name))
    result = grhmc.sample(grhmc.from_torch(logp, example), seed=2, progress_bar=False)
    assert large_discrepancies(name, with_variables(result, variables)) == []


@needs_stanli
@pytest.mark.parametrize("name", POSTERIORS)
def test_torch_and_stan_differ_by_a_constant(name):
    logp, example, _ = getattr(torch_models, name)(read_posterior_data(name))
    check_same_posterior(grhmc.from_torch(logp, example), name)


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        (torch.tensor(1.0), {"x": ()}),
        (torch.zeros(2, 1, 3), {"x": (2, 1, 3)}),
        ({"b": [torch.tensor(1), torch.zeros(2)], "a": {"c": np.zeros(1)}}, {"b[0]": (), "b[1]": (2,), "a.c": (1,)}),
        ((torch.zeros(0), 3), {"x[0]": (0,), "x[1]": ()}),
        ({"a, b": torch.zeros(1, dtype=torch.float16)}, {"a, b": (1,)}),
    ],
    ids=["scalar", "box", "tree", "empty", "comma"],
)
def test_a_tree_gives_names_and_shapes(example, expected):
    model = grhmc.from_torch(normal, example)
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
        seen.append((type(p), tuple(p.left.shape), p.left.dtype, sorted(p.right)))
        return normal(p)

    grhmc.from_torch(logp, Pair(torch.zeros(2, 3), {"b": 1, "a": 2.0})).evaluate(np.zeros(8))
    assert seen == [(Pair, (2, 3), torch.float64, ["a", "b"])] * 2


def test_names_dims_and_coords_are_the_users():
    model = grhmc.from_torch(
        normal,
        [torch.zeros(()), torch.zeros(2)],
        names=["mu", "beta"],
        dims={"beta": ["who"]},
        coords={"who": ["a", "b"]},
    )
    assert model.coordinate_names == ("mu", "beta[0]", "beta[1]")
    assert [v.dims for v in model.variables] == [None, ("who",)]


@pytest.mark.parametrize(
    ("logp", "example", "error", "words"),
    [
        (lambda x: x, torch.zeros(2), TypeError, r"returned shape \(2,\)"),
        (lambda x: x.detach().sum().item(), torch.zeros(2), TypeError, "returned float"),
        (lambda x: x.float().sum(), torch.zeros(2), TypeError, r"returned torch\.float32"),
        (lambda x: x.half().sum().double(), torch.zeros(2), TypeError, r"computes with torch\.float16"),
        (lambda x: x.detach().sum(), torch.zeros(2), ValueError, "as far as autograd knows"),
        (lambda x: torch.tensor(0.0, dtype=torch.float64), torch.zeros(2), ValueError, "as far as autograd knows"),
        (lambda x: normal((x[0], x[1].detach())), [1.0, 2.0], ValueError, r"does not depend on x\[1\]"),
        (3, torch.zeros(2), TypeError, "logp must be a function"),
        (normal, {}, ValueError, "nothing to sample"),
        (normal, torch.zeros(0, 3), ValueError, "nothing to sample"),
        (normal, {"a": "text"}, TypeError, "'a' is str"),
        (normal, torch.zeros(2, dtype=torch.complex64), TypeError, "complex64"),
        (normal, torch.zeros(2, dtype=torch.bool), TypeError, r"torch\.bool"),
        (normal, {"chain": torch.tensor(1.0)}, ValueError, "chain"),
        (normal, {"a": np.ma.array([0.0, 9.0], mask=[False, True])}, ValueError, "at 'a', is a masked array"),
        (normal, {"a": {"b": 1.0}, "a.b": 1.0}, ValueError, r"'a\.b' occurs more than once"),
    ],
    ids=range(16),
)
def test_what_is_wrong_is_said_before_sampling(logp, example, error, words):
    with pytest.raises(error, match=words):
        grhmc.from_torch(logp, example)


def test_distributions_that_round_are_noticed():
    """PyTorch's HalfCauchy turns its argument into the type of its scale, which is float32 by default."""
    half_cauchy = torch.distributions.HalfCauchy
    with pytest.raises(TypeError, match=r"float32.*float64 tensors to torch\.distributions"):
        grhmc.from_torch(lambda x: half_cauchy(5.0).log_prob(x.exp()) + x, torch.tensor(0.0))
    scale = torch.tensor(5.0, dtype=torch.float64)
    grhmc.from_torch(lambda x: half_cauchy(scale).log_prob(x.exp()) + x, torch.tensor(0.0)).check_gradient([1.0])


def test_an_error_in_the_function_comes_with_its_traceback():
    def fails(x):
        if x > 0:
            raise ZeroDivisionError("in here")
        return -(x**2)

    with pytest.raises(ZeroDivisionError, match="in here") as caught:
        grhmc.from_torch(fails, torch.tensor(1.0))
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "fails"
    model = grhmc.from_torch(fails, torch.tensor(0.0))
    with pytest.raises(ZeroDivisionError, match="in here") as caught:
        grhmc.sample(model, init=[-1.0], chains=1, draws=50, tune=50, seed=1, progress_bar=False)
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "fails"


def test_a_parameter_that_a_branch_does_not_use_has_slope_zero():
    model = grhmc.from_torch(lambda p: normal(p) if p[0] > 0 else normal(p[0]), [torch.tensor(1.0), torch.tensor(1.0)])
    np.testing.assert_allclose(model.evaluate([-1.0, 2.0])[1], [1.0, 0.0])


def test_torch_models_keep_the_contract():
    grhmc.from_torch(normal, {"a": 0.0, "b": torch.zeros((2, 3))}).check().raise_if_failed()


def test_gradients_are_had_where_the_caller_has_switched_them_off():
    model = grhmc.from_torch(normal, torch.zeros(2))
    with torch.no_grad():
        np.testing.assert_allclose(model.evaluate([1.0, 2.0])[1], [-1.0, -2.0])
    with torch.inference_mode():
        np.testing.assert_allclose(model.evaluate([1.0, 2.0])[1], [-1.0, -2.0])


def test_draws_do_not_depend_on_the_number_of_threads():
    model = grhmc.from_torch(normal, torch.zeros(3))
    runs = [
        grhmc.sample(model, chains=2, cores=cores, draws=30, tune=30, seed=1, progress_bar=False) for cores in (1, 2)
    ]
    one, two = (run["posterior"]["x"].to_numpy() for run in runs)
    np.testing.assert_array_equal(one, two)
