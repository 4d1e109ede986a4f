"""The numbers behind the paper's figures, against exact ones."""

from __future__ import annotations

import numpy as np
import pytest

import grhmc
from grhmc.models.analytic import paper_target
from grhmc.paper import figure_crossing_times, figure_tolerance
from grhmc.paper.cells import SAMPLE_INTERVAL, TRAJECTORIES, Cell, CellResult

pytestmark = [pytest.mark.statistical, pytest.mark.filterwarnings("ignore::grhmc.SamplingWarning")]

TIME = 1500.0
"""Of each of four chains."""

STUDENT_T_DENSITY_AT_MEDIAN = 0.375
"""Of the standard t with four degrees of freedom."""


def crossing_times(name: str, scale: np.ndarray, seed: int = 1) -> np.ndarray:
    target = paper_target(name)
    start = target.mean + target.sd * np.random.default_rng(seed).standard_normal((4, len(scale)))
    return figure_crossing_times.median_crossing_times(target.log_density(), scale, 0.35, start, TIME, seed, 2)


def standard_error(times: np.ndarray) -> np.ndarray:
    """Of a mean time between crossings, as if these were independent. They come in clusters where S is far off."""
    return times / np.sqrt(4.0 * TIME / times)


@pytest.mark.parametrize(
    ("name", "scale"),
    [("G1", [2.0, 3.0]), ("G1", [1.0, 1.0]), ("G3", [1.0, 1.0]), ("G3", [0.312, 0.312]), ("G4", [1.0] * 10)],
)
def test_crossing_times_of_normals_are_those_of_rices_formula(name, scale):
    # A coordinate q with velocity S p, p ~ N(0, 1), crosses its median S/(π sd) times per process time, however it is
    # correlated with others.
    times = crossing_times(name, np.array(scale))
    exact = np.pi * paper_target(name).sd / np.array(scale)
    assert np.all(np.abs(times - exact) < 4.0 * standard_error(exact))
    # Negative control: a tenth too long is noticed.
    if np.min(exact) < 4.0:
        assert np.any(np.abs(times - 1.15 * exact) > 4.0 * standard_error(exact))


def test_crossing_times_of_a_heavy_tail_are_those_of_its_density_at_the_median():
    # Any target: density at the median times the mean speed, S √(2/π).
    covariance = np.array([4.0, 9.0])
    times = crossing_times("NG1", np.sqrt(covariance))
    exact = np.full(2, 1.0 / (STUDENT_T_DENSITY_AT_MEDIAN * np.sqrt(2.0 / np.pi)))
    assert np.all(np.abs(times - exact) < 4.0 * standard_error(exact))


def test_paths_that_are_tested_would_fake_crossings(monkeypatch):
    # Negative control: a rejected path jumps back to its start.
    monkeypatch.setattr(
        figure_crossing_times,
        "_process",
        lambda event_rate: grhmc.Continuous("splitting", event_rate=event_rate, sample_interval=0.05),
    )
    times = crossing_times("G4", np.ones(10))
    assert np.all(times < np.pi - 4.0 * standard_error(np.full(10, np.pi)))


def tuned(event_rate: float) -> CellResult:
    """A cell of G1 with its exact scale; what the figure does not read is empty."""
    target, empty = paper_target("G1"), np.zeros(0)
    rng = np.random.default_rng(7)
    fields = dict.fromkeys(CellResult.__dataclass_fields__, empty)
    fields |= {
        "cell": Cell("G1", "isg", "rkn64", 1e-6),
        "scale": np.tile(target.sd, (TRAJECTORIES, 1)),
        "event_rate": np.full(TRAJECTORIES, event_rate),
        "last": target.mean + target.sd * rng.standard_normal((TRAJECTORIES, 2)),
    }
    return CellResult(**fields)  # pyright: ignore[reportArgumentType]


def published_effective_share(event_rate: float) -> float:
    """Effective draws per draw of a standard normal coordinate with S = sd, by the estimator of the tables.

    Autocorrelations of the process solve C'' + λ C' + C = 0, C(0) = 1, C'(0) = 0. Geyer's initial monotone sequence is
    applied to them, as rstan applies it to estimated ones.
    """
    lags = SAMPLE_INTERVAL * np.arange(400)
    frequency = np.sqrt(1.0 - 0.25 * event_rate**2)
    correlation = np.exp(-0.5 * event_rate * lags) * (
        np.cos(frequency * lags) + 0.5 * event_rate / frequency * np.sin(frequency * lags)
    )
    pairs = correlation.reshape(-1, 2).sum(axis=1)
    n_pairs = int(np.argmax(pairs <= 0.0))
    return 1.0 / (2.0 * np.minimum.accumulate(pairs[:n_pairs]).sum() - 1.0)


def test_effective_sizes_against_tolerance_are_those_of_the_damped_oscillator():
    # G1 is correlated a little, 1/12, which moves frequencies by 4 %.
    run = figure_tolerance._run(tuned(0.35), "rkn64", 1e-4, 2)
    exact = TRAJECTORIES * 2000 * published_effective_share(0.35)
    assert run["ess"] == pytest.approx(exact, rel=0.1)
    assert float(run["worst_z"]) < 4.0
    # Negative control: not those at the stated rule's event rate.
    other = TRAJECTORIES * 2000 * published_effective_share(0.47)
    assert np.all(np.abs(run["ess"] - other) > 0.1 * other)


def test_figures_sample_without_a_test_of_paths(monkeypatch):
    class Asked(Exception):
        pass

    def sample(*_, process, **__):
        asked.append(process)
        raise Asked

    asked: list[grhmc.Continuous] = []
    monkeypatch.setattr(figure_tolerance, "sample", sample)
    with pytest.raises(Asked):
        figure_tolerance._run(tuned(0.35), "splitting", 0.05, 2)
    assert not any(process.tests_paths for process in (*asked, figure_crossing_times._process(0.3)))
