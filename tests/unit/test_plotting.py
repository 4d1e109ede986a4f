"""Figures show what the result holds, without a display and without changing matplotlib's settings."""

import builtins
import math

import numpy as np
import pytest

import synthetic_runs
from grhmc.comparison.run import compare_results
from grhmc.plotting import (
    plot_crossing_times,
    plot_ess_comparison,
    plot_scale_history,
    plot_trace_with_events,
)

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

NAMES = ["intercept", "cost [$]", "β_2"]


@pytest.fixture(autouse=True)
def close_figures():
    before = matplotlib.rcParams.copy()
    yield
    assert matplotlib.rcParams == before
    pyplot.close("all")


def draw(figure) -> None:
    """Lay out and render, which is where bad text and infinite values would show."""
    figure.canvas.draw()


def test_the_trace_shows_the_first_draws_and_the_events():
    result = synthetic_runs.make_result(2, NAMES, n_draws=30, diverging=(4,))
    figure = plot_trace_with_events(result, ["β_2", "cost [$]"], chain=1, n_draws=20)
    draw(figure)
    first, _, events = figure.axes
    assert [panel.get_title(loc="left") for panel in figure.axes] == [
        "β_2",
        r"cost [\$]",
        "momentum refreshments before each draw",
    ]
    line = first.lines[1]
    statistics = result["sample_stats"].to_dataset().isel(chain=1, draw=slice(20))
    assert np.array_equal(line.get_xdata(), statistics["process_time"])
    assert np.array_equal(line.get_ydata(), result["posterior"].to_dataset()["β_2"].isel(chain=1, draw=slice(20)))
    assert np.array_equal(events.lines[0].get_ydata(), statistics["n_events"])
    assert "1 diverging" in figure.get_suptitle()
    assert np.asarray(first.lines[2].get_xdata())[0] == statistics["process_time"].values[4]


def test_the_trace_of_the_discrete_process_shows_acceptance_rates():
    result = synthetic_runs.make_result(2, NAMES, n_draws=30)
    result.attrs["process"] = "discrete"
    rates = np.linspace(0.2, 1.0, 60).reshape(2, 30)
    result["sample_stats"] = result["sample_stats"].to_dataset().assign(acceptance_rate=(("chain", "draw"), rates))
    figure = plot_trace_with_events(result, chain=1, n_draws=20)
    draw(figure)
    assert figure.axes[-1].get_title(loc="left") == "acceptance rate before each draw"
    assert np.array_equal(figure.axes[-1].lines[0].get_ydata(), rates[1, :20])


def test_the_trace_shows_four_parameters_by_default():
    figure = plot_trace_with_events(synthetic_runs.make_result(1, dim=9))
    draw(figure)
    assert len(figure.axes) == 5


def test_the_scale_history_has_a_line_per_chain_relative_to_the_end():
    result = synthetic_runs.make_result(3, NAMES)
    figure = plot_scale_history(result)
    draw(figure)
    panels = [axis for axis in figure.axes if axis.get_visible()]
    assert len(panels) == 3
    final = result["tuning"].to_dataset()["scale"].mean("chain").values
    for panel, expected in zip(panels, final, strict=True):
        lines = panel.lines[1:]  # the first is the reference
        assert len(lines) == 3
        assert np.allclose(lines[0].get_ydata(), 1.0 / expected)
    assert panels[0].get_title() == "intercept: S = 1.1"


def test_the_scale_history_of_many_coordinates_shows_some_and_says_so():
    figure = plot_scale_history(synthetic_runs.make_result(1, dim=30))
    draw(figure)
    assert len(figure.axes) == 12
    assert "12 of 30 coordinates" in figure.get_suptitle()
    figure = plot_scale_history(synthetic_runs.make_result(1, dim=30), ["x[7]"])
    draw(figure)
    assert figure.axes[0].get_title().startswith("x[7]")


def test_crossing_times_are_drawn_against_the_target():
    result = synthetic_runs.make_result(2, NAMES)
    axis = plot_crossing_times(result)
    draw(axis.figure)
    assert np.asarray(axis.lines[0].get_xdata())[0] == math.pi
    assert np.allclose(axis.lines[-1].get_xdata(), 3.3)
    assert [label.get_text() for label in axis.get_yticklabels()] == ["intercept", r"cost [\$]", "β_2"]
    assert "π" in axis.get_title()


def test_crossing_times_go_where_they_are_told():
    own = pyplot.subplots()[1]
    assert plot_crossing_times(synthetic_runs.make_result(2), ["x[1]"], target=2.0, ax=own) is own
    assert "target 2" in own.get_title()
    draw(own.figure)


def test_crossing_times_of_very_different_size_are_readable():
    result = synthetic_runs.make_result(2)
    result["tuning"].to_dataset()["crossing_time"].values[:, 0] = 300.0
    axis = plot_crossing_times(result)
    draw(axis.figure)
    assert axis.get_xscale() == "log"


def test_the_comparison_names_the_worst_parameter_of_each_tuner():
    found = compare_results({tuner: synthetic_runs.make_result(4, NAMES, n_draws=50) for tuner in ("vari", "geo")})
    figure = plot_ess_comparison(found)
    draw(figure)
    assert [axis.get_title() for axis in figure.axes] == ["bulk", "tail (5 %, 95 %)", "variance (q²)"]
    bulk = figure.axes[0]
    worst = min(found.rows[:3], key=lambda row: row.ess_bulk)
    assert worst.parameter.replace("$", r"\$") in bulk.texts[0].get_text()
    assert np.asarray(bulk.lines[1].get_xdata())[0] == worst.ess_per_1000_gradients["bulk"]
    assert [label.get_text() for label in bulk.get_yticklabels()] == ["vari", "geo"]


def test_a_comparison_without_any_ess_is_still_drawn():
    found = compare_results({"geo": synthetic_runs.make_result(1, n_draws=2)})
    draw(plot_ess_comparison(found))


def test_long_names_keep_their_indices():
    result = synthetic_runs.make_result(2, {"a_name_that_is_much_too_long_for_a_tick": (3,)})
    axis = plot_crossing_times(result)
    draw(axis.figure)
    labels = [label.get_text() for label in axis.get_yticklabels()]
    assert [label[-3:] for label in labels] == ["[0]", "[1]", "[2]"]
    assert all(len(label) == 24 for label in labels)


def test_bad_names_are_rejected_with_the_good_ones():
    result = synthetic_runs.make_result(2, NAMES)
    with pytest.raises(ValueError, match=r"parameters must name some of 'intercept'.*; got 'z'"):
        plot_trace_with_events(result, ["z"])
    with pytest.raises(ValueError, match=r"coordinates must name some of .*; got none"):
        plot_scale_history(result, [])
    with pytest.raises(ValueError, match=r"chain must be one of \[0, 1\], got 5"):
        plot_trace_with_events(result, chain=5)


def test_a_run_without_warmup_has_no_history_to_draw():
    with pytest.raises(ValueError, match=r"no warm-up \(tune=0\)"):
        plot_scale_history(synthetic_runs.make_result(2, n_history=0))


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    real_import = builtins.__import__

    def without_matplotlib(name, *arguments, **keywords):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real_import(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    with pytest.raises(ImportError, match=r"pip install 'grhmc\[plot\]'"):
        plot_crossing_times(synthetic_runs.make_result(1))
