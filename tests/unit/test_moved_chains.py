"""What is said of chains that were moved: a note, in other words where one chain alone found the place."""

from __future__ import annotations

import numpy as np
import pytest
import xarray

from grhmc.diagnosis.process import find_process_problems


@pytest.mark.parametrize(
    ("moves", "is_lone"),
    [([0, 0, 0, 1], False), ([1, 0, 0, 1], False), ([1, 0, 1, 1], True), ([1, 2, 1, 1], True), ([0, 1], False)],
)
def test_a_note_says_which_chains_were_moved_and_whether_one_alone_found_the_place(
    moves: list[int], is_lone: bool
) -> None:
    tuning = xarray.Dataset({"n_moves": ("chain", np.array(moves))}, coords={"chain": np.arange(len(moves))})
    (finding,) = find_process_problems(tuning, n_draws=1000, n_tune=0)
    assert (finding.code, finding.severity) == ("moved_chain", "note")
    assert finding.chains == tuple(np.flatnonzero(moves))
    assert ("found by one chain alone" in finding.message) == is_lone
