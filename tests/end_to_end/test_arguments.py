"""Every argument of `sample` does what it says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import grhmc
from short_runs import SD, draws_of, model, sample


@pytest.mark.parametrize(
    "init",
    [
        [1.0, 0.1, 10.0],
        np.array([1.0, 0.1, 10.0], dtype=np.float32),
        [[1.0, 0.1, 10.0], [1.0, 0.1, 10.0]],
        {"a": 1.0, "b": [0.1, 10.0]},
        {"b": np.array([0.1, 10.0]), "a": np.array(1)},
    ],
)
def test_every_way_to_write_a_start_is_the_same_start(init: Any) -> None:
    result = sample(init=init, process=grhmc.Continuous(sample_interval=1e-3), tune=0, draws=1)
    np.testing.assert_allclose(draws_of(result)[:, 0], np.broadcast_to(SD, (2, 3)), rtol=0.02)


def test_every_chain_can_have_its_own_start() -> None:
    result = sample(
        init=[[1.0, 0.1, 10.0], [-1.0, -0.1, -10.0]], process=grhmc.Continuous(sample_interval=1e-3), tune=0, draws=1
    )
    np.testing.assert_allclose(draws_of(result)[:, 0], np.array([SD, -SD]), rtol=0.02)


def test_init_is_not_changed() -> None:
    init = np.array([1.0, 0.1, 10.0])
    sample(init=init)
    np.testing.assert_array_equal(init, SD)


def test_without_init_chains_start_between_minus_two_and_two() -> None:
    result = sample(process=grhmc.Continuous(sample_interval=1e-6), tune=0, draws=1, chains=20, scale=SD)
    assert np.all(np.abs(draws_of(result)) < 2.1)
    assert np.std(draws_of(result)) > 0.5


def test_draws_are_sample_interval_apart() -> None:
    times = sample(process=grhmc.Continuous(sample_interval=0.7))["sample_stats"]["process_time"]
    np.testing.assert_allclose(np.diff(times), 0.7)


def test_draws_are_half_a_u_turn_apart_by_default() -> None:
    result = sample(process="continuous")
    spacing = np.diff(result["sample_stats"]["process_time"])
    half = 0.5 * result["tuning"]["time_to_u_turn"].to_numpy()
    np.testing.assert_allclose(spacing, np.broadcast_to(half[:, None], spacing.shape))


def test_a_fixed_event_rate_stays() -> None:
    result = sample(process=grhmc.Continuous(event_rate=0.25), draws=2000)
    np.testing.assert_array_equal(result["tuning"]["event_rate"], 0.25)
    assert result.attrs["event_rate"] == 0.25
    n_events, time = result["sample_stats"]["n_events"].sum("draw"), result["sample_stats"]["process_time"]
    np.testing.assert_allclose(n_events / (time[:, -1] - time[:, 0]), 0.25, rtol=0.1)


def test_a_fixed_scale_stays() -> None:
    result = sample(scale=[2.0, 0.3, 5.0], draws=1000, tune=500)
    np.testing.assert_array_equal(result["tuning"]["scale"], np.broadcast_to([2.0, 0.3, 5.0], (2, 3)))
    assert result.attrs["scale"] == "fixed"


def test_the_identity_scale_is_one() -> None:
    with pytest.warns(grhmc.SamplingWarning, match=r"bulk_ess.*b\[1\]"):  # its standard deviation is 10
        result = sample(scale="identity")
    np.testing.assert_array_equal(result["tuning"]["scale"], 1.0)


@pytest.mark.parametrize("scale", ["isg", "vari", "geo", "mct"])
def test_every_tuner_finds_independent_scales(scale: str) -> None:
    tuning = sample(scale=scale, tune=1000)["tuning"]
    np.testing.assert_allclose(tuning["scale"], np.broadcast_to(SD, (2, 3)), rtol=0.3)


def test_no_warm_up_is_defined() -> None:
    """The event rate is 1/(1.3 π), and draws are half of π apart."""
    result = sample(process="continuous", tune=0, draws=500, save_warmup=True, diagnose=False)
    np.testing.assert_allclose(result["tuning"]["event_rate"], 1.0 / (1.3 * math.pi))
    np.testing.assert_allclose(np.diff(result["sample_stats"]["process_time"]), 0.5 * math.pi)
    assert not any(name.startswith("warmup") for name in result.children)
    np.testing.assert_allclose(draws_of(result).std(axis=(0, 1)), SD, rtol=0.5)


def test_a_single_draw_is_enough() -> None:
    assert draws_of(sample(draws=1, tune=1, chains=1)).shape == (1, 1, 3)


def test_a_tighter_tolerance_costs_more_gradients_and_keeps_the_energy() -> None:
    loose, tight = sample(process=grhmc.Continuous(tolerance=0.05)), sample(process=grhmc.Continuous(tolerance=1e-4))
    assert tight["sample_stats"]["n_gradients"].sum() > 3 * loose["sample_stats"]["n_gradients"].sum()
    assert (
        np.abs(tight["sample_stats"]["energy_error"]).max() < 0.1 * np.abs(loose["sample_stats"]["energy_error"]).max()
    )
    assert tight.attrs["tolerance"] == 1e-4


def test_partial_refreshment_is_recorded() -> None:
    assert sample(process=grhmc.Continuous(refreshment=0.5)).attrs["persistence"] == 0.5


def test_the_papers_warm_up_can_be_shortened() -> None:
    warmup = grhmc.PaperWarmup(time_factor=0.2, event_rate=0.3)
    result = sample(process=grhmc.Continuous(warmup=warmup))
    assert float(result["sample_stats"]["process_time"][0, 0]) > 0.2 * 11_000
    np.testing.assert_allclose(result["tuning"]["scale"], np.broadcast_to(SD, (2, 3)), rtol=0.3)


def test_functions_are_averaged_over_the_path() -> None:
    def tail_and_square(q, output):
        output[0] = 1.0 if q[0] > 1.0 else 0.0
        output[1] = q[2] * q[2]

    functions = grhmc.path_functions_from_numba(tail_and_square, 3, ["P(a > 1)", "E[b1^2]"])
    result = sample(draws=4000, path_functions=functions)
    averages = result["time_average"]
    np.testing.assert_array_equal(averages["function"], ["P(a > 1)", "E[b1^2]"])
    assert averages["functions"].shape == (2, 50, 2)
    tail = 0.5 * math.erfc(math.sqrt(0.5))
    np.testing.assert_allclose(averages["functions"].mean(axis=(0, 1)), [tail, 100.0], rtol=0.15)
    np.testing.assert_allclose(
        averages["functions"][..., 1],
        averages["position_squared"][..., 2],
        rtol=1e-3,
        err_msg="the same, by another rule",
    )


def test_lines_of_progress_go_to_standard_error_only(capfd: pytest.CaptureFixture[str]) -> None:
    sample(progress_bar=True)
    assert capfd.readouterr().out == ""


def test_no_progress_bar_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    sample()
    assert capfd.readouterr() == ("", "")


def test_a_short_warm_up_is_the_discrete_processs_too() -> None:
    for tune in (0, 5, 19):
        result = sample(tune=tune, diagnose=False)
        assert result.attrs["process"] == "discrete"
        assert "acceptance_rate" in result["sample_stats"]
        assert np.all(np.isfinite(draws_of(result)))


def test_the_fields_names_give_the_same_draws() -> None:
    expected = draws_of(sample(seed=3, init=[1.0, 0.1, 10.0]))
    settings: dict[str, Any] = {"draws": 100, "tune": 100, "chains": 2, "cores": 1}
    found = grhmc.sample(model(), random_seed=3, initvals=[1.0, 0.1, 10.0], progressbar=False, **settings)
    np.testing.assert_array_equal(draws_of(found), expected)


def test_a_sequence_and_a_generator_are_seeds() -> None:
    np.testing.assert_array_equal(draws_of(sample(seed=[1, 2])), draws_of(sample(seed=np.array([1, 2]))))
    first = sample(seed=np.random.default_rng(1))
    np.testing.assert_array_equal(draws_of(sample(seed=np.random.default_rng(1))), draws_of(first))
    np.testing.assert_array_equal(draws_of(sample(seed=int(first.attrs["seed"]))), draws_of(first))


def test_the_target_of_the_discrete_process_has_two_places() -> None:
    beside, inside = sample(target_accept=0.6), sample(process=grhmc.Discrete(target_accept=0.6))
    np.testing.assert_array_equal(draws_of(beside), draws_of(inside))
    assert np.any(draws_of(sample()) != draws_of(beside))


def test_variables_that_are_not_asked_for_are_left_out() -> None:
    result = sample(var_names=["b"], save_warmup=True)
    for group in ("posterior", "warmup_posterior"):
        assert list(result[group].data_vars) == ["b"]
    whole = sample(save_warmup=True)
    np.testing.assert_array_equal(result["posterior"]["b"], whole["posterior"]["b"])
    np.testing.assert_array_equal(draws_of(result), draws_of(whole))
    assert result["posterior"].attrs["inference_library"] == "grhmc"


def test_tuning_is_of_the_process_that_sample_uses() -> None:
    settings: dict[str, Any] = {"tune": 300, "chains": 2, "seed": 1, "progress_bar": False}
    tuned, tuning = grhmc.tune(model(), **settings), sample(tune=300)["tuning"]
    np.testing.assert_allclose(tuned.scale_per_chain, tuning["scale"])
    np.testing.assert_allclose(tuned.event_rate_per_chain, tuning["event_rate"])
    continuous = grhmc.tune(model(), process=grhmc.Continuous(event_rate=0.25), **settings)
    np.testing.assert_array_equal(continuous.event_rate_per_chain, 0.25)
