"""Read draws and counts out of what `grhmc.sample` returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import xarray


def unconstrained_draws(result: xarray.DataTree) -> np.ndarray:
    """The draws as one array, shape (chain, draw, dim)."""
    (values,) = result["unconstrained_posterior"].to_dataset().data_vars.values()
    return values.to_numpy()


def evaluations(result: xarray.DataTree) -> np.ndarray:
    """Gradients of the sampling phase, shape (chain,), as published counts have them.

    Without the one per draw by which the continuous process knows the log density of a draw within a step: the method
    does not need it.
    """
    counts = result["sample_stats"].to_dataset()["n_gradients"]
    return counts.sum("draw").to_numpy() - (counts.sizes["draw"] if result.attrs["process"] == "continuous" else 0)
