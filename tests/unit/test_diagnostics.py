"""Effective sample sizes are ArviZ's, under the names that the user gave."""

import arviz_stats
import numpy as np
import pytest
import xarray
from rich.console import Console
from scipy.signal import lfilter

import synthetic_runs
from grhmc.cli.summary_table import summary_table
from grhmc.models import LogDensity, Variable
from grhmc.results import build_datatree
from grhmc.results.summaries import (
    effective_sample_size,
    effective_sample_sizes,
    error_of_sd,
    iterate_parameters,
    largest_r_hat,
    summary,
)

N_CHAINS, N_DRAWS = 4, 2000


def autoregressive_result(coefficients=(0.0, 0.7, -0.5), n_chains: int = N_CHAINS):
    """Draws from AR(1) processes with N(0, 1) margins: their ESS for the mean is known."""
    records = []
    coefficients = np.array(coefficients)
    for chain in range(n_chains):
        rng = np.random.default_rng(chain)
        noise = rng.standard_normal((N_DRAWS, len(coefficients)))
        draws = noise.copy()
        for i in range(1, N_DRAWS):
            draws[i] = coefficients * draws[i - 1] + np.sqrt(1 - coefficients**2) * noise[i]
        records.append(synthetic_runs.make_record(chain, draws))
    model = synthetic_runs.make_model(["a", "b[1,2]", "c"])
    return build_datatree(records, model, {})


def test_ess_of_the_mean_is_that_of_an_autoregression():
    sizes = effective_sample_sizes(autoregressive_result())
    assert list(sizes) == ["a", "b[1,2]", "c"]
    for size, coefficient in zip(sizes.values(), (0.0, 0.7, -0.5), strict=True):
        exact = N_CHAINS * N_DRAWS * (1 - coefficient) / (1 + coefficient)
        assert size.mean == pytest.approx(exact, rel=0.25)
        assert size.bulk == pytest.approx(exact, rel=0.25)


def test_ess_of_the_square_sees_that_antithetic_draws_help_the_mean_only():
    size = effective_sample_sizes(autoregressive_result())["c"]
    exact = N_CHAINS * N_DRAWS * (1 - 0.25) / (1 + 0.25)  # the square's autocorrelation is φ²
    assert size.q2 == pytest.approx(exact, rel=0.25)
    assert size.mean > 1.5 * N_CHAINS * N_DRAWS
    assert size.worst == min(size.bulk, size.tail, size.q2)


def test_ess_agrees_with_arviz():
    result = autoregressive_result()
    values = result["posterior"].to_dataset()["a"].values
    size = effective_sample_sizes(result)["a"]
    assert size.bulk == float(arviz_stats.ess(values, method="bulk"))
    assert size.tail == float(arviz_stats.ess(values, method="tail", prob=(0.05, 0.95)))


def test_the_summary_has_a_row_per_parameter_and_agrees_with_the_ess():
    result = autoregressive_result()
    table = summary(result)
    sizes = effective_sample_sizes(result)
    assert list(table.index) == list(sizes)
    assert list(table.columns) == [
        "mean", "sd", "5%", "95%", "ess_bulk", "ess_tail", "r_hat", "mcse_mean", "mcse_sd",
    ]  # fmt: skip
    assert np.array_equal(table["ess_bulk"], [size.bulk for size in sizes.values()])
    assert np.array_equal(table["ess_tail"], [size.tail for size in sizes.values()])
    values = result["posterior"].to_dataset()["c"].values
    assert table.loc["c", "5%"] == pytest.approx(np.quantile(values, 0.05), abs=0.01)
    assert table.loc["c", "mean"] == pytest.approx(values.mean())


def test_labels_are_the_same_everywhere():
    model = LogDensity(
        7,
        1,
        variables=[Variable("beta", (2,), ("name",)), Variable("L", (2, 2)), Variable("s", ())],
        coords={"name": ["age", "glu"]},
    )
    result = build_datatree([synthetic_runs.make_record(dim=7)], model, {})
    labels = ["beta[age]", "beta[glu]", "L[0, 0]", "L[0, 1]", "L[1, 0]", "L[1, 1]", "s"]
    parameters = list(iterate_parameters(result))
    assert [parameter.label for parameter in parameters] == labels
    assert [parameter.coordinate_name for parameter in parameters] == list(model.coordinate_names)
    assert list(summary(result).index) == labels
    assert list(summary(result, coords={"name": "age"}, var_names="beta").index) == ["beta"]


def test_repeated_labels_give_way_to_indices():
    model = LogDensity(2, 1, variables=[Variable("beta", (2,), ("name",))], coords={"name": ["a", "a"]})
    result = build_datatree([synthetic_runs.make_record(dim=2)], model, {})
    assert list(effective_sample_sizes(result)) == ["beta[0]", "beta[1]"]


def test_variables_without_entries_are_left_out():
    result = synthetic_runs.make_result(2, {"none": (0,), "v": (3,)})
    assert list(summary(result).index) == ["v[0]", "v[1]", "v[2]"]
    assert len(effective_sample_sizes(result)) == 3


def test_a_parameter_that_does_not_vary_has_no_ess():
    draws = np.random.default_rng(0).standard_normal((50, 3))
    draws[:, 1] = 1.0
    records = [synthetic_runs.make_record(chain, draws * (chain + 1)) for chain in range(2)]
    for record in records:
        record.draws[:, 1] = 1.0
    result = build_datatree(records, synthetic_runs.make_model(["a", "one", "c"]), {})
    assert np.isnan(effective_sample_sizes(result)["one"].worst)
    assert np.isnan(summary(result).loc["one", "r_hat"])  # and no warning
    assert np.isfinite(largest_r_hat(result))


@pytest.mark.parametrize("n_draws", [1, 3])
def test_too_few_draws_have_no_ess(n_draws):
    size = effective_sample_size(np.random.default_rng(0).standard_normal((4, n_draws)))
    assert np.isnan([size.bulk, size.tail, size.mean, size.q2]).all()


def test_chains_that_disagree_have_a_large_r_hat():
    records = [
        synthetic_runs.make_record(chain, np.random.default_rng(chain).normal(chain, 1, (100, 3))) for chain in range(4)
    ]
    result = build_datatree(records, synthetic_runs.make_model(), {})
    assert largest_r_hat(result) > 1.2
    assert largest_r_hat(autoregressive_result((0.0, 0.1, 0.2))) < 1.02


def test_one_chain_has_no_r_hat():
    assert np.isnan(largest_r_hat(synthetic_runs.make_result(1)))


def test_the_samplers_own_coordinates_can_be_summarized():
    table = summary(autoregressive_result(), group="unconstrained_posterior")
    assert list(table.index) == ["position[a]", "position[b[1,2]]", "position[c]"]


def test_what_is_missing_is_named():
    result = autoregressive_result()
    with pytest.raises(ValueError, match=r"no group 'prior'; it has 'posterior'"):
        summary(result, group="prior")
    with pytest.raises(ValueError, match=r"var_names has 'z', which .* it has 'a'"):
        summary(result, ["a", "z"])
    empty = build_datatree([synthetic_runs.make_record(n_draws=0)], synthetic_runs.make_model(), {})
    with pytest.raises(ValueError, match="has no draws: the run ended before the first one"):
        effective_sample_sizes(empty)


def test_nothing_of_the_result_is_changed():
    result = autoregressive_result()
    before = result.copy(deep=True)
    summary(result)
    effective_sample_sizes(result)
    xarray.testing.assert_identical(result, before)


def test_nothing_in_the_summary_is_rounded():
    """Newer ArviZ rounds by itself: an R-hat of 1.035 was printed as 1.0."""
    result = autoregressive_result()
    table = summary(result)
    for name, values in result["posterior"].to_dataset().items():
        row = table.loc[name if name in table.index else f"{name}[1,2]"]
        assert row["r_hat"] == float(arviz_stats.rhat(values.values))
        assert row["mcse_mean"] == float(arviz_stats.mcse(values.values, method="mean"))
        assert row["mcse_sd"] == error_of_sd(values.values)
        assert (row["mean"], row["sd"]) == (values.values.mean(), values.values.std())


@pytest.mark.statistical
@pytest.mark.parametrize("coefficient", [-0.7, 0.0, 0.7])
def test_the_error_of_an_sd_is_how_far_it_is_off(coefficient):
    """Of 300 runs of autoregressions, root mean square in standard errors; its own standard error is 0.04."""
    ours, of_arviz = [], []
    for seed in range(300):
        noise = np.random.default_rng(seed).standard_normal((4, 500)) * np.sqrt(1.0 - coefficient**2)
        noise[:, 0] /= np.sqrt(1.0 - coefficient**2)  # from the stationary law
        series = np.asarray(lfilter([1.0], [1.0, -coefficient], noise, axis=1))
        error = series.std() - 1.0
        ours.append(error / error_of_sd(series))
        of_arviz.append(error / float(arviz_stats.mcse(series, method="sd")))
    assert np.sqrt(np.mean(np.square(ours))) == pytest.approx(1.0, abs=0.15)
    if coefficient < 0.0:  # the negative control
        assert np.sqrt(np.mean(np.square(of_arviz))) > 1.5


def test_the_printed_summary_keeps_the_digits_of_r_hat():
    records = [synthetic_runs.make_record(c, np.random.default_rng(c).normal(0.35 * c, 1, (400, 3))) for c in range(2)]
    table = summary(build_datatree(records, synthetic_runs.make_model(), {}))
    r_hat = table["r_hat"].iloc[0]
    assert 1.005 < r_hat < 1.095
    console = Console(width=120, color_system=None)
    with console.capture() as capture:
        console.print(summary_table(table))
    assert f"{r_hat:.3f}" in capture.get()
