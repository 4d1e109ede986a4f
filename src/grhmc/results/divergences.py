"""Where diverging trajectories start: positions that are among the draws, and need not be stored again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from grhmc.results.any_result import as_datatree, draws_of_group, find_statistic, is_of_grhmc

if TYPE_CHECKING:
    import xarray

MOST_PER_CHAIN = 1000
"""Divergences that are kept, evenly over the run."""

FLAGS = ("diverging", "divergent__", "is_divergent", "divergent")
"""What the flag is called: by ArviZ, PyMC, nutpie and this package, in Stan's files, by BlackJAX."""


def diverging_draws(result: xarray.DataTree) -> np.ndarray | None:
    """Which draws had a diverging trajectory, of shape (chains, draws); None if the result does not say."""
    found = find_statistic(result, FLAGS)
    return None if found is None else found.astype(bool)


def diverging_starts(diverging: np.ndarray, *, is_ours: bool) -> np.ndarray:
    """Flags at the draws where diverging trajectories started, or next to it; of shape (chains, draws).

    A trajectory starts at the draw before. Results of other samplers may be thinned, and there it is taken to be the
    draw that has the flag, as ArviZ's plots do. That of the first draw is taken for where it is itself.
    """
    if not is_ours or diverging.shape[1] < 2:
        return diverging.copy()
    starts = np.zeros_like(diverging)
    starts[:, :-1] = diverging[:, 1:]
    starts[:, 0] |= diverging[:, 0]
    return starts


def divergences(result: Any, *, most: int = MOST_PER_CHAIN) -> xarray.Dataset:
    """Positions where diverging trajectories started, unconstrained and constrained.

    Parameters
    ----------
    result : DataTree, InferenceData or Dataset
        From `sample`, or of another sampler that says which draws diverged.
    most : int
        Per chain; where there are more, so many evenly over the run.

    Returns
    -------
    xarray.Dataset
        The variables of ``posterior``, and ``position`` (the unconstrained ones, where the result has them), along the
        dimension ``divergence``, with the coordinates ``chain`` and ``draw`` of the starting points.

    Raises
    ------
    ValueError
        If the result does not say which draws diverged, or has no draws.

    Notes
    -----
    A diverging trajectory starts at a draw, so that nothing has to be stored beside the draws and the flags: a result
    read back, resumed or extended gives the same. With several trajectories between two draws it started after the
    draw that is given.
    """
    import xarray

    tree = as_datatree(result)
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise ValueError(f"most must be an integer of at least 1, got {most!r}")
    diverging = diverging_draws(tree)
    if diverging is None:
        raise ValueError(
            f"the result does not say which draws diverged: it has no group sample_stats with one of {', '.join(FLAGS)}"
        )
    starts = diverging_starts(diverging, is_ours=is_of_grhmc(tree))
    groups = [group for group in ("posterior", "unconstrained_posterior") if group in tree.children]
    datasets = [draws_of_group(tree, group) for group in groups]
    if not datasets or datasets[0].sizes["draw"] == 0:
        raise ValueError("the result has no draws")
    chains, draws = [], []
    for chain, flags in enumerate(starts):
        found = np.flatnonzero(flags)
        kept = found if len(found) <= most else found[np.linspace(0, len(found) - 1, most).astype(int)]
        chains.append(np.full(len(kept), chain))
        draws.append(kept)
    rows = xarray.DataArray(np.concatenate(chains), dims="divergence")
    columns = xarray.DataArray(np.concatenate(draws), dims="divergence")
    return xarray.merge([dataset.isel(chain=rows, draw=columns) for dataset in datasets], compat="override")
