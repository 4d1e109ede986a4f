"""Which parameter tells where trajectories diverge: the right one on a funnel, none where divergences are random."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray

import grhmc
import synthetic_runs
from grhmc.diagnosis.divergence_places import explain_divergences, find_divergence_places
from grhmc.results.divergences import diverging_starts

NAMES = ["log tau", "theta[0]", "theta[1]"]


def autocorrelated(rng: Any, n_chains: int = 4, n_draws: int = 500, dim: int = 3, kept: float = 0.9) -> np.ndarray:
    draws = rng.standard_normal((n_chains, n_draws, dim))
    for t in range(1, n_draws):
        draws[:, t] = kept * draws[:, t - 1] + np.sqrt(1 - kept**2) * draws[:, t]
    return draws


def funnel(rng: Any) -> tuple[np.ndarray, np.ndarray]:
    """Draws of a funnel, and divergences in its neck, of which a few are elsewhere."""
    draws = autocorrelated(rng)
    draws[..., 1:] *= np.exp(draws[..., :1])
    chance = np.where(draws[..., 0] < -1.2, 0.3, 0.0003)
    return draws, rng.uniform(size=draws.shape[:2]) < chance


def named(names: list[str], draws: np.ndarray) -> Any:
    return zip(names, np.moveaxis(draws, -1, 0), strict=True)


def result_of(draws: np.ndarray, diverging: np.ndarray) -> xarray.DataTree:
    """Of another sampler, with tau and not its logarithm."""
    axes = ("chain", "draw")
    posterior = xarray.Dataset({"tau": (axes, np.exp(draws[..., 0])), "theta": ((*axes, "k"), draws[..., 1:])})
    return xarray.DataTree.from_dict(
        {"posterior": posterior, "sample_stats": xarray.Dataset({"diverging": (axes, diverging)})}
    )


def test_the_scale_of_a_funnel_is_named_with_its_threshold() -> None:
    draws, diverging = funnel(np.random.default_rng(1))
    place, *_ = explain_divergences(named(NAMES, draws), diverging)
    assert place.name == "log tau"
    assert place.is_below
    assert place.threshold == pytest.approx(-1.2, abs=0.1)
    assert place.share > 0.95
    assert place.share_of_draws == pytest.approx(np.mean(draws[..., 0] <= place.threshold))
    report = grhmc.diagnose(result_of(draws, diverging))
    (finding,) = [finding for finding in report if finding.code == "divergence_places"]
    assert finding.variables[0] == "log tau"
    assert "start where log tau < -1.2 (" in finding.message


def test_the_upper_side_is_told_too() -> None:
    draws, diverging = funnel(np.random.default_rng(2))
    place, *_ = explain_divergences(named(["minus log tau", *NAMES[1:]], draws * [-1.0, 1.0, 1.0]), diverging)
    assert (place.name, place.is_below) == ("minus log tau", False)
    assert place.threshold == pytest.approx(1.2, abs=0.1)


def false_alarms(n_runs: int) -> int:
    """Of runs whose divergences come in bursts that have nothing to do with the draws."""
    n_named = 0
    for seed in range(n_runs):
        rng = np.random.default_rng([seed, 7])
        draws = autocorrelated(rng, n_draws=300, dim=5, kept=0.95)
        bursts = autocorrelated(rng, n_draws=300, dim=1, kept=0.9)[..., 0] > 1.6
        n_named += bool(explain_divergences(named([f"x[{j}]" for j in range(5)], draws), bursts))
    return n_named


@pytest.mark.statistical
def test_random_places_name_none() -> None:
    assert false_alarms(60) <= 4  # of p = 0.01: five or more are one in 3000


@pytest.mark.nightly
@pytest.mark.statistical
def test_random_places_name_none_in_many_runs() -> None:
    assert false_alarms(1000) <= 10 + 4 * np.sqrt(10)


def test_few_divergences_and_flags_of_another_shape_say_nothing() -> None:
    draws, diverging = funnel(np.random.default_rng(1))
    few = diverging & (np.cumsum(diverging).reshape(diverging.shape) < 10)
    assert find_divergence_places(result_of(draws, few)) == []
    assert find_divergence_places(synthetic_runs.make_result()) == []


def test_trajectories_of_our_own_start_at_the_draw_before() -> None:
    diverging = np.array([[True, False, False, True], [False, False, False, False]])
    np.testing.assert_array_equal(diverging_starts(diverging, is_ours=True)[0], [True, False, True, False])
    np.testing.assert_array_equal(diverging_starts(diverging, is_ours=False), diverging)
    result = synthetic_runs.make_result(2, n_draws=20, diverging=(5, 9))
    found = grhmc.divergences(result)
    np.testing.assert_array_equal(found["draw"], [4, 8, 4, 8])
    np.testing.assert_array_equal(found["chain"], [0, 0, 1, 1])
    positions = result["unconstrained_posterior"]["position"].to_numpy()
    np.testing.assert_array_equal(found["position"], positions[:, [4, 8]].reshape(4, 3))
    np.testing.assert_array_equal(found["x"], result["posterior"]["x"].to_numpy()[:, [4, 8]].reshape(4, 3))
    assert grhmc.divergences(result, most=1).sizes["divergence"] == 2


def test_a_result_without_flags_is_said() -> None:
    draws = result_of(*funnel(np.random.default_rng(1)))["posterior"].to_dataset()
    for function in (grhmc.divergences, grhmc.plot_divergences):
        with pytest.raises(ValueError, match="does not say which draws diverged"):
            function(draws)


def test_the_plot_puts_the_telling_parameter_first() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    draws, diverging = funnel(np.random.default_rng(1))
    figure = grhmc.plot_divergences(result_of(draws, diverging))
    assert [axis.get_xlabel() for axis in figure.axes] == ["log tau"] * 2
    assert np.size(figure.axes[0].lines[1].get_xdata()) == diverging.sum()
    figure.canvas.draw()
    chosen = grhmc.plot_divergences(result_of(draws, diverging), ["theta[1]", "log tau"])
    assert chosen.axes[0].get_xlabel() == "theta[1]"
    pyplot.close("all")
