"""What is said of chains that were moved during warm-up: a note, or a warning where one chain alone found the place."""

from __future__ import annotations

import numpy as np
import pytest
import xarray

from grhmc.diagnosis.process import find_process_problems
from grhmc.tuning.moments import init_moments, is_settled


@pytest.mark.parametrize(
    ("moves", "from_modes", "severity"),
    [
        ([0, 0, 0, 1], [0, 0, 0, 1], "note"),
        ([1, 0, 0, 1], [1, 0, 0, 1], "note"),
        ([1, 0, 1, 1], [1, 0, 1, 1], "warning"),
        ([1, 0, 1, 1], [0, 0, 1, 1], "warning"),
        ([1, 0, 1, 1], [0, 0, 0, 1], "note"),  # two were on the way in
        ([1, 2, 1, 1], [1, 1, 1, 1], "warning"),
        ([0, 1], [0, 1], "note"),
    ],
)
def test_chains_moved_from_modes_to_a_place_that_one_alone_found_are_warned_of(
    moves: list[int], from_modes: list[int], severity: str
) -> None:
    tuning = xarray.Dataset(
        {"n_moves": ("chain", np.array(moves)), "n_moves_from_modes": ("chain", np.array(from_modes))},
        coords={"chain": np.arange(len(moves))},
    )
    (finding,) = find_process_problems(tuning, n_draws=1000, n_tune=0)
    assert (finding.code, finding.severity) == ("moved_chain", severity)
    assert finding.chains == tuple(np.flatnonzero(moves))


def test_a_path_in_a_mode_is_settled_and_one_on_the_way_in_is_not() -> None:
    moments = init_moments(2)
    assert not is_settled(moments)  # nothing was seen
    moments.weights[:] = 10.0
    moments.gradient_spread[:] = 10.0 * np.array([1.0, 4.0])
    moments.gradient_mean[:] = 0.1, -0.2
    assert is_settled(moments)
    moments.gradient_mean[1] = 5.0
    assert not is_settled(moments)
