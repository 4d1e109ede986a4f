"""Chains that a run cut short leaves out of its result: few, and never in silence."""

from types import SimpleNamespace

import pytest

from grhmc.diagnosis.left_out import find_left_out_chains
from grhmc.run.interrupt import worth_keeping


@pytest.mark.parametrize(
    ("lengths", "kept"),
    [
        ([1000, 1000, 1000, 250], [0, 1, 2, 3]),  # three whole chains would have more draws
        ([1000, 1000, 249, 1000], [0, 1, 3]),
        ([500, 0, 0], [0]),
        ([0, 0], [0, 1]),
        ([7], [0]),
    ],
)
def test_chains_with_a_quarter_of_the_draws_of_the_longest_are_kept(lengths, kept):
    records = [SimpleNamespace(chain=chain, n_draws=n_draws) for chain, n_draws in enumerate(lengths)]
    assert [record.chain for record in worth_keeping(records)] == kept  # type: ignore[arg-type]


def test_a_result_that_lacks_chains_is_in_doubt():
    (finding,) = find_left_out_chains({"left_out_chains": "2 (290 draws), 3 (0 draws)", "stopped_by": "max_time=8"})
    assert finding.severity == "warning"
    assert finding.value == 2.0
    assert "by max_time=8" in finding.message
    assert "2 (290 draws), 3 (0 draws)" in finding.message
    assert find_left_out_chains({"stopped_by": "max_time=8"}) == []
