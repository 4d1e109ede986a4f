"""Pick the parameters most in need of an exact diagnosis: one cheap pass over all draws, however many parameters.

ArviZ's figures cost about 10 ms per parameter, and importing it a second. Where rough figures are good several times
over, the exact ones are not asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import xarray

MAX_EXAMINED = 40
"""Parameters that get the exact figures."""

_N_BATCHES = 10
_TAIL = 1.6
# Standard deviations from the mean.
_LARGEST_DEVIATION = 3.0
# Standard deviations beyond which an excursion counts no more: one of them must not hide all else.
_BLOCK_ENTRIES = 1_000_000
# Entries of a variable looked at at a time: 8 MB.
_ROUNDING = 1e-12
# A correlation matrix's diagonal varies by less.

Score = Callable[[np.ndarray], np.ndarray]
"""From standardized draws (chains, draws, entries) to scores (n_scores, entries): large is suspicious."""


@dataclass(frozen=True, eq=False)
class Scalar:
    """The draws of one scalar that varies; `values` has shape (chains, draws), `index` is flat within its variable."""

    label: str
    values: np.ndarray
    index: int


def suspicious_scalars(dataset: xarray.Dataset, score: Score, limit: float) -> list[Scalar]:
    """The scalars of a group with a score above a limit; at most about `MAX_EXAMINED`, those with the highest.

    Parameters
    ----------
    dataset : xarray.Dataset
        Variables over (chain, draw, ...).
    score : callable
        See `Score`.
    limit : float
    """
    places: list[tuple[str, int]] = []
    blocks: list[np.ndarray] = []
    for name, first, values in _blocks(dataset):
        standardized, varies = _standardize(values)
        found = score(standardized)
        indices = np.flatnonzero(varies & (found.max(axis=0) > limit))
        places += [(name, first + int(index)) for index in indices]
        blocks.append(found[:, indices])
    if not places:
        return []
    scores = np.concatenate(blocks, axis=1)
    chosen = np.arange(len(places))
    if len(places) > MAX_EXAMINED:
        chosen = np.unique(np.argsort(-scores, axis=1)[:, : MAX_EXAMINED // len(scores)])
    return [_scalar(dataset, *places[index]) for index in chosen]


def batch_mean_score(standardized: np.ndarray) -> np.ndarray:
    """Draws per effective draw, roughly, in the bulk and in the tails; shape (2, entries).

    From the variance of batch means over all chains: what few effective draws and chains that disagree have in common.
    """
    n_chains, n_draws, n_entries = standardized.shape
    size = max(1, n_draws // _N_BATCHES)
    n_batches = n_draws // size
    scores = []
    for quantity in (
        np.clip(standardized, -_LARGEST_DEVIATION, _LARGEST_DEVIATION),
        (np.abs(standardized) > _TAIL).astype(np.float64),
    ):
        batches = quantity[:, : n_batches * size].reshape(n_chains, n_batches, size, n_entries).mean(axis=2)
        within = quantity.var(axis=(0, 1))
        scores.append(size * batches.var(axis=(0, 1)) / np.where(within > 0.0, within, np.inf))
    return np.stack(scores)


def half_chain_score(standardized: np.ndarray) -> np.ndarray:
    """How far the means of half-chains are apart: their variance in variances, about R-hat² − 1; shape (1, entries)."""
    n_chains, n_draws, n_entries = standardized.shape
    half = n_draws // 2
    means = standardized[:, : 2 * half].reshape(n_chains * 2, half, n_entries).mean(axis=1)
    return means.var(axis=0, ddof=1)[np.newaxis]


def deviations(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Standard deviation and largest deviation from the mean of each coordinate of draws (chains, draws, dim)."""
    spread, largest = np.zeros(draws.shape[2]), np.zeros(draws.shape[2])
    for columns, block in blocks_of_coordinates(draws):
        points = block.reshape(-1, block.shape[2])
        spread[columns] = points.std(axis=0)
        largest[columns] = np.abs(points - points.mean(axis=0)).max(axis=0)
    return spread, largest


def blocks_of_coordinates(draws: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Which coordinates, and draws (chains, draws, coordinates): some of them at a time, of draws (chains, draws, dim).

    For functions that would copy all draws. Even a reshape does so where the warm-up lies between chains in memory.
    """
    step = max(1, _BLOCK_ENTRIES // (draws.shape[0] * draws.shape[1]))
    for first in range(0, draws.shape[2], step):
        columns = slice(first, first + step)
        yield columns, draws[:, :, columns]


def correlations(draws: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Correlation matrix of the coordinates of draws (chains, draws, dim) that vary, without a copy of all draws."""
    varies = spread > 0.0
    mean = draws.mean(axis=(0, 1))[varies]
    step = max(1, _BLOCK_ENTRIES // draws.shape[2])
    total = np.zeros((len(mean), len(mean)))
    for chain in draws:
        for first in range(0, len(chain), step):
            standardized = (chain[first : first + step, varies] - mean) / spread[varies]
            total += standardized.T @ standardized
    return total / (draws.shape[0] * draws.shape[1])


def all_finite(draws: np.ndarray) -> bool:
    """Whether all of them are, without an array of as many flags."""
    return bool(np.isfinite(draws.min()) and np.isfinite(draws.max()))


def _blocks(dataset: xarray.Dataset) -> Iterator[tuple[str, int, np.ndarray]]:
    """Variables as (chains, draws, entries), a block of entries at a time, with the first entry's number."""
    for name, array in dataset.data_vars.items():
        if array.dtype.kind not in "fiu" or not array.size:
            continue
        for entries, block in blocks_of_entries(array):
            yield str(name), entries.start, block


def blocks_of_entries(array: xarray.DataArray) -> Iterator[tuple[slice, np.ndarray]]:
    """The same of a variable that is not empty: which of its entries, and (chains, draws, entries)."""
    values = array.transpose("chain", "draw", ...).to_numpy()
    yield from blocks_of_coordinates(values.reshape(*values.shape[:2], -1))


def _standardize(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Standardized draws, 0 where nothing varies or something is not finite, and which entries vary."""
    with np.errstate(all="ignore"):
        mean = values.mean(axis=(0, 1))
        standardized = values - mean
        spread = np.abs(standardized).max(axis=(0, 1))
        varies = np.isfinite(spread) & (spread > _ROUNDING * np.abs(mean))
        standardized /= np.where(varies, spread, 1.0)  # so that squares of large numbers do not overflow
        standardized /= np.where(varies, standardized.std(axis=(0, 1)), 1.0)
    standardized[:, :, ~varies] = 0.0
    return standardized, varies


def _scalar(dataset: xarray.Dataset, name: str, index: int) -> Scalar:
    array = dataset[name].transpose("chain", "draw", ...)
    values = array.to_numpy()
    values = values.reshape(*values.shape[:2], -1)[:, :, index]
    if array.ndim == 2:
        return Scalar(name, values, index)
    position = np.unravel_index(index, array.shape[2:])
    labels = [str(array[dim].values[i]) for dim, i in zip(array.dims[2:], position, strict=True)]
    return Scalar(f"{name}[{', '.join(labels)}]", values, index)
