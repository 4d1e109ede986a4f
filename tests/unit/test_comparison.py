"""A comparison says what each tuner was worth, and survives what goes wrong with one of them."""

import html
import math

import numpy as np
import pytest
from rich.console import Console

import grhmc
import synthetic_runs
from grhmc.comparison import run as comparison
from grhmc.comparison.effective_size import monitor_ess
from grhmc.comparison.run import compare, compare_results
from grhmc.models import LogDensity, Variable
from grhmc.models.analytic import paper_target
from grhmc.outcomes import Outcome, SamplingError
from grhmc.paper.cells import Cell
from grhmc.paper.trajectories import starting_points
from grhmc.results.summaries import effective_sample_sizes

NAMES = ["a", "b[1,2]", "<b>c [red]"]


@pytest.fixture(scope="module")
def two_tuners():
    return compare_results(
        {
            "vari": synthetic_runs.make_result(4, NAMES, n_draws=100),
            "isg": synthetic_runs.make_result(4, NAMES, n_draws=100, gradients_per_draw=5),
        },
        seed=3,
    )


class FakeSample:
    """Stands in for `sample`: keeps what it was called with, and can be made to fail."""

    def __init__(self, **failures):
        self.failures = failures
        self.calls = []

    def __call__(self, model, *, scale, **arguments):
        self.calls.append((scale, arguments))
        failure = self.failures.get(scale)
        if isinstance(failure, BaseException):
            raise failure
        result = synthetic_runs.make_result(2, n_draws=50)
        result.attrs["outcomes"] = failure or "STAGE_DONE, STAGE_DONE"
        return result


@pytest.fixture
def fake_sample(monkeypatch):
    def install(**failures):
        fake = FakeSample(**failures)
        monkeypatch.setattr(comparison, "sample", fake)
        return fake

    return install


def test_there_is_a_row_for_every_tuner_and_parameter(two_tuners):
    assert two_tuners.tuners == ("vari", "isg")
    assert two_tuners.parameters == tuple(NAMES)
    assert [(row.tuner, row.parameter) for row in two_tuners.rows] == [
        (tuner, name) for tuner in ("vari", "isg") for name in NAMES
    ]


def test_rows_agree_with_the_diagnostics_and_the_statistics(two_tuners):
    row = two_tuners.rows[1]
    size = effective_sample_sizes(two_tuners.results["vari"])["b[1,2]"]
    assert (row.ess_bulk, row.ess_tail, row.ess_mean, row.ess_q2) == (
        size.bulk, size.tail, size.mean, size.q2,
    )  # fmt: skip
    assert row.n_gradients == 4 * 100 * 10
    assert row.ess_per_1000_gradients["bulk"] == 1000 * size.bulk / 4000
    assert row.ess_per_1000_gradients["worst"] == 1000 * size.worst / 4000
    assert row.sampling_seconds == 4 * 2.0
    assert row.ess_per_second == size.worst / 8.0
    assert row.scale == pytest.approx(2 * np.mean([1.0, 1.1, 1.2, 1.3]))


def test_the_summary_is_the_worst_case(two_tuners):
    vari, isg = two_tuners.summaries
    rows = two_tuners.rows[:3]
    assert vari.ess_bulk == min(row.ess_bulk for row in rows)
    assert vari.ess_q2 == min(row.ess_q2 for row in rows)
    assert vari.worst == min(rows, key=lambda row: row.ess_worst)
    assert vari.warmup_gradients == 4 * 1000 + 0 + 1 + 2 + 3
    assert vari.warmup_seconds == 1.0 + 2.0 + 3.0 + 4.0
    assert vari.event_rate == pytest.approx(0.3)
    # The same draws for half the gradients.
    assert isg.ess_bulk == vari.ess_bulk
    assert two_tuners.best == "isg"


def test_the_dataset_has_everything_by_tuner_and_parameter(two_tuners):
    dataset = two_tuners.to_dataset()
    assert dataset["ess_bulk"].dims == ("tuner", "parameter")
    row = two_tuners.rows[4]
    at = dataset.sel(tuner="isg", parameter="b[1,2]")
    assert float(at["ess_bulk"]) == row.ess_bulk
    assert float(at["ess_per_1000_gradients"]) == row.ess_per_1000_gradients["worst"]
    assert float(at["scale"]) == row.scale
    assert dataset["n_gradients"].values.tolist() == [4000, 2000]


def test_a_parameter_that_does_not_vary_is_nobodys_worst_case():
    draws = np.random.default_rng(0).standard_normal((100, 3))
    draws[:, 0] = 2.0
    record = synthetic_runs.make_record(0, draws)
    model = synthetic_runs.make_model(NAMES)
    result = synthetic_runs.build_datatree([record], model, {})
    found = compare_results({"geo": result})
    assert math.isnan(found.rows[0].ess_worst)
    worst = found.summaries[0].worst
    assert worst is not None
    assert worst.parameter != "a"
    assert "–" in str(found)


def test_the_text_has_plain_tables_of_limited_width(two_tuners):
    text = str(two_tuners)
    assert "<b>c [red]" in text  # neither markup nor escaped
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 100
    for word in ("vari", "isg", "per 1000", "R-hat", "b[1,2]"):
        assert word in text
    assert "diver" not in text


def test_the_tables_fit_a_terminal_of_80_columns():
    names = ["intercept", "npreg", "skin"]
    found = compare_results({"vari": synthetic_runs.make_result(4, names, n_draws=1000)})
    console = Console(width=80, color_system=None)
    with console.capture() as capture:
        console.print(found)
    lines = [line.split() for line in capture.get().splitlines()]
    (row,) = [line for line in lines if line[:1] == ["vari"]]
    assert len(row) == 10  # nothing was broken into two lines


def test_diverging_draws_are_shown_if_there_are_any():
    found = compare_results({"geo": synthetic_runs.make_result(2, n_draws=50, diverging=(3, 4))})
    assert found.summaries[0].n_diverging == 4
    assert "diver-" in str(found)


def test_html_is_escaped(two_tuners):
    page = two_tuners._repr_html_()
    assert html.escape("<b>c [red]") in page
    assert "<b>" not in page


def test_many_parameters_are_cut_in_print_only():
    found = compare_results({"geo": synthetic_runs.make_result(1, dim=45, n_draws=20)})
    assert "and 15 more parameters; see to_dataset()" in str(found)
    assert "and 15 more parameters" in found._repr_html_()
    assert found.to_dataset().sizes["parameter"] == 45


def test_every_tuner_gets_the_same_seed_and_settings(fake_sample):
    fake = fake_sample()
    model = synthetic_runs.make_model()
    found = compare(
        model, ("isg", "geo"), draws=7, chains=2, progress_bar=False, process=grhmc.Continuous(tolerance=0.1)
    )
    (first, arguments), (second, same_arguments) = fake.calls
    assert (first, second) == ("isg", "geo")
    assert arguments == same_arguments
    assert arguments["seed"] == found.seed
    assert (arguments["draws"], arguments["process"]) == (7, grhmc.Continuous(tolerance=0.1))


def test_a_tuner_that_fails_is_reported_and_the_others_go_on(fake_sample):
    fake_sample(vari=SamplingError("chain 2 is stuck", Outcome.STUCK))
    found = compare(synthetic_runs.make_model(), progress_bar=False)
    assert found.tuners == ("isg", "mct", "geo")
    assert found.failures == {"vari": "chain 2 is stuck"}
    assert "vari failed: chain 2 is stuck" in str(found)


def test_if_all_tuners_fail_so_does_the_comparison(fake_sample):
    fake_sample(vari=SamplingError("stuck", Outcome.STUCK))
    with pytest.raises(SamplingError, match="stuck"):
        compare(synthetic_runs.make_model(), ("vari",), progress_bar=False)


def test_an_interrupt_keeps_what_there_is(fake_sample):
    fake_sample(isg="STAGE_DONE, INTERRUPTED")
    assert compare(synthetic_runs.make_model(), progress_bar=False).tuners == ("vari", "isg")
    fake_sample(isg=KeyboardInterrupt())
    assert compare(synthetic_runs.make_model(), progress_bar=False).tuners == ("vari",)
    fake_sample(vari=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        compare(synthetic_runs.make_model(), progress_bar=False)


@pytest.mark.parametrize(
    ("scales", "error", "message"),
    [
        ("isg", TypeError, r'write \("isg",\)'),
        ((), ValueError, "at least one tuner"),
        (("isg", "isg"), ValueError, "must be distinct"),
        (("isg", "nuts"), ValueError, "must be one of .*'vari'.* got 'nuts'"),
        (("isg", 3), TypeError, "got 3"),
    ],
)
def test_bad_scales_are_rejected_before_anything_is_sampled(fake_sample, scales, error, message):
    fake = fake_sample()
    with pytest.raises(error, match=message):
        compare(synthetic_runs.make_model(), scales, progress_bar=False)
    assert fake.calls == []


def test_a_real_comparison_finds_the_scales_of_a_normal():
    target = paper_target("G2")
    found = compare(target.log_density(), ("vari", "isg"), draws=300, chains=2, seed=1, progress_bar=False)
    scale = found.to_dataset()["scale"]
    assert scale.sel(tuner="vari").values == pytest.approx(target.sd, rel=0.2)
    expected = 1 / np.sqrt(target.mean_squared_gradient)
    assert scale.sel(tuner="isg").values == pytest.approx(expected, rel=0.2)
    assert found.summaries[0].n_gradients > 0
    assert found.summaries[0].worst is not None


@pytest.mark.parametrize("first", [0, 1])
def test_scales_stand_beside_their_parameters_whichever_index_is_first(first):
    """Stan counts from 1: the scale of x[1] was shown beside the second entry, and none beside the first."""
    names = [f"x[{first + i}]" for i in range(3)]
    model = LogDensity(3, 1, variables=[Variable("x", (3,))], coordinate_names=names)
    result = synthetic_runs.build_datatree([synthetic_runs.make_record()], model, synthetic_runs.ATTRIBUTES)
    found = compare_results({"geo": result})
    assert [row.parameter for row in found.rows] == ["x[0]", "x[1]", "x[2]"]
    assert [row.scale for row in found.rows] == [1.0, 2.0, 3.0]


def test_a_parameter_that_is_no_coordinate_has_no_scale():
    class Simplex(LogDensity):
        def constrain(self, draws):
            return {"p": np.column_stack([draws, -draws.sum(axis=1)])}

    model = Simplex(2, 1, variables=[Variable("p", (3,))], coordinate_names=["p[1]", "p[2]"])
    result = synthetic_runs.build_datatree([synthetic_runs.make_record(dim=2)], model, synthetic_runs.ATTRIBUTES)
    assert all(math.isnan(row.scale) for row in compare_results({"geo": result}).rows)


# ---------------------------------------------------------------- as published


def test_the_published_comparison_is_that_of_the_paper(fake_sample):
    fake = fake_sample()
    compare(paper_target("G1").log_density(), ("vari", "mct"), warmup="paper", seed=7, progress_bar=False)
    cell = Cell("G1", "mct", "rkn64", 1e-6, seed=7)
    for _, arguments in fake.calls:
        assert arguments["process"] == grhmc.Continuous(
            "rkn64",
            1e-6,
            sample_interval=2.0,
            warmup=grhmc.PaperWarmup(event_rate_rule="as_run", apply_at_crossing=cell.applies_at_crossing),
        )
        assert (arguments["draws"], arguments["chains"]) == (cell.draws, 10)
        np.testing.assert_array_equal(arguments["init"], starting_points(cell, 2))


def test_what_is_given_stays_in_the_published_comparison(fake_sample):
    fake = fake_sample()
    warmup = grhmc.PaperWarmup(time_factor=0.5)
    how = {"draws": 30, "chains": 3, "init": np.zeros(2), "warmup": warmup, "progress_bar": False}
    compare(paper_target("G1").log_density(), ("isg",), process=grhmc.Continuous("rkn43", refreshment=0.5), **how)
    ((_, arguments),) = fake.calls
    assert arguments["process"] == grhmc.Continuous("rkn43", refreshment=0.5, warmup=warmup)
    assert (arguments["draws"], arguments["chains"]) == (30, 3)
    assert not arguments["init"].any()
    with pytest.raises(ValueError, match="warmup='paper' is of the continuous process"):
        compare(paper_target("G1").log_density(), process=grhmc.Discrete(), warmup="paper")
    with pytest.raises(ValueError, match="warmup must be one of"):
        compare(paper_target("G1").log_density(), warmup="published")  # pyright: ignore[reportArgumentType]


def test_a_real_published_comparison_has_the_measures_of_the_tables():
    found = compare(
        paper_target("G2").log_density(),
        ("vari", "isg"),
        warmup=grhmc.PaperWarmup(time_factor=0.2),
        process=grhmc.Continuous("rkn43", 1e-3, sample_interval=2.0),
        draws=300,
        chains=4,
        seed=1,
        progress_bar=False,
    )
    assert [(row.tuner, row.coordinate) for row in found.paper_rows] == [
        (tuner, f"x[{j}]") for tuner in ("vari", "isg") for j in (0, 1)
    ]
    row, result = found.paper_rows[1], found.results["vari"]
    draws = result["unconstrained_posterior"]["position"].to_numpy()
    assert row.ess == monitor_ess(draws)[1]
    assert row.scale_mean == pytest.approx(result["tuning"]["scale"].to_numpy()[:, 1].mean())
    assert row.scale_mean == pytest.approx(np.sqrt(1000.0), rel=0.15)
    # One gradient per draw serves the log density alone.
    assert row.n_evaluations == int(result["sample_stats"]["n_gradients"].to_numpy().sum()) - 4 * 300
    assert row.ess_per_1e5 == pytest.approx(1e5 * row.ess / row.n_evaluations)
    worst = {tuner: min(r.ess_per_1e5 for r in found.paper_rows if r.tuner == tuner) for tuner in found.tuners}
    assert found.best == max(worst, key=lambda tuner: worst[tuner])
    at = found.to_dataset().sel(tuner="vari", coordinate="x[1]")
    assert float(at["n_eff"]) == row.ess
    assert float(at["scale_sd"]) == row.scale_sd
    for shown in (str(found), found._repr_html_()):
        assert "As in Tran &" in shown
        assert "x[1]" in shown
    assert max(map(len, str(found).splitlines())) <= 100
