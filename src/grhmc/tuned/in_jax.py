"""A metric for NumPyro and BlackJAX."""

from __future__ import annotations

from typing import Any

import numpy as np

from grhmc.tuned.origin import Origin, reordered


def numpyro_arguments(matrix: np.ndarray, origin: Origin) -> dict[str, Any]:
    """Arguments of NumPyro's kernels; for `Tuned.for_numpyro`."""
    is_dense = matrix.ndim == 2
    if not origin.sites:
        return {"inverse_mass_matrix": matrix, "dense_mass": is_dense, "adapt_mass_matrix": False}
    # One block with all sites, which NumPyro flattens in the order in which their names are given.
    names = tuple(name for name, _ in origin.sites)
    return {
        "inverse_mass_matrix": {names: matrix},
        "dense_mass": [names] if is_dense else False,
        "adapt_mass_matrix": False,
    }


def blackjax_matrix(matrix: np.ndarray, origin: Origin) -> np.ndarray:
    """The matrix in the order of the flattened position; for `Tuned.for_blackjax`."""
    return reordered(matrix, origin.sorted_sites()) if origin.sites else matrix
