"""A diagnosis of runs whose draws are known: each sign of trouble is found, and healthy runs are left alone."""

from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pytest

import grhmc
import synthetic_runs
from grhmc.diagnosis import ATTRIBUTE, Finding, record_diagnosis
from grhmc.diagnosis.energy import COMMON_E_BFMI_LIMIT, E_BFMI_LIMIT, energy_bfmi, fewest_paths
from grhmc.models.analytic import independent_normals
from grhmc.results import build_datatree

N_CHAINS, N_DRAWS = 4, 1000


def independent_draws(dim: int = 3) -> np.ndarray:
    return np.random.default_rng(1).standard_normal((N_CHAINS, N_DRAWS, dim))


def result_of(draws: np.ndarray, **changes: np.ndarray):
    """A result with these draws, shape (chains, draws, dim), and with changed statistics or tuning variables."""
    records = []
    for chain, rows in enumerate(draws):
        record = synthetic_runs.make_record(chain, rows, n_history=60)
        record.tuning["history_scale"] = np.tile(record.tuning["scale"], (60, 1))
        for name, values in changes.items():
            group = record.statistics if name in record.statistics else record.tuning
            group[name] = values[chain]
        records.append(record)
    model = synthetic_runs.make_model(None, draws.shape[-1])
    return build_datatree(records, model, {**synthetic_runs.ATTRIBUTES, "tune": 1000})


def warned_of(result) -> set[str]:
    return {finding.code for finding in grhmc.diagnose(result).warnings}


def test_independent_draws_are_healthy():
    report = grhmc.diagnose(result_of(independent_draws()))
    assert report.is_healthy
    assert str(report) == "Nothing suspicious was found."


def test_a_chain_that_is_elsewhere_is_named():
    draws = independent_draws()
    draws[2, :, 1] += 3.0
    report = grhmc.diagnose(result_of(draws))
    (finding,) = [finding for finding in report if finding.code == "r_hat"]
    assert finding.variables == ("x[1]",)
    assert finding.chains == (2,)
    assert finding.value > 1.1
    assert "chain 2 above all" in finding.message


def test_one_chain_that_drifts_has_an_r_hat_all_the_same():
    draws = independent_draws()[:1]
    draws[0, :, 0] += np.linspace(0.0, 3.0, N_DRAWS)
    (finding,) = [finding for finding in grhmc.diagnose(result_of(draws)) if finding.code == "r_hat"]
    assert "the parts of the chain disagree" in finding.message


def test_a_chain_with_a_far_lower_log_density_is_reported_as_stuck():
    lp = -np.random.default_rng(2).chisquare(3, (N_CHAINS, N_DRAWS))
    lp[3] -= 500.0
    report = grhmc.diagnose(result_of(independent_draws(), lp=lp))
    (finding,) = [finding for finding in report if finding.code == "stuck_chain"]
    assert finding.chains == (3,)


def test_slow_chains_have_too_few_effective_draws():
    draws = independent_draws()
    for i in range(1, N_DRAWS):
        draws[:, i, 0] = 0.98 * draws[:, i - 1, 0] + np.sqrt(1 - 0.98**2) * draws[:, i, 0]
    report = grhmc.diagnose(result_of(draws))
    (finding,) = [finding for finding in report if finding.code == "bulk_ess"]
    assert finding.severity == "warning"
    assert finding.value < 100
    assert finding.variables == ("x[0]",)
    assert "times as many draws" in finding.message


def test_a_short_run_of_good_draws_is_noted_not_warned_of():
    report = grhmc.diagnose(result_of(independent_draws()[:, :50]))
    assert report.is_healthy
    assert "bulk_ess" in {finding.code for finding in report.notes}


def test_hardly_any_draws_are_noted():
    assert grhmc.diagnose(result_of(independent_draws()[:, :5])).codes == ("few_draws",)
    assert grhmc.diagnose(result_of(independent_draws()[:, :0])).codes == ("few_draws",)


@pytest.mark.parametrize(("size", "share", "code"), [(5.0, 0.3, "energy_error"), (1.0, 0.3, "energy_error")])
def test_energy_that_changes_along_paths_is_warned_of(size, share, code):
    errors = np.where(np.random.default_rng(3).random((N_CHAINS, N_DRAWS)) < share, size, 0.05)
    assert code in warned_of(result_of(independent_draws(), energy_error=errors))


def test_a_single_path_through_a_narrow_place_is_no_alarm():
    errors = np.full((N_CHAINS, N_DRAWS), 0.05)
    errors[0, 17] = 3.0
    assert warned_of(result_of(independent_draws(), energy_error=errors)) == set()


def test_energy_errors_may_grow_with_the_square_root_of_the_dimension():
    rng = np.random.default_rng(4)
    errors = np.abs(rng.normal(0.0, 0.012 * np.sqrt(2000), (N_CHAINS, 200)))
    assert warned_of(result_of(rng.standard_normal((N_CHAINS, 200, 2000)), energy_error=errors)) == set()


def test_diverging_draws_are_counted():
    diverging = np.zeros((N_CHAINS, N_DRAWS), dtype=bool)
    diverging[1, 3:5] = True
    (finding,) = grhmc.diagnose(result_of(independent_draws(), diverging=diverging)).warnings
    assert (finding.code, finding.chains) == ("diverging", (1,))
    assert "2 count as diverging" in finding.message


def test_bounces_are_counted_from_the_end_of_warm_up():
    bounces, early = np.array([50, 0, 60, 3]), np.array([0, 0, 60, 3])
    (finding,) = grhmc.diagnose(result_of(independent_draws(), n_bounces=bounces, n_warmup_bounces=early))
    assert (finding.code, finding.chains) == ("bounces", (0,))
    few = grhmc.diagnose(result_of(independent_draws(), n_bounces=bounces // 50))
    assert few.is_healthy
    assert few.codes == ("bounces",)


def test_steps_at_their_floor_are_warned_of():
    assert warned_of(result_of(independent_draws(), n_floored=np.array([0, 1, 0, 0]))) == {"step_floor"}


def test_a_scale_that_still_moves_at_the_end_of_tuning_is_named():
    history = np.ones((N_CHAINS, 60, 3))
    history[:, :, 1] = np.geomspace(1000.0, 1.0, 60)
    scale = np.ones((N_CHAINS, 3))
    (finding,) = grhmc.diagnose(result_of(independent_draws(), history_scale=history, scale=scale)).warnings
    assert (finding.code, finding.variables) == ("scale_moving", ("x[1]",))


def test_an_event_rate_that_still_moves_at_the_end_of_tuning_is_warned_of():
    history = np.tile(np.geomspace(0.01, 0.3, 60), (N_CHAINS, 1))
    scales = {"history_scale": np.ones((N_CHAINS, 60, 3)), "scale": np.ones((N_CHAINS, 3))}
    assert warned_of(result_of(independent_draws(), history_event_rate=history, **scales)) == {"event_rate_moving"}


@pytest.mark.parametrize("degrees_of_freedom", [1, 2])
def test_heavy_tails_are_warned_of(degrees_of_freedom):
    draws = independent_draws()
    draws[:, :, 1] = np.random.default_rng(5).standard_t(degrees_of_freedom, (N_CHAINS, N_DRAWS))
    (finding,) = grhmc.diagnose(result_of(draws)).warnings
    assert (finding.code, finding.variables) == ("heavy_tails", ("x[1]",))


@pytest.mark.parametrize("share", [0.8, 0.95, 0.98])
def test_a_light_tail_much_wider_than_the_bulk_is_not_heavy_where_the_density_says_so(share):
    """A normal of sd 0.1 and one of sd 1: many draws are far out, and the density ends there."""

    def mixture(q):
        narrow, wide = np.log(share / 0.1) - 50.0 * q**2, np.log(1.0 - share) - 0.5 * q**2
        density = np.logaddexp(narrow, wide)
        return float(density.sum()), -q * (100.0 * np.exp(narrow - density) + np.exp(wide - density))

    rng = np.random.default_rng(11)
    draws = rng.standard_normal((N_CHAINS, N_DRAWS, 3))
    draws *= np.where(rng.random(draws.shape) < share, 0.1, 1.0)
    result, model = result_of(draws), grhmc.from_python(mixture, 3)
    assert "heavy_tails" in grhmc.diagnose(result).codes  # draws alone cannot tell
    assert "heavy_tails" not in grhmc.diagnose(result, model).codes
    record_diagnosis(result, model)
    assert "heavy_tails" not in grhmc.diagnose(result).codes  # what was found with the model is believed


@pytest.mark.parametrize(("freedom", "is_heavy"), [(1, True), (2, True), (3, False), (5, False)])
def test_the_density_far_out_tells_heavy_tails_from_light_ones(freedom, is_heavy):
    def student(q):
        return -0.5 * (freedom + 1) * float(np.log1p(q**2 / freedom).sum()), -(freedom + 1) * q / (freedom + q**2)

    draws = np.random.default_rng(12).standard_t(freedom, (N_CHAINS, N_DRAWS, 3))
    codes = grhmc.diagnose(result_of(draws), grhmc.from_python(student, 3)).codes
    assert ("heavy_tails" in codes) == is_heavy


def test_one_visit_far_out_that_makes_up_the_variance_is_warned_of():
    """A component thirty times as wide, seen once: its density is light, and its weight as good as unknown."""

    def mixture(q):
        narrow, wide = np.log(0.98 / 0.03) - 0.5 * (q / 0.03) ** 2, np.log(0.02) - 0.5 * q**2
        density = np.logaddexp(narrow, wide)
        return float(density.sum()), -q * (np.exp(narrow - density) / 0.03**2 + np.exp(wide - density))

    model, draws = grhmc.from_python(mixture, 3), 0.03 * independent_draws()
    assert "rare_excursions" not in grhmc.diagnose(result_of(draws), model).codes
    draws[2, 300:330, 1] *= 30.0
    (finding,) = [item for item in grhmc.diagnose(result_of(draws), model) if item.code == "rare_excursions"]
    assert (finding.severity, finding.variables) == ("warning", ("x[1]",))
    draws[:, ::33, 1] *= 30.0  # visited all the time
    draws[2, 300:330, 1] /= 30.0
    assert "rare_excursions" not in grhmc.diagnose(result_of(draws), model).codes


def test_r_hat_is_noted_before_it_is_warned_of():
    draws = independent_draws()
    for shift, severities in ((0.0, []), (0.4, ["note"]), (2.0, ["warning"])):
        draws[0, :, 0] += shift
        findings = [finding for finding in grhmc.diagnose(result_of(draws)) if finding.code == "r_hat"]
        assert [finding.severity for finding in findings] == severities
        draws[0, :, 0] -= shift


def test_exponential_tails_are_not_heavy():
    draws = np.random.default_rng(6).exponential(1.0, (N_CHAINS, N_DRAWS, 3))
    assert warned_of(result_of(draws)) == set()


def test_of_many_parameters_the_few_that_are_bad_are_found():
    draws = np.random.default_rng(7).standard_normal((N_CHAINS, 200, 3000))
    draws[1, :, 1234] += 4.0
    (finding,) = [finding for finding in grhmc.diagnose(result_of(draws)) if finding.code == "r_hat"]
    assert finding.variables == ("x[1234]",)


@pytest.mark.parametrize("momentum", ["fresh", "persistent"])
def test_e_bfmi_is_that_of_full_refreshments_whatever_the_process_keeps_of_a_momentum(momentum):
    """The variance of H of a 20-dimensional normal is 20, half of it kinetic; so is what a full refreshment changes."""
    model = independent_normals(np.ones(20)).log_density()
    process = grhmc.Discrete(momentum=momentum)
    result = grhmc.sample(model, process=process, draws=2000, seed=1, progress_bar=False)
    assert energy_bfmi(result["sample_stats"]["energy"].to_numpy(), 20) == pytest.approx(1.0, abs=0.1)


def test_energy_that_varies_far_more_than_a_refreshment_changes_it_is_warned_of():
    energy = np.cumsum(np.random.default_rng(9).standard_normal((N_CHAINS, N_DRAWS)), axis=1)
    assert "e_bfmi" in warned_of(result_of(independent_draws(), energy=energy))


def test_draws_of_one_path_count_once_and_a_draw_may_show_the_path_before():
    suspicious = np.array([[0, 1, 1, 1, 1, 0, 0, 1, 1, 1]], dtype=bool)
    events = np.array([[0, 1, 0, 0, 1, 1, 0, 0, 2, 1]])
    assert fewest_paths(suspicious, events) == 3
    assert fewest_paths(suspicious, np.zeros_like(events)) == 1
    assert fewest_paths(np.zeros_like(suspicious), events) == 0


@pytest.mark.parametrize(("e_bfmi", "is_low"), [(0.28, True), (0.8, False)])
def test_energy_of_all_chains_that_varies_too_much_is_a_warning_where_draws_are_few(e_bfmi, is_low):
    """And a note where they are enough. No chain by itself is below its own, lower limit."""
    rng, dim = np.random.default_rng(10), independent_draws().shape[-1]
    energy = math.sqrt(dim / e_bfmi) * rng.standard_normal((N_CHAINS, N_DRAWS))
    assert all(energy_bfmi(chain, dim) > E_BFMI_LIMIT for chain in energy)
    assert (energy_bfmi(energy, dim) < COMMON_E_BFMI_LIMIT) == is_low
    few = independent_draws()
    for draw in range(1, N_DRAWS):
        few[:, draw, 0] += 0.95 * few[:, draw - 1, 0]
    for draws, severities in ((few, ["warning"]), (independent_draws(), ["note"])):
        report = grhmc.diagnose(result_of(draws, energy=energy))
        assert ("bulk_ess" in report.codes) == (draws is few)
        assert [finding.severity for finding in report if finding.code == "e_bfmi"] == (severities if is_low else [])


def test_a_report_is_text_data_and_json():
    draws = independent_draws()
    draws[2, :, 1] += 3.0
    report = grhmc.diagnose(result_of(draws))
    assert str(report).startswith("Warnings:\n- [r_hat] R-hat of x[1] is")
    assert grhmc.Report.from_json(report.to_json()) == report
    assert [finding["code"] for finding in json.loads(report.to_json())] == list(report.codes)
    assert len(report) == len(list(report))


def test_names_are_escaped_where_a_report_is_html():
    report = grhmc.Report((Finding("r_hat", "warning", "R-hat of <script>alert(1)</script>"),))
    assert "<script>" not in report._repr_html_()
    assert "&lt;script&gt;" in report._repr_html_()


def test_one_warning_per_run_says_all_and_carries_the_report():
    draws = independent_draws()
    draws[2] += 3.0
    result = result_of(draws, n_floored=np.ones(N_CHAINS))
    with pytest.warns(grhmc.SamplingWarning, match=r"(?s)r_hat.*step_floor") as caught:
        record_diagnosis(result, None)
    assert len(caught) == 1
    report = grhmc.Report.from_json(result.attrs[ATTRIBUTE])
    assert isinstance(caught[0].message, grhmc.SamplingWarning)
    assert caught[0].message.report == report
    assert grhmc.diagnose(result) == report


def test_a_healthy_run_warns_of_nothing():
    result = result_of(independent_draws())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        record_diagnosis(result, None)
    assert result.attrs[ATTRIBUTE] == "[]"


def test_what_only_the_model_shows_is_kept_with_the_result():
    result = result_of(independent_draws())
    finding = Finding("wrong_gradient", "warning", "far out", ("x[0]",))
    result.attrs[ATTRIBUTE] = grhmc.Report((finding,)).to_json()
    (kept,) = grhmc.diagnose(result)
    assert kept.code == "wrong_gradient"


def test_what_is_no_result_is_rejected():
    result = result_of(independent_draws())
    del result["sample_stats"]
    with pytest.raises(ValueError, match="no group 'sample_stats'"):
        grhmc.diagnose(result)


def test_draws_that_do_not_vary_are_no_problem():
    draws = independent_draws()
    draws[:, :, 0] = 1.0
    assert warned_of(result_of(draws)) == set()
