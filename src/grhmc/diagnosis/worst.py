"""The parameter with the fewest effective draws and the one with the largest R-hat."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from grhmc.diagnosis.screening import Scalar, batch_mean_score, half_chain_score, suspicious_scalars
from grhmc.results.summaries import TAIL_PROBABILITIES


@dataclass(frozen=True)
class Worst:
    """Figures by ArviZ, as `summary` has them; of parameters that vary.

    Attributes
    ----------
    ess : float
        The smallest of bulk and tail ESS over all parameters; infinite where none varies.
    ess_variable : str
    smallest_ess, largest_ess : float
        Between which the same figure would be if any one of the chains had not been there, for as many draws; nan with
        one chain.
    rhat : float
        The largest R-hat over all parameters.
    rhat_variable : str
    """

    ess: float
    ess_variable: str
    smallest_ess: float
    largest_ess: float
    rhat: float
    rhat_variable: str


def worst_figures(variables: Mapping[str, np.ndarray]) -> Worst:
    """From draws of all variables, each of shape (chains, draws, ...).

    ArviZ is asked about the forty parameters that rough figures make the worst. A parameter that is not finite
    somewhere makes the ESS 0 and R-hat infinite.
    """
    import xarray

    arrays = {
        name: xarray.DataArray(values, dims=("chain", "draw", *(f"{name}_{axis}" for axis in range(values.ndim - 2))))
        for name, values in variables.items()
    }
    labelled = {
        name: array.assign_coords({dim: np.arange(size) for dim, size in zip(array.dims[2:], array.shape[2:])})  # noqa: B905
        for name, array in arrays.items()
    }
    not_finite = [name for name, values in variables.items() if values.dtype.kind == "f" and not _all_finite(values)]
    if not_finite:
        return Worst(0.0, not_finite[0], math.nan, math.nan, math.inf, not_finite[0])

    def score(standardized: np.ndarray) -> np.ndarray:
        return np.concatenate([batch_mean_score(standardized), half_chain_score(standardized)])

    scalars = suspicious_scalars(xarray.Dataset(labelled), score, limit=-1.0)
    if not scalars:
        return Worst(math.inf, "", math.nan, math.nan, 1.0, "")
    ess, rhat = _ess(scalars), _rhat(scalars)
    least, most = int(np.argmin(ess)), int(np.argmax(rhat))
    without = _ess_without_each_chain(scalars[least])
    return Worst(
        float(ess[least]),
        scalars[least].label,
        min(without, default=math.nan),
        max(without, default=math.nan),
        float(rhat[most]),
        scalars[most].label,
    )


def _all_finite(values: np.ndarray) -> bool:
    return bool(np.isfinite(values).all())


def _ess(scalars: list[Scalar]) -> np.ndarray:
    """The smaller of bulk and tail ESS of each."""
    from arviz_stats.base import array_stats

    values = np.stack([scalar.values for scalar in scalars], axis=-1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        bulk = array_stats.ess(values, chain_axis=0, draw_axis=1, method="bulk")
        tail = array_stats.ess(values, chain_axis=0, draw_axis=1, method="tail", prob=TAIL_PROBABILITIES)
    return np.nan_to_num(np.minimum(bulk, tail), nan=0.0)


def _rhat(scalars: list[Scalar]) -> np.ndarray:
    from arviz_stats.base import array_stats

    values = np.stack([scalar.values for scalar in scalars], axis=-1)
    if values.shape[0] == 1:  # the parts of the one chain
        half = values.shape[1] // 2
        values = values[0, : 2 * half].reshape(2, half, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.nan_to_num(np.asarray(array_stats.rhat(values, chain_axis=0, draw_axis=1)), nan=math.inf)


def _ess_without_each_chain(scalar: Scalar) -> list[float]:
    n_chains = len(scalar.values)
    if n_chains == 1:
        return []
    others = [Scalar(scalar.label, np.delete(scalar.values, chain, axis=0), scalar.index) for chain in range(n_chains)]
    return [float(value) * n_chains / (n_chains - 1) for value in _ess(others)]
