"""Whatever the draws are, they are diagnosed and summarized: no error, and nothing unusable is called healthy."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest

import grhmc
import synthetic_runs
from grhmc.diagnosis import record_diagnosis
from grhmc.results import build_datatree
from grhmc.results.summaries import effective_sample_sizes, largest_r_hat

DIM = 3


def one_chain_constant(draws: np.ndarray) -> None:
    draws[-1] = draws[-1, 0]


def one_chain_constant_far_out(draws: np.ndarray) -> None:
    draws[-1] = 30.0


def each_chain_constant(draws: np.ndarray) -> None:
    draws[:] = draws[:, :1]


def all_the_same(draws: np.ndarray) -> None:
    draws[:] = 1.0


def all_nan(draws: np.ndarray) -> None:
    draws[:] = np.nan


def one_nan(draws: np.ndarray) -> None:
    draws[0, 0, 0] = np.nan


def one_infinite(draws: np.ndarray) -> None:
    draws[0, 0, 0] = np.inf


def all_infinite(draws: np.ndarray) -> None:
    draws[:] = -np.inf


def half_infinite(draws: np.ndarray) -> None:
    draws[:, ::2] = np.inf
    draws[:, 1::2] = -np.inf


def huge(draws: np.ndarray) -> None:
    draws *= 1e300


def subnormal(draws: np.ndarray) -> None:
    draws *= 1e-320


def rounded(draws: np.ndarray) -> None:
    np.round(0.3 * draws, out=draws)


def one_outlier(draws: np.ndarray) -> None:
    draws[:] = draws[:, :1]
    draws[0, -1] += 1e6


CHANGES = [
    one_chain_constant,
    one_chain_constant_far_out,
    each_chain_constant,
    all_the_same,
    all_nan,
    one_nan,
    one_infinite,
    all_infinite,
    half_infinite,
    huge,
    subnormal,
    rounded,
    one_outlier,
]
SIZES = [(1, 1), (1, 3), (4, 4), (1, 19), (2, 20), (1, 300), (4, 300)]


def result_of(change: Callable[[np.ndarray], None], n_chains: int, n_draws: int):
    draws = np.random.default_rng(1).standard_normal((n_chains, n_draws, DIM))
    change(draws)
    records = [synthetic_runs.make_record(chain, rows, n_history=60) for chain, rows in enumerate(draws)]
    for record in records:
        record.tuning["history_scale"] = np.tile(record.tuning["scale"], (60, 1))
    return build_datatree(records, synthetic_runs.make_model(None, DIM), {**synthetic_runs.ATTRIBUTES, "tune": 1000})


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_no_draws_make_the_diagnosis_or_a_summary_fail(change: Callable[[np.ndarray], None]) -> None:
    """With every warning an error, as in a careful user's program."""
    model = synthetic_runs.make_model(None, DIM)
    for size in SIZES:
        result = result_of(change, *size)
        grhmc.diagnose(result)
        grhmc.diagnose(result, model)
        assert len(grhmc.summary(result)) == DIM
        effective_sample_sizes(result)
        largest_r_hat(result)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", grhmc.SamplingWarning)
            record_diagnosis(result, model)
        assert grhmc.Report.from_json(result.attrs["diagnosis"]) is not None


def test_a_heavy_tail_of_equal_values_does_not_stop_the_diagnosis() -> None:
    """ArviZ fits no distribution to a tail of one value, which is what a chain that cannot move leaves there."""
    report = grhmc.diagnose(result_of(one_chain_constant_far_out, 4, 1000))
    assert {"r_hat", "stuck_chain"} <= {finding.code for finding in report.warnings}


@pytest.mark.parametrize("change", [all_nan, one_nan, one_infinite, all_infinite, half_infinite])
@pytest.mark.parametrize("size", [(1, 1), (4, 300)])
def test_draws_that_are_not_finite_are_never_healthy(
    change: Callable[[np.ndarray], None], size: tuple[int, int]
) -> None:
    (finding,) = [item for item in grhmc.diagnose(result_of(change, *size)).warnings if item.code == "not_finite"]
    assert finding.variables == ("x",)


def test_draws_that_are_not_finite_are_counted() -> None:
    (finding,) = grhmc.diagnose(result_of(one_nan, 4, 300)).warnings
    assert "1 of x" in finding.message
    assert finding.value == pytest.approx(1 / 1200)


def test_an_entry_that_the_model_never_assigns_is_noted() -> None:
    """As Stan leaves the upper triangle of a matrix of generated quantities."""
    result = result_of(lambda draws: None, 4, 300)
    posterior = result["posterior"].to_dataset()
    posterior["y"] = posterior["x"].where(posterior["x"].coords[posterior["x"].dims[2]] != 1)
    result["posterior"] = posterior
    report = grhmc.diagnose(result)
    assert report.is_healthy
    assert report.codes == ("not_finite",)
    posterior["y"][0, 5, 0] = np.nan
    result["posterior"] = posterior
    assert [finding.code for finding in grhmc.diagnose(result).warnings] == ["not_finite"]


@pytest.mark.parametrize("n_chains", [1, 4])
def test_chains_that_never_moved_are_warned_of(n_chains: int) -> None:
    (finding,) = [item for item in grhmc.diagnose(result_of(all_the_same, n_chains, 300)) if item.code == "stuck_chain"]
    assert finding.chains == tuple(range(n_chains))


def test_draws_of_a_coordinate_in_a_place_of_its_own_count_as_moves() -> None:
    assert grhmc.diagnose(result_of(lambda draws: None, 4, 300)).is_healthy
