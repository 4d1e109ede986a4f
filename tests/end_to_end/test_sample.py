"""What `sample` and `tune` return: groups, names, shapes, statistics; and that seeds determine it."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import xarray

import grhmc
from grhmc.models.analytic import paper_target
from short_runs import SD, draws_of, model, sample

STATISTICS = {
    "lp",
    "energy",
    "energy_error",
    "diverging",
    "n_gradients",
    "n_steps",
    "n_rejected",
    "n_events",
    "step_size",
    "process_time",
}


@pytest.fixture(scope="module")
def result() -> Any:
    return sample(save_warmup=True, process="continuous")


def test_the_result_is_a_datatree_with_arviz_groups(result: Any) -> None:
    assert isinstance(result, xarray.DataTree)
    assert set(result.children) == {
        "posterior",
        "sample_stats",
        "unconstrained_posterior",
        "time_average",
        "tuning",
        "checkpoint",
        "warmup_posterior",
        "warmup_sample_stats",
    }


def test_variables_have_the_users_names_and_shapes(result: Any) -> None:
    posterior = result["posterior"]
    assert list(posterior.data_vars) == ["a", "b"]
    assert posterior["a"].dims == ("chain", "draw")
    assert posterior["b"].dims == ("chain", "draw", "b_dim_0")
    assert posterior["b"].shape == (2, 100, 2)
    np.testing.assert_array_equal(posterior["a"], draws_of(result)[..., 0])
    np.testing.assert_array_equal(posterior["b"], draws_of(result)[..., 1:])
    np.testing.assert_array_equal(posterior["chain"], [0, 1])
    np.testing.assert_array_equal(posterior["draw"], np.arange(100))


def test_statistics_come_per_draw(result: Any) -> None:
    statistics = result["sample_stats"]
    assert set(statistics.data_vars) == STATISTICS
    assert all(statistics[name].dims == ("chain", "draw") for name in STATISTICS)
    assert statistics["diverging"].dtype == bool
    assert all(statistics[name].dtype == np.int64 for name in STATISTICS if name.startswith("n_"))
    assert np.all(statistics["n_gradients"] >= 0)
    assert np.all(np.diff(statistics["process_time"]) > 0.0)
    assert not np.any(statistics["diverging"])


@pytest.mark.parametrize(
    "process",
    [grhmc.Discrete(integrator=name) for name in ("splitting", "leapfrog")]
    + [
        dataclasses.replace(process, integrator=name)
        for name in ("splitting", "rkn43", "rkn64")
        for process in (
            grhmc.Continuous(),
            grhmc.Continuous(event_rate_kind="arc_length"),
            grhmc.Continuous(warmup=grhmc.PaperWarmup(time_factor=0.01)),
        )
    ],
    ids=str,
)
def test_lp_is_the_log_density_of_the_draw(process: Any) -> None:
    density = model()
    result = sample(density, process=process, save_warmup=True)
    for prefix in ("", "warmup_"):
        variables = result[f"{prefix}posterior"]
        points = np.concatenate([variables["a"].to_numpy()[..., None], variables["b"].to_numpy()], axis=-1)
        expected = [[density.evaluate(point)[0] for point in chain] for chain in points]
        statistics = result[f"{prefix}sample_stats"]
        # Changes of the scale during warm-up round a position.
        np.testing.assert_allclose(statistics["lp"], expected, rtol=1e-9, atol=1e-12)
        assert (statistics["lp"] + statistics["energy"]).min() >= -1e-9


def test_unconstrained_draws_carry_the_coordinates_names(result: Any) -> None:
    np.testing.assert_array_equal(result["unconstrained_posterior"]["unconstrained"], ["a", "b[0]", "b[1]"])


def test_tuning_holds_what_was_found_and_how(result: Any) -> None:
    tuning = result["tuning"]
    for name in ("scale", "centre", "crossing_time"):
        assert tuning[name].dims == ("chain", "unconstrained")
    for name in ("event_rate", "time_to_u_turn", "n_gradients"):
        assert tuning[name].dims == ("chain",)
    assert tuning["history_scale"].dims == ("chain", "history", "unconstrained")
    for times in tuning["history_time"].to_numpy():  # padded with nan to the longest
        assert np.all(np.diff(times[np.isfinite(times)]) > 0.0)
    np.testing.assert_allclose(tuning["scale"], np.broadcast_to(SD, (2, 3)), rtol=0.5)
    assert np.all(tuning["n_gradients"] > 100)


def test_time_averages_weight_the_whole_path(result: Any) -> None:
    averages = result["time_average"]
    assert averages["position"].shape == (2, 50, 3)
    np.testing.assert_allclose(averages["position"].mean(axis=1), draws_of(result).mean(axis=1), atol=0.3 * SD.max())
    assert np.all(averages["position_squared"].to_numpy() >= averages["position"].to_numpy() ** 2)


def test_settings_and_versions_are_in_the_attributes(result: Any) -> None:
    attributes = result.attrs
    assert attributes["inference_library"] == "grhmc"
    assert attributes["inference_library_version"] == grhmc.__version__
    expected = {
        "draws": 100,
        "tune": 100,
        "chains": 2,
        "seed": 1,
        "scale": "geo",
        "process": "continuous",
        "integrator": "splitting",
        "event_rate": "tuned",
        "event_rate_kind": "constant",
        "persistence": 0.0,
    }
    assert {name: attributes[name] for name in expected} == expected
    assert attributes["tolerance"] > 0.0


def test_warm_up_draws_are_kept_only_on_request(result: Any) -> None:
    n_chains, n_draws, n_values = result["warmup_posterior"]["b"].shape
    assert (n_chains, n_values) == (2, 2)
    assert 40 < n_draws <= 100  # it ends when the chains agree
    assert np.all(result["warmup_posterior"]["b"].to_numpy().std(axis=(0, 1)) > 0.0)
    assert set(result["warmup_sample_stats"].data_vars) == STATISTICS
    without = sample(process="continuous")
    assert not any(name.startswith("warmup") for name in without.children)
    np.testing.assert_array_equal(draws_of(without), draws_of(result))


# ------------------------------------------------------------------ seeds


@pytest.mark.parametrize("scale", ["isg", "mct"])
def test_the_same_seed_gives_the_same_draws_on_any_number_of_cores(scale: str) -> None:
    one, two = (sample(chains=3, cores=cores, scale=scale) for cores in (1, 2))
    np.testing.assert_array_equal(draws_of(one), draws_of(two))
    np.testing.assert_array_equal(one["tuning"]["scale"], two["tuning"]["scale"])
    for name in STATISTICS:
        np.testing.assert_array_equal(one["sample_stats"][name], two["sample_stats"][name])


@pytest.mark.filterwarnings("ignore::grhmc.SamplingWarning")  # they begin far out
def test_chains_that_are_not_tuned_together_do_not_depend_on_how_many_others_there_are() -> None:
    np.testing.assert_array_equal(draws_of(sample(chains=1, tune=0))[0], draws_of(sample(chains=3, tune=0))[0])


def test_chains_differ_from_each_other() -> None:
    draws = draws_of(sample(init=np.zeros(3) + 0.1))
    assert not np.any(draws[0] == draws[1])


def test_different_seeds_give_different_draws() -> None:
    assert not np.any(draws_of(sample(seed=1)) == draws_of(sample(seed=2)))
    assert not np.any(draws_of(sample(seed=None)) == draws_of(sample(seed=None)))


def test_a_seed_that_was_drawn_can_be_used_again() -> None:
    first = sample(seed=None)
    np.testing.assert_array_equal(draws_of(sample(seed=int(first.attrs["seed"]))), draws_of(first))


def test_random_seed_is_another_name_of_seed() -> None:
    np.testing.assert_array_equal(draws_of(sample(seed=None, random_seed=5)), draws_of(sample(seed=5)))


# ------------------------------------------------------------------ tune


def test_tune_gives_what_another_sampler_needs() -> None:
    tuned = grhmc.tune(model(), scale="geo", chains=3, seed=2, process="continuous", progress_bar=False)
    assert tuned.names == ("a", "b[0]", "b[1]")
    np.testing.assert_allclose(tuned.scale, SD, rtol=0.1)
    np.testing.assert_allclose(tuned.centre, 0.0, atol=0.3 * SD.max())
    assert tuned.scale_per_chain.shape == tuned.centre_per_chain.shape == (3, 3)
    assert tuned.event_rate_per_chain.shape == (3,)
    np.testing.assert_allclose(tuned.scale, np.exp(np.log(tuned.scale_per_chain).mean(axis=0)))
    assert tuned.event_rate == pytest.approx(1.0 / (1.3 * tuned.time_to_u_turn), rel=1e-6)
    assert tuned.n_gradients > 1000


def test_tune_finds_what_sample_finds() -> None:
    tuned = grhmc.tune(model(), tune=100, chains=2, seed=1, progress_bar=False)
    np.testing.assert_array_equal(tuned.scale_per_chain, sample()["tuning"]["scale"])


def test_results_go_through_arviz() -> None:
    from arviz_stats import summary

    table = summary(sample(paper_target("G1").log_density(), draws=500))
    assert list(table.index) == ["x[0]", "x[1]"]
