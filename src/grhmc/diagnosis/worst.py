"""The parameter with the fewest effective draws and the one with the largest R-hat."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from grhmc.diagnosis.convergence import Figures, figures_of
from grhmc.diagnosis.screening import Scalar, all_finite, batch_mean_score, half_chain_score, suspicious_scalars


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

    labelled = {}
    for name, values in variables.items():
        axes = [f"{name}_{axis}" for axis in range(values.ndim - 2)]
        labels = {axis: np.arange(size) for axis, size in zip(axes, values.shape[2:], strict=True)}
        labelled[name] = xarray.DataArray(values, labels, ("chain", "draw", *axes))
    not_finite = [name for name, values in variables.items() if values.dtype.kind == "f" and not all_finite(values)]
    if not_finite:
        return Worst(0.0, not_finite[0], math.nan, math.nan, math.inf, not_finite[0])

    def score(standardized: np.ndarray) -> np.ndarray:
        return np.concatenate([batch_mean_score(standardized), half_chain_score(standardized)])

    scalars = suspicious_scalars(xarray.Dataset(labelled), score, limit=-1.0)
    if not scalars:
        return Worst(math.inf, "", math.nan, math.nan, 1.0, "")
    figures = figures_of(scalars)
    ess, rhat = _ess(figures), np.nan_to_num(figures.r_hat, nan=math.inf)
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


def _ess(figures: Figures) -> np.ndarray:
    """The smaller of bulk and tail ESS of each."""
    return np.nan_to_num(np.minimum(figures.bulk, figures.tail), nan=0.0)


def _ess_without_each_chain(scalar: Scalar) -> list[float]:
    n_chains = len(scalar.values)
    if n_chains == 1:
        return []
    others = [Scalar(scalar.label, np.delete(scalar.values, chain, axis=0), scalar.index) for chain in range(n_chains)]
    return [float(value) * n_chains / (n_chains - 1) for value in _ess(figures_of(others))]
