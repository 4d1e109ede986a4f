"""The compiled process against the same process on SciPy's LSODA, and LSODA's cost against the published one."""

from __future__ import annotations

import builtins
import math

import numpy as np
import pytest

import grhmc
from exact_u_turns import mean_log_time, mean_log_time_with_overshoot
from grhmc.comparison.effective_size import monitor_ess
from grhmc.models.analytic import independent_normals, paper_target
from grhmc.paper.lsoda.lsoda_dynamics import POSITION, SQUARE
from grhmc.paper.lsoda.lsoda_run import sample_with_lsoda
from grhmc.paper.published import published_rows

pytestmark = pytest.mark.filterwarnings("ignore::grhmc.SamplingWarning")  # runs of a few draws

PAPER_TIME = 1e6
"""Process time behind a published n_ode: ten trajectories of 100 000."""


def compiled_draws(model, *, event_rate: float, **settings) -> np.ndarray:
    """Draws of `grhmc.sample` with RKN 6(4) at 1e-6, shape (chain, draw, dim)."""
    process = grhmc.Continuous("rkn64", 1e-6, event_rate=event_rate, sample_interval=0.5)
    result = grhmc.sample(model, process=process, progress_bar=False, **settings)
    return np.asarray(result["posterior"]["x"])


@pytest.mark.parametrize(("name", "scale"), [("G1", [2.0, 3.0]), ("NG2", [0.45, 1.0]), ("F1", [0.67, 0.56])])
def test_same_seed_same_path(name, scale):
    # Both draw the same random numbers in the same order, so the paths differ by the integrators' errors only, which
    # grow along the path.
    model = paper_target(name).log_density()
    start = np.array([[0.3, -0.4], [-1.0, 0.8]])
    lsoda = sample_with_lsoda(
        model, scale=np.array(scale), draws=30, sample_interval=0.5, start=start, seed=4, event_rate=0.4
    )
    compiled = compiled_draws(model, scale=scale, draws=30, tune=0, chains=2, init=start, seed=4, event_rate=0.4)
    np.testing.assert_allclose(lsoda.draws, compiled, atol=2e-4)
    # Negative control: another seed gives another path.
    other = compiled_draws(model, scale=scale, draws=30, tune=0, chains=2, init=start, seed=5, event_rate=0.4)
    assert np.max(np.abs(other - compiled)) > 0.1


@pytest.mark.statistical
@pytest.mark.parametrize(("name", "event_rate"), [("G1", 0.456), ("NG3", 0.413), ("F1", 0.360)])
def test_evaluations_per_time_are_the_published_ones(name, event_rate):
    # With the published S (ISG) and the event rate that ISG's S gets by the rule as stated, over 1.3: about what the
    # rule as run gives (docs/paper.md).
    rows = [published_rows()[name, "isg", coordinate] for coordinate in ("1", "2")]
    time = 600.0
    run = sample_with_lsoda(
        paper_target(name).log_density(),
        scale=np.array([row.s_mean for row in rows]),
        draws=300,
        sample_interval=2.0,
        start=np.array([[0.3, -0.4]]),
        seed=2,
        event_rate=event_rate / 1.3,
    )
    assert run.n_sampling[0] / time == pytest.approx(rows[0].n_ode / PAPER_TIME, rel=0.15)


@pytest.mark.statistical
@pytest.mark.parametrize("rule", ["as_stated", "as_run"])
def test_both_rules_find_their_event_rate_on_normals(rule):
    run = sample_with_lsoda(
        independent_normals(np.ones(10)).log_density(),
        scale=np.ones(10),
        draws=1,
        sample_interval=1.0,
        start=np.random.default_rng(3).standard_normal((4, 10)),
        seed=3,
        time_factor=0.2,
        event_rate_rule=rule,
    )
    stated, (as_run, _) = mean_log_time(10), mean_log_time_with_overshoot(10, 20_000)
    expected, other = (as_run, stated) if rule == "as_run" else (stated, as_run)
    # The last hundred logarithms of times count, whose standard deviation is 0.2: an error of 0.014 for each
    # trajectory, and up to 1.4 times that because successive overshoots share a path.
    standard_error = np.sqrt(2.0) * 0.2 * np.sqrt(0.01 / 1.99) / np.sqrt(4)
    found = -np.log(run.event_rate).mean()
    assert found == pytest.approx(expected, abs=4.0 * standard_error)
    # Negative control.
    assert abs(found - other) > 8.0 * standard_error


def test_integrals_that_run_on_cost_nothing_and_those_from_zero_a_fifth():
    # Of a normal, ∫q̄² decides steps where it starts from 0 at every event. The averages are the same.
    model = paper_target("G1").log_density()
    settings = {
        "scale": np.array([2.0, 3.0]),
        "draws": 200,
        "sample_interval": 2.0,
        "start": np.array([[1.0, 2.0]]),
        "seed": 1,
        "event_rate": 0.35,
    }
    alone = sample_with_lsoda(model, integrals=(), **settings)
    from_zero = sample_with_lsoda(model, integrals=(POSITION, SQUARE), **settings)
    on = sample_with_lsoda(model, integrals=(POSITION, SQUARE), integrals_run_on=True, **settings)
    assert on.n_sampling[0] == pytest.approx(alone.n_sampling[0], rel=0.03)
    assert from_zero.n_sampling[0] > 1.1 * alone.n_sampling[0]
    np.testing.assert_allclose(on.path_mean, from_zero.path_mean, atol=1e-3)


@pytest.mark.statistical
@pytest.mark.nightly
@pytest.mark.parametrize("method", ["vari", "isg", "mct"])
def test_lsoda_and_the_compiled_process_agree_on_every_estimate(method):
    # Tuned and sampled by the published phases, shortened; 4.5 standard errors for two times eight comparisons.
    target = paper_target("G1")
    model = target.log_density()
    n, factor = 6, 0.15
    start = np.random.default_rng(1).standard_normal((n, 2))
    lsoda = sample_with_lsoda(
        model, scale=method, draws=500, sample_interval=2.0, start=start, seed=7, time_factor=factor
    )
    result = grhmc.sample(
        model,
        scale=method,
        draws=500,
        chains=n,
        seed=8,
        init=start,
        process=grhmc.Continuous(
            integrator="rkn64", tolerance=1e-6, sample_interval=2.0, warmup=grhmc.PaperWarmup(time_factor=factor)
        ),
        progress_bar=False,
    )
    tuning = result["tuning"]
    for ours, theirs in (
        (np.log(np.asarray(tuning["scale"])), np.log(lsoda.scale)),
        (np.asarray(tuning["centre"]), lsoda.centre),
        (np.log(np.asarray(tuning["event_rate"]))[:, np.newaxis], np.log(lsoda.event_rate)[:, np.newaxis]),
    ):
        error = np.sqrt((ours.var(axis=0, ddof=1) + theirs.var(axis=0, ddof=1)) / n)
        assert np.all(np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) < 4.5 * error)
    draws = np.asarray(result["posterior"]["x"])
    for ours, theirs in ((draws, lsoda.draws), (draws**2, lsoda.draws**2)):
        difference = ours.mean(axis=(0, 1)) - theirs.mean(axis=(0, 1))
        errors = [values.std(axis=(0, 1)) / np.sqrt(monitor_ess(values)) for values in (ours, theirs)]
        assert np.all(np.abs(difference) < 4.5 * np.hypot(*errors))
    # Negative control: the scale that a target with twice the variance gets is not accepted.
    wrong = np.log(lsoda.scale * math.sqrt(2.0))
    ours = np.log(np.asarray(tuning["scale"]))
    error = np.sqrt((ours.var(axis=0, ddof=1) + wrong.var(axis=0, ddof=1)) / n)
    assert np.any(np.abs(ours.mean(axis=0) - wrong.mean(axis=0)) > 4.5 * error)


def test_path_averages_are_those_of_the_draws():
    model = paper_target("G1").log_density()
    run = sample_with_lsoda(
        model,
        scale=np.array([2.0, 3.0]),
        draws=1500,
        sample_interval=0.1,
        start=np.array([[1.0, 2.0]]),
        seed=1,
        event_rate=0.4,
    )
    # The mean of closely spaced draws is the integral, but for the ends.
    np.testing.assert_allclose(run.path_mean[0], run.draws[0].mean(axis=0), atol=0.02)


def test_without_scipy_the_error_names_the_extra(monkeypatch):
    real_import = builtins.__import__

    def no_scipy(name, *arguments, **options):
        if name.startswith("scipy"):
            raise ImportError(name)
        return real_import(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", no_scipy)
    with pytest.raises(ImportError, match=r"grhmc\[paper\]"):
        sample_with_lsoda(
            paper_target("G1").log_density(),
            scale="isg",
            draws=1,
            sample_interval=1.0,
            start=np.zeros((1, 2)),
            seed=1,
        )


def test_bad_scale_and_draws_are_named():
    model = paper_target("G1").log_density()
    settings = {"sample_interval": 1.0, "start": np.zeros((1, 2)), "seed": 1}
    with pytest.raises(ValueError, match="scale must be one of"):
        sample_with_lsoda(model, scale="nuts", draws=1, **settings)
    with pytest.raises(ValueError, match="draws must be 1 or more"):
        sample_with_lsoda(model, scale="isg", draws=0, **settings)
