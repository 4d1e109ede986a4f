"""What is said of chains that were moved during warm-up: a note, or a warning where one chain alone found the place."""

from __future__ import annotations

import numpy as np
import pytest
import xarray

from grhmc.diagnosis.process import find_process_problems


@pytest.mark.parametrize(
    ("moves", "severity"),
    [
        ([0, 0, 0, 1], "note"),
        ([1, 0, 0, 1], "note"),
        ([1, 0, 1, 1], "warning"),
        ([1, 2, 1, 1], "warning"),
        ([0, 1], "note"),
    ],
)
def test_chains_moved_to_a_place_that_one_alone_found_are_warned_of(moves: list[int], severity: str) -> None:
    tuning = xarray.Dataset({"n_moves": ("chain", np.array(moves))}, coords={"chain": np.arange(len(moves))})
    (finding,) = find_process_problems(tuning, n_draws=1000, n_tune=0)
    assert (finding.code, finding.severity) == ("moved_chain", severity)
    assert finding.chains == tuple(np.flatnonzero(moves))
