"""Runs that end before all draws are made: at an effective sample size, after a time, after so many gradients."""

from __future__ import annotations

import itertools
import json
import math
import re

import numba
import numpy as np
import pytest

import grhmc
import short_runs
from grhmc.diagnosis.worst import Worst, worst_figures
from grhmc.looks import GROWTH, Look, Looks
from grhmc.run import progress
from grhmc.settings import StopRule


@numba.njit
def correlated(q, gradient):
    c = 1.0 / (1.0 - 0.95**2)
    gradient[0] = -c * (q[0] - 0.95 * q[1])
    gradient[1] = -c * (q[1] - 0.95 * q[0])
    return -0.5 * c * (q[0] ** 2 - 1.9 * q[0] * q[1] + q[1] ** 2)


def run(**settings):
    defaults = {"seed": 1, "tune": 200, "chains": 4, "cores": 2, "progress_bar": False}
    return grhmc.sample(grhmc.from_numba(correlated, 2), **(defaults | settings))


def test_a_run_ends_when_every_parameter_has_the_effective_draws_wanted():
    result = run(until={"ess": 800, "rhat": 1.02})
    table = grhmc.summary(result)
    assert table[["ess_bulk", "ess_tail"]].to_numpy().min() >= 800
    assert table["r_hat"].to_numpy().max() <= 1.02
    assert result["posterior"].sizes["draw"] < 5000
    looks = json.loads(result.attrs["looks"])
    assert looks[-1]["draws"] == result["posterior"].sizes["draw"]
    assert [look["draws"] for look in looks[:3]] == [100, 125, 157]
    good = [look["ess"] >= 800 and look["rhat"] <= 1.02 for look in looks]
    assert good[-2:] == [True, True]
    assert not any(first and second for first, second in itertools.pairwise(good[:-1]))
    assert looks[-1]["smallest_ess"] < looks[-1]["largest_ess"]
    assert result.attrs["stopped_by"].startswith(f"ESS {looks[-1]['ess']:.0f} of x[")
    assert result.attrs["outcomes"] == ", ".join(4 * ["STOPPED"])


def test_when_a_run_ends_does_not_depend_on_threads_or_the_store(tmp_path):
    first = run(until={"ess": 500}, cores=1)
    second = run(until={"ess": 500}, cores=2, store=tmp_path / "run.zarr")
    np.testing.assert_array_equal(first["posterior"]["x"].to_numpy(), second["posterior"]["x"].to_numpy())
    longer = run(draws=first["posterior"].sizes["draw"] + 50)
    np.testing.assert_array_equal(first["posterior"]["x"].to_numpy(), longer["posterior"]["x"].to_numpy()[:, :-50])


def test_a_run_says_what_its_rule_stands_at(capsys, monkeypatch):
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    run(until={"ess": 5000, "rhat": 1.001}, max_gradients=10**6, max_time=1000, progress_bar=True)
    lines = " ".join(capsys.readouterr().err.split())
    assert re.search(
        r"; ESS \d+ of 5000 wanted \(x\[[01]\]\) and R-hat 1\.\d{4}, 1\.001 wanted \(x\[[01]\]\) at \d+ draws, "
        r"[\d.]+k of 1M gradients, ends after 16 min 40 s",
        lines,
    )


def test_the_draws_that_a_rule_will_take_are_estimated():
    result = run(until={"ess": 3000})
    looks = json.loads(result.attrs["looks"])
    seen = Looks(StopRule(ess=3000), grhmc.from_numba(correlated, 2), 100_000, None)
    for look in looks[:-1]:
        seen._seen.append(Look(look.pop("draws"), Worst(**look)))
        seen._next = math.ceil(GROWTH * seen._seen[-1].draws)
    expected = seen.standing([], 1.0)
    assert expected is not None
    assert expected.draws is not None
    assert expected.draws == result["posterior"].sizes["draw"]
    del seen._seen[-4:]
    seen._next = math.ceil(GROWTH * seen._seen[-1].draws)
    earlier = seen.standing([], 1.0)
    assert earlier is not None
    assert earlier.draws is not None
    assert 0.5 < earlier.draws / expected.draws < 2.0


def test_a_run_of_any_length_has_a_reasonable_number_of_averages():
    result = run(until={"ess": 800}, draws=100_000)
    averages, draws = result["time_average"], result["unconstrained_posterior"]["position"].to_numpy()
    n_intervals = averages.sizes["interval"]
    assert 50 <= n_intervals <= 100
    durations = averages["duration"].to_numpy()
    length = int(durations[0, 0])
    assert np.all(durations == length)
    expected = draws[:, : n_intervals * length].reshape(4, n_intervals, length, 2).mean(axis=2)
    np.testing.assert_allclose(averages["position"], expected, atol=1e-12)
    again = run(until={"ess": 800}, draws=100_000, cores=1)
    np.testing.assert_array_equal(averages["position_squared"], again["time_average"]["position_squared"])


def test_chains_of_different_lengths_have_averages_over_equal_ones():
    averages = short_runs.sample(draws=10_000, max_gradients=3000)["time_average"]["duration"].to_numpy()
    assert 25 <= averages.shape[1] <= 100
    assert len(np.unique(averages)) == 1


def test_a_rule_that_is_not_met_leaves_all_draws():
    result = run(until={"ess": 1e9}, draws=300)
    assert result["posterior"].sizes["draw"] == 300
    assert "stopped_by" not in result.attrs
    assert json.loads(result.attrs["until"]) == {"ess": 1e9}


def test_r_hat_alone_will_do():
    assert "R-hat" in run(until={"rhat": 1.1}).attrs["stopped_by"]


def test_a_budget_of_gradients_is_kept_by_all_chains_alike(tmp_path):
    result = short_runs.sample(draws=10_000, max_gradients=8000, chains=3)
    spent = result["sample_stats"]["n_gradients"].sum("draw") + result["tuning"]["n_gradients"]
    assert np.all(spent <= 8000 // 3 + 50)
    assert result["posterior"].sizes["draw"] > 100
    assert result.attrs["stopped_by"] == "max_gradients=8000"
    assert "stopped_by" not in short_runs.sample(max_gradients=10**6).attrs
    again = short_runs.sample(draws=10_000, max_gradients=8000, chains=3, cores=3)
    np.testing.assert_array_equal(result["posterior"]["a"].to_numpy(), again["posterior"]["a"].to_numpy())
    with pytest.raises(grhmc.SamplingError, match="max_gradients was used up before the first draw"):
        short_runs.sample(max_gradients=100)


def test_a_run_ends_after_its_time():
    short_runs.sample()  # compiles
    n_draws = 4 * 10**6  # a fast machine makes a million in that time
    result = short_runs.sample(draws=n_draws, max_time=1.0, cores=2, diagnose=False)
    assert 0 < result["posterior"].sizes["draw"] < n_draws
    assert result.attrs["stopped_by"] == "max_time=1"
    with pytest.raises(grhmc.SamplingError, match=r"max_time=1e-09 was reached before the first draw"):
        short_runs.sample(draws=10**6, tune=10**6, max_time=1e-9)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"until": {"ess": -1}}, r"until\['ess'\]"),
        ({"until": {"rhat": 0.9}}, r"until\['rhat'\]"),
        ({"until": {"esss": 400}}, "until must be a mapping such as"),
        ({"until": {}}, "until must be a mapping such as"),
        ({"max_time": 0.0}, "max_time"),
        ({"max_gradients": 0}, "max_gradients"),
    ],
)
def test_a_wrong_rule_is_an_error(settings, message):
    with pytest.raises(ValueError, match=message):
        short_runs.sample(**settings)


def test_until_must_be_a_mapping():
    with pytest.raises(TypeError, match="until must be a mapping"):
        short_runs.sample(until=400)


def test_the_worst_figures_are_those_of_the_summary():
    rng = np.random.default_rng(1)
    slow = np.cumsum(rng.normal(size=(4, 400, 3)), axis=1)
    variables = {"fast": rng.normal(size=(4, 400, 60)), "slow": slow, "constant": np.zeros((4, 400))}
    worst = worst_figures(variables)
    assert worst.ess_variable.startswith("slow[")
    assert worst.rhat_variable.startswith("slow[")
    from arviz_stats.base import array_stats

    bulk = array_stats.ess(slow, chain_axis=0, draw_axis=1, method="bulk")
    assert worst.ess <= np.min(bulk)
    assert worst.rhat == pytest.approx(np.max(array_stats.rhat(slow, chain_axis=0, draw_axis=1)))
    assert worst_figures({"broken": np.full((4, 100), np.nan)}).ess == 0.0


@pytest.mark.statistical
@pytest.mark.nightly
def test_runs_that_ended_at_an_effective_size_have_it_on_average():
    """A rule that stops at lucky moments would leave means with larger errors than the size that it promises."""
    means = np.array(
        [
            run(until={"ess": 400}, seed=seed, diagnose=False)["posterior"]["x"].to_numpy().mean(axis=(0, 1))
            for seed in range(300)
        ]
    )
    effective = 1.0 / (means**2).mean(axis=0)
    assert np.all(effective > 400 * (1.0 - 4.0 * np.sqrt(2.0 / 300)))
