"""What a result's statistics say they are, of both processes, and that they are that."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import grhmc
from grhmc.models.analytic import gaussian
from grhmc.results.descriptions import BY_PROCESS, COMMON
from grhmc.settings import ProcessName

PROCESSES = ("discrete", "continuous")
GROUPS = ("sample_stats", "warmup_sample_stats", "time_average", "tuning")
# With a correlation, so that there are directions to describe.
NORMAL = gaussian(np.zeros(3), [[1.0, 0.0, 0.098], [0.0, 4.0, 0.0], [0.098, 0.0, 0.01]])


@functools.cache
def run(process: ProcessName):
    return grhmc.sample(
        NORMAL.log_density(), process=process, draws=400, chains=2, seed=1, save_warmup=True, progress_bar=False
    )


def statistics_of(process: ProcessName):
    return run(process)["sample_stats"].to_dataset()


@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize("group", GROUPS)
def test_every_variable_says_what_it_is(process, group):
    variables = run(process)[group].to_dataset().data_vars
    assert [name for name, variable in variables.items() if not variable.attrs.get("description")] == []


@pytest.mark.parametrize("process", PROCESSES)
def test_nothing_is_described_that_is_not_there(process):
    for group in COMMON:
        described = {*COMMON[group], *BY_PROCESS[process][group]}
        assert described - {"functions"} == set(run(process)[group].to_dataset().data_vars)


def test_texts_are_written_once():
    for group in COMMON:
        continuous, discrete = (BY_PROCESS[process][group] for process in ("continuous", "discrete"))
        assert not {*COMMON[group]} & {*continuous, *discrete}
        assert {*continuous} - {*discrete} == set()


def test_trajectories_are_rejected_as_often_as_their_acceptance_says():
    statistics = statistics_of("discrete")
    n_events, n_rejected = (statistics[name].to_numpy() for name in ("n_events", "n_rejected"))
    assert np.all((n_rejected >= 0) & (n_rejected <= n_events))
    acceptance = statistics["acceptance_rate"].to_numpy()
    expected = float((acceptance * n_events).sum() / n_events.sum())
    error = np.sqrt(expected * (1 - expected) / n_events.sum())
    assert 1 - n_rejected.sum() / n_events.sum() == pytest.approx(expected, abs=4 * error)
    assert 0.7 < expected < 0.99


def test_time_passes_during_every_trajectory():
    statistics = statistics_of("discrete")
    elapsed = np.diff(statistics["process_time"].to_numpy(), axis=1)
    n_steps, step = statistics["n_steps"].to_numpy()[:, 1:], statistics["step_size"].to_numpy()[:, 1:]
    np.testing.assert_allclose(elapsed, n_steps * step, rtol=0.1 + 1e-9)  # steps are jittered by up to a tenth


def test_averages_of_the_discrete_process_are_those_of_draws():
    result = run("discrete")
    averages = result["time_average"].to_dataset()
    draws = result["unconstrained_posterior"]["position"].to_numpy()
    n = int(averages["duration"].values[0, 0])
    np.testing.assert_array_equal(averages["duration"], n)
    chunks = draws[:, : n * averages.sizes["interval"]].reshape(2, -1, n, draws.shape[-1])
    np.testing.assert_allclose(averages["position"], chunks.mean(axis=2), atol=1e-10)
    np.testing.assert_allclose(averages["position_squared"], (chunks**2).mean(axis=2), rtol=1e-9)


def test_averages_of_the_continuous_process_are_over_process_time():
    result = run("continuous")
    time = result["sample_stats"]["process_time"].to_numpy()
    spacing = np.diff(time, axis=1)
    np.testing.assert_allclose(spacing, spacing[0, 0])
    n = 400 // result["time_average"].sizes["interval"]
    np.testing.assert_allclose(result["time_average"]["duration"], n * spacing[0, 0])


def test_refreshments_of_the_continuous_process_come_at_the_event_rate():
    result = run("continuous")
    n_events = result["sample_stats"]["n_events"].to_numpy()[:, 1:].sum(axis=1)
    elapsed = np.ptp(result["sample_stats"]["process_time"].to_numpy(), axis=1)
    expected = result["tuning"]["event_rate"].to_numpy() * elapsed
    assert np.all(np.abs(n_events - expected) < 5 * np.sqrt(expected))


def test_a_result_that_does_not_say_its_process_is_not_judged():
    result = run("discrete").copy()
    del result.attrs["process"], result.attrs["diagnosis"]
    with pytest.raises(ValueError, match="attribute 'process'"):
        grhmc.diagnose(result)
