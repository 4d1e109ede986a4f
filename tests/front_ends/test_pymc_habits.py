"""What users of `pymc.sample` expect: the model's block, starts by name, groups with dims, all that takes a result."""

import importlib.util
import inspect
import warnings
from typing import Any

import numpy as np
import pytest

import grhmc
from short_runs import sample

if importlib.util.find_spec("pymc") is None:
    pytest.skip("needs PyMC: pip install 'grhmc[pymc]'", allow_module_level=True)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyMC's dependencies announce their own plans
    import arviz
    import pymc

pytestmark = pytest.mark.filterwarnings("ignore:(?s).*faster on contiguous arrays")
RUN: dict[str, Any] = {"draws": 100, "tune": 100, "chains": 2, "cores": 1}


def regression():
    """A line, with a variable whose bound is another variable, and data of all kinds."""
    rng = np.random.default_rng(1)
    x = np.linspace(-1, 1, 12)
    with pymc.Model(coords={"obs": [f"o{i}" for i in range(12)], "term": ["a", "b"]}) as model:
        data = pymc.Data("x", x, dims="obs")
        offset = pymc.Data("offset", 2.0)
        seen = pymc.Data("seen", 2 + x + rng.normal(size=12), dims="obs")
        top = pymc.HalfNormal("top", 5)
        pymc.Uniform("below", 0, top)
        beta = pymc.Normal("beta", dims="term")
        sigma = pymc.HalfNormal("sigma", 2)
        line = pymc.Deterministic("line", offset + beta[0] + beta[1] * data, dims="obs")
        pymc.Normal("y", line, sigma, observed=seen, dims="obs")
    return model


@pytest.fixture(scope="module")
def model():
    return regression()


@pytest.fixture(scope="module")
def result(model):
    with model, warnings.catch_warnings():
        warnings.simplefilter("ignore", grhmc.SamplingWarning)
        return grhmc.sample(**RUN, seed=1, progress_bar=False, log_likelihood=True)


@pytest.fixture(scope="module")
def by_pymc(model):
    with model, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options: dict[str, Any] = {"nuts_sampler": "pymc", "compute_convergence_checks": False}
        return pymc.sample(draws=5, tune=5, chains=2, cores=1, random_seed=1, progressbar=False, **options)


def test_outside_of_a_model_s_block_a_model_must_be_given():
    with pytest.raises(TypeError, match=r"there is no model.*with model: grhmc\.sample\(\)"):
        grhmc.sample()


def test_groups_dims_and_coords_are_those_of_pymc(result, by_pymc):
    for group in ("posterior", "observed_data", "constant_data"):
        ours, theirs = result[group].to_dataset(), by_pymc[group]
        assert set(ours.data_vars) == set(theirs.data_vars)
        for name in theirs.data_vars:
            assert ours[name].dims == theirs[name].dims
            assert ours[name].shape[2:] == theirs[name].shape[2:]
            if group != "posterior":
                np.testing.assert_array_equal(ours[name], theirs[name])
        assert set(ours.coords) == set(theirs.coords)
        for name in set(ours.coords) - {"draw"}:
            assert list(ours[name].values) == list(theirs[name].values)


def test_all_that_takes_a_result_of_pymc_takes_ours(model, result):
    data = grhmc.to_inference_data(result)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = result["log_likelihood"]["y"].to_numpy()
        assert result["log_likelihood"]["y"].dims == ("chain", "draw", "obs")
        predicted = pymc.sample_posterior_predictive(data, model=model, random_seed=1, progressbar=False)
        assert predicted["posterior_predictive"]["y"].dims == ("chain", "draw", "obs")
        del data["log_likelihood"]
        pymc.compute_log_likelihood(data, model=model, progressbar=False)
        np.testing.assert_allclose(data["log_likelihood"]["y"].to_numpy(), ours)
        loo = arviz.loo(data)
        assert np.isfinite(getattr(loo, "elpd", None) or loo.elpd_loo)
        assert len(arviz.compare({"one": data, "other": data})) == 2
        assert "beta[a]" in list(arviz.summary(data).index)
        arviz.plot_trace(data, var_names=["sigma"])
        arviz.plot_forest(data, var_names=["beta"])


def test_a_finished_result_gets_its_log_likelihood_from_the_model(model, result):
    before = result["log_likelihood"]["y"].to_numpy()
    again = result.copy()
    del again["log_likelihood"]
    with model:
        assert grhmc.compute_log_likelihood(again) is again
    np.testing.assert_allclose(again["log_likelihood"]["y"], before, rtol=1e-10)
    with pymc.Model() as other:
        pymc.Normal("x")
    with pytest.raises(ValueError, match="give the model that it was drawn from"):
        grhmc.compute_log_likelihood(again, other, terms="x")


def test_starts_by_name_are_exact_and_the_rest_is_drawn(model):
    density = grhmc.from_pymc(model)
    values = {"sigma": np.array(0.3), "below": np.array(0.2)}
    point = np.random.default_rng(1).normal(size=density.dim)
    there = density.constrain(density.unconstrain(values, point)[np.newaxis])
    assert there["sigma"][0] == pytest.approx(0.3)
    assert there["below"][0] == pytest.approx(0.2)
    assert there["top"][0] == pytest.approx(np.exp(point[0]))
    run = sample(density, init={"sigma": 0.3, "beta": [1.0, 2.0]}, draws=5, tune=0, save_warmup=True, diagnose=False)
    assert run["posterior"].sizes["draw"] == 5
    sample(density, init=[{"sigma": 0.3}, None], draws=5, tune=0, diagnose=False)


WRONG_STARTS = [
    ({"sigma": -1.0}, ValueError, r"init\['sigma'\] = -1\. is outside the support of sigma.*HalfNormal"),
    ({"sigmas": 1.0}, ValueError, r"init has 'sigmas' = 1\..*did you mean 'sigma'.*'beta' \(2,\)"),
    ({"line": np.zeros(12)}, ValueError, "no parameter of the model"),
    ({"beta": [1.0]}, ValueError, r"init\['beta'\] must have shape \(2,\), got \[1\.\] of shape \(1,\)"),
    ({"sigma": np.nan}, ValueError, r"init\['sigma'\] must be finite, got nan"),
    ({"sigma": "prior"}, TypeError, r"init\['sigma'\] must be an array of real numbers of shape \(\), got 'prior'"),
    ({"below": 0.5, "top": 0.3}, ValueError, r"do not go together, top = 0\.3, below = 0\.5"),
    ([{"sigma": 1.0}], ValueError, "init has 1 mappings for 2 chains"),
    ([{"sigma": 1.0}, 3.0], TypeError, "or None, one per chain; got 3.0"),
]


@pytest.mark.parametrize(("init", "error", "message"), WRONG_STARTS)
def test_a_wrong_start_is_an_error_that_names_it(model, init, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        sample(grhmc.from_pymc(model), init=init)


def test_the_call_of_pymc_works_with_another_import(model, by_pymc):
    ours = set(inspect.signature(grhmc.pymc.sample).parameters)
    assert set(inspect.signature(pymc.sample).parameters) - {"kwargs"} <= ours
    with model, warnings.catch_warnings():
        warnings.simplefilter("ignore", grhmc.SamplingWarning)
        data = grhmc.pymc.sample(
            100, tune=100, chains=2, cores=1, random_seed=1, progressbar=False, target_accept=0.9,
            initvals={"sigma": 1.0}, discard_tuned_samples=False,
            idata_kwargs={"log_likelihood": True, "log_prior": ["beta"]},
        )  # fmt: skip
    assert type(data) is type(by_pymc)
    assert data["posterior"].sizes["draw"] == 100
    for group in ("warmup_posterior", "log_likelihood", "log_prior", "observed_data", "constant_data"):
        assert len(data[group].data_vars) > 0


WITHOUT_COUNTERPART = [
    ({"step": "x"}, ValueError, "step must be left out"),
    ({"nuts_sampler": "nutpie"}, ValueError, "nuts_sampler must be one of"),
    ({"trace": "x"}, ValueError, "trace must be left out"),
    ({"callback": print}, ValueError, "callback must be left out"),
    ({"return_inferencedata": False}, ValueError, "there is no MultiTrace"),
    ({"idata_kwargs": {"coords": {}}}, ValueError, r"idata_kwargs\['coords'\]"),
    ({"idata_kwargs": {"log_likelihood": "y"}}, TypeError, "list of names"),
    ({"init": np.zeros(3)}, TypeError, "initvals"),
    ({"chain": 4}, TypeError, "chain"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), WITHOUT_COUNTERPART)
def test_what_asks_for_another_sampler_is_an_error(model, arguments, error, message):
    with pytest.raises(error, match=message):
        grhmc.pymc.sample(model=model, **arguments)


def test_what_has_no_counterpart_is_warned_of(model):
    with (
        pytest.warns(UserWarning, match="init, mp_ctx, max_treedepth have no effect"),
        pytest.raises(ValueError, match="draws"),
    ):
        grhmc.pymc.sample(model=model, init="advi", mp_ctx="fork", max_treedepth=12, draws=-1)
