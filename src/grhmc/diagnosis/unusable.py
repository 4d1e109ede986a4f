"""Draws that nothing can be computed from: values that are not finite, and chains that never moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grhmc.diagnosis.convergence import FEWEST_DRAWS
from grhmc.diagnosis.report import NOTE, WARNING, Finding, listed, listed_chains
from grhmc.diagnosis.screening import blocks_of_entries

if TYPE_CHECKING:
    import xarray

_POSITIONS = "unconstrained_posterior"


def find_unusable_draws(result: xarray.DataTree, log_density: np.ndarray) -> list[Finding]:
    """Draws with values that are not finite, by variable, and chains all of whose draws are the same.

    Parameters
    ----------
    result : DataTree
        With the group `posterior`, or `unconstrained_posterior`, or both.
    log_density : ndarray, shape (chains, draws)
    """
    group = "posterior" if "posterior" in result.children else _POSITIONS
    counts = {str(name): _unusable_by_entry(array) for name, array in result[group].to_dataset().items()}
    is_at_a_place = False
    findings = []
    if _POSITIONS in result.children:
        positions = result[_POSITIONS].to_dataset()
        is_at_a_place = all(not _unusable_by_entry(array).any() for array in positions.values())
        findings += _chains_that_never_moved(positions)
    else:
        findings += _chains_that_never_moved(result[group].to_dataset())
    return [*_not_finite(counts, log_density, is_at_a_place), *findings]


def _unusable_by_entry(array: xarray.DataArray) -> np.ndarray:
    """Draws of each entry that are not finite, as shares of all."""
    if array.dtype.kind not in "fc" or not array.size:
        return np.zeros(1)
    return 1.0 - np.concatenate([np.isfinite(block).mean(axis=(0, 1)) for _, block in blocks_of_entries(array)])


def _not_finite(shares: dict[str, np.ndarray], log_density: np.ndarray, is_at_a_place: bool) -> list[Finding]:
    """A warning; a note where only entries are concerned that no draw has a value of (never assigned by the model)."""
    n_without_density = int((~np.isfinite(log_density)).sum())
    names = [name for name in sorted(shares, key=lambda name: -shares[name].max(initial=0.0)) if shares[name].any()]
    if not names and not n_without_density:
        return []
    worst = {name: round(shares[name].max() * log_density.size) for name in names}
    is_constant = all(np.isin(shares[name], (0.0, 1.0)).all() for name in names)
    if is_at_a_place and is_constant and not n_without_density:
        message = (
            f"some entries of {listed(names)} are not finite in any draw, as where a model gives them no value. "
            "They are left out of the diagnosis."
        )
        return [Finding("not_finite", NOTE, message, tuple(names), (), 1.0, 0.0)]
    counted = listed([f"{count} of {name}" for name, count in worst.items()])
    what = counted or f"the log density of {n_without_density}"
    message = (
        f"of {log_density.size} draws some are nan or infinite: {what}. Means and quantiles are then nan, or leave "
        "these draws out, which conditions them on what did not fail. Look at what the model computes there: a "
        "division by 0, the logarithm of a negative number, an overflow, a solver that failed."
    )
    value = max([share.max(initial=0.0) for share in shares.values()], default=0.0)
    value = max(value, n_without_density / log_density.size)
    return [Finding("not_finite", WARNING, message, tuple(names), (), float(value), 0.0)]


def _chains_that_never_moved(positions: xarray.Dataset) -> list[Finding]:
    moved = np.zeros(positions.sizes["chain"], dtype=bool)
    for array in positions.values():
        for _, block in blocks_of_entries(array) if array.size else ():
            moved |= ((block != block[:, :1]) & ~np.isnan(block)).any(axis=(1, 2))
    if positions.sizes["draw"] < FEWEST_DRAWS or moved.all() or not any(array.size for array in positions.values()):
        return []
    chains = tuple(int(chain) for chain in positions["chain"].values[~moved])
    message = (
        f"all draws of {listed_chains(chains)} are the same: it never moved. Either it sits in a place that no step "
        "leads out of, or the step is far too long for the model. Start elsewhere (`init`), tune longer, or use "
        "process='continuous'."
    )
    return [Finding("stuck_chain", WARNING, message, (), chains)]
