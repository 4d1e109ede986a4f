"""Strong correlations that are left in the coordinates that were sampled in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grhmc.adaptation.low_rank import LowRank
from grhmc.diagnosis.report import NOTE, Finding
from grhmc.settings.metric import TUNERS_WITH_DIRECTIONS

if TYPE_CHECKING:
    import xarray

LARGEST_RATIO = 100.0
"""Of the largest to the smallest eigenvalue of the correlation matrix: trajectories are ten times as long then."""

_MOST_DRAWS, _DRAWS_PER_DIMENSION = 2000, 4
# The eigenvalues of independent normals differ by a factor of nine at most where there are so many draws.


def find_correlations(draws: np.ndarray, tuning: xarray.Dataset, metric: str, scale: str) -> list[Finding]:
    """A note where some direction is far wider than another once scale and directions are taken out.

    Parameters
    ----------
    draws : ndarray, shape (chains, draws, dim)
        Unconstrained.
    tuning : Dataset
        The group of that name.
    metric, scale : str
        The arguments of the run; empty where they are not known.
    """
    dim = draws.shape[2]
    rows = _some_finite_rows(draws)
    if dim < 2 or len(rows) < _DRAWS_PER_DIMENSION * dim or "scale" not in tuning:
        return []
    ratio = _eigenvalue_ratio(_standardized(rows, tuning))
    if not ratio > LARGEST_RATIO:
        return []
    rank = int(tuning["metric_rank"].max()) if "metric_rank" in tuning else 0
    message = (
        f"strong correlations are left: in the coordinates that were sampled in, one direction is about "
        f"{np.sqrt(ratio):.0f} times as wide as another, so that trajectories are that many times as long. "
        f"{_remedy(metric, scale, rank)}"
    )
    return [Finding("correlations", NOTE, message, value=float(ratio), limit=LARGEST_RATIO)]


def _some_finite_rows(draws: np.ndarray) -> np.ndarray:
    """About `_MOST_DRAWS` of the draws that are finite, evenly spaced; no copy is made of all."""
    is_finite = np.isfinite(draws.min(axis=2)) & np.isfinite(draws.max(axis=2))
    chain, draw = np.nonzero(is_finite)
    step = max(1, len(chain) // _MOST_DRAWS)
    return draws[chain[::step], draw[::step]]


def _standardized(rows: np.ndarray, tuning: xarray.Dataset) -> np.ndarray:
    """q̄ but for the centre, by the first chain's standardization."""
    first = tuning.isel(chain=0)
    scaled = rows / first["scale"].to_numpy()
    if "metric_directions" not in first:
        return scaled
    directions, eigenvalues = first["metric_directions"].to_numpy(), first["metric_eigenvalues"].to_numpy()
    known = np.isfinite(eigenvalues)
    return LowRank(directions[known], eigenvalues[known]).standardized(scaled)


def _eigenvalue_ratio(rows: np.ndarray) -> float:
    """Of the largest to the smallest eigenvalue of the correlation matrix; 1 where a coordinate is constant."""
    spread = rows.std(axis=0)
    if not np.all(spread > 0.0) or not np.all(np.isfinite(spread)):
        return 1.0
    standardized = (rows - rows.mean(axis=0)) / spread
    singular = np.linalg.svd(standardized, compute_uv=False)
    return float((singular[0] / singular[-1]) ** 2) if singular[-1] > 0.0 else np.inf


def _remedy(metric: str, scale: str, rank: int) -> str:
    """What to do about it."""
    if metric == "diagonal":
        return "Leave metric at its default ('auto'), or remove them by a linear transformation of the parameters."
    if scale not in TUNERS_WITH_DIRECTIONS:
        return f"Directions are not tuned with scale={scale!r}: use scale='geo'."
    if rank > 0:
        return (
            f"The metric has {rank} directions: raise max_rank if that is its limit. Otherwise correlations change "
            "from place to place, and only another parametrization helps."
        )
    return "Try metric='low_rank' and a longer tune; otherwise transform the parameters."
