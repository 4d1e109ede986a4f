"""Judge a run: posterior summaries, and ArviZ's effective sample sizes and errors."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from grhmc._terminal import without_control_characters
from grhmc.results.any_result import as_datatree, draws_of_group

if TYPE_CHECKING:
    import pandas
    import xarray

TAIL_PROBABILITIES = (0.05, 0.95)
"""Quantiles whose ESS the tail ESS is the smaller of."""


@dataclass(frozen=True)
class EffectiveSampleSizes:
    """How many independent draws the draws of one parameter are worth, by what is estimated.

    Attributes
    ----------
    bulk, tail : float
        Rank-normalized, and of the 5 % and 95 % quantiles (Vehtari et al. 2021).
    mean : float
        Of the posterior mean.
    q2 : float
        Of the posterior variance: bulk ESS of (x - mean)².
    """

    bulk: float
    tail: float
    mean: float
    q2: float

    @property
    def worst(self) -> float:
        """The smallest of bulk, tail and q2; nan for a parameter that does not vary."""
        return min(self.bulk, self.tail, self.q2)


@dataclass(frozen=True, eq=False)
class ParameterDraws:
    """The draws of one scalar.

    Attributes
    ----------
    label : str
        As `summary` shows it: ``beta[2]``, or ``beta[age]`` where the axis has labels.
    variable : str
        Of the model.
    index : tuple of int
        In the variable, from 0.
    values : ndarray, shape (chains, draws)
    """

    label: str
    variable: str
    index: tuple[int, ...]
    values: np.ndarray

    @property
    def coordinate_name(self) -> str:
        """With indices, as models name their coordinates: ``beta[2]``, ``L[0,1]``."""
        return self.named_from(0)

    def named_from(self, first: int) -> str:
        """With indices that begin with `first`: Stan's begin with 1."""
        return f"{self.variable}[{','.join(str(i + first) for i in self.index)}]" if self.index else self.variable


def metric_rank(result: xarray.DataTree) -> int:
    """k, the directions that were stretched on top of the scale; the largest over chains."""
    tuning = result.children.get("tuning")
    return 0 if tuning is None or "metric_rank" not in tuning else int(tuning["metric_rank"].to_numpy().max())


def summary(
    result: Any,
    var_names: str | Sequence[str] | None = None,
    *,
    group: str = "posterior",
    coords: Mapping[str, Any] | None = None,
) -> pandas.DataFrame:
    """Summarize the posterior: one row per scalar parameter.

    Parameters
    ----------
    result : DataTree, InferenceData or Dataset
        From `sample`, or of any other sampler, as ArviZ holds draws.
    var_names : str or sequence of str, optional
        Variables to show; all by default.
    group : str
        ``"unconstrained_posterior"`` for the sampler's own coordinates.
    coords : mapping, optional
        Subset of labels along dims.

    Returns
    -------
    pandas.DataFrame
        Columns mean, sd, 5%, 95%, ess_bulk, ess_tail, r_hat, mcse_mean, mcse_sd; not rounded. The last five are nan
        for a parameter that does not vary, is not finite in some draw, or has fewer than four draws.

    Raises
    ------
    ValueError
        If the result lacks the group or a variable, or has no draws.
    """
    import pandas

    dataset = _dataset_with_draws(as_datatree(result), group)
    if var_names is not None:
        names = [var_names] if isinstance(var_names, str) else list(var_names)
        missing = [name for name in names if name not in dataset]
        if missing:
            raise ValueError(
                f"var_names has {', '.join(map(repr, missing))}, which the group {group!r} lacks; "
                f"it has {', '.join(map(repr, dataset.data_vars))}"
            )
        dataset = dataset[names]
    if coords is not None:
        dataset = dataset.sel(dict(coords))
    # Not by `arviz_stats.summary`: what it rounds, and how it says that nothing is to be rounded, differs by version.
    parameters = list(_parameters(dataset))
    # Labels come from models and files, and tables are printed in terminals.
    labels = [without_control_characters(parameter.label) for parameter in parameters]
    rows = [_summary_row(np.asarray(parameter.values, dtype=np.float64)) for parameter in parameters]
    return pandas.DataFrame(rows, index=labels, columns=list(_SUMMARY_COLUMNS), dtype=np.float64)


_SUMMARY_COLUMNS = ("mean", "sd", "5%", "95%", "ess_bulk", "ess_tail", "r_hat", "mcse_mean", "mcse_sd")


def _summary_row(values: np.ndarray) -> list[float]:
    """What `summary` says of one scalar's draws, shape (chains, draws)."""
    import arviz_stats

    ess = effective_sample_size(values)
    r_hat, *errors = (np.nan, np.nan, np.nan)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)  # squares of huge draws, infinite draws
        if np.isfinite(ess.bulk):
            r_hat = float(arviz_stats.rhat(values))
            errors = [float(arviz_stats.mcse(values, method="mean")), error_of_sd(values)]
        quantiles = [float(np.quantile(values, probability)) for probability in TAIL_PROBABILITIES]
        return [float(values.mean()), float(values.std()), *quantiles, ess.bulk, ess.tail, r_hat, *errors]


def error_of_sd(values: np.ndarray) -> float:
    """Monte Carlo standard error of a standard deviation, of one scalar's draws, shape (chains, draws).

    From the effective sample size of squares of distances from the mean. `arviz_stats.mcse` takes that of the draws,
    which is larger by far where successive draws are on opposite sides of the mean, as those of Hamiltonian dynamics.
    """
    import arviz_stats

    squares = (values - values.mean()) ** 2
    return float(squares.std() / (2.0 * values.std() * np.sqrt(arviz_stats.ess(squares, method="mean"))))


def effective_sample_sizes(result: xarray.DataTree, group: str = "posterior") -> dict[str, EffectiveSampleSizes]:
    """Effective sample sizes of every scalar parameter, over all chains.

    Parameters
    ----------
    result : DataTree
        From `sample`.
    group : str
        ``"unconstrained_posterior"`` for the sampler's own coordinates.

    Returns
    -------
    dict of str to EffectiveSampleSizes
        By label, as in `summary`. All are nan for a parameter that does not vary (such as the
        diagonal of a correlation matrix), and with fewer than four draws.
    """
    return {parameter.label: effective_sample_size(parameter.values) for parameter in iterate_parameters(result, group)}


def effective_sample_size(values: np.ndarray) -> EffectiveSampleSizes:
    """Effective sample sizes of one scalar's draws, shape (chains, draws)."""
    import arviz_stats

    if values.shape[1] < 4 or not np.all(np.isfinite(values)) or np.ptp(values) == 0.0:
        return EffectiveSampleSizes(np.nan, np.nan, np.nan, np.nan)

    def ess(draws: np.ndarray, method: str, prob: tuple[float, float] | None = None) -> float:
        return float(arviz_stats.ess(draws, method=method, prob=prob))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # squares of huge draws, which overflow
        return EffectiveSampleSizes(
            bulk=ess(values, "bulk"),
            tail=ess(values, "tail", TAIL_PROBABILITIES),
            mean=ess(values, "mean"),
            q2=ess((values - values.mean()) ** 2, "bulk"),
        )


def largest_r_hat(result: xarray.DataTree, group: str = "posterior") -> float:
    """Rank-normalized split R-hat of the parameter where it is largest; nan with one chain."""
    import arviz_stats

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        values = [float(arviz_stats.rhat(p.values)) for p in iterate_parameters(result, group)]
    return max((value for value in values if not np.isnan(value)), default=float("nan"))


def iterate_parameters(result: xarray.DataTree, group: str = "posterior") -> Iterator[ParameterDraws]:
    """The scalars of a group, in the order of the model's variables; labels are distinct.

    Raises
    ------
    ValueError
        If the result lacks the group or has no draws.
    """
    return _parameters(_dataset_with_draws(result, group))


def _parameters(dataset: xarray.Dataset) -> Iterator[ParameterDraws]:
    found: list[ParameterDraws] = []
    for name, array in dataset.data_vars.items():
        array = array.transpose("chain", "draw", ...)
        axes = [array[dim].values for dim in array.dims[2:]]
        values = array.values
        for index in np.ndindex(values.shape[2:]):
            labels = ", ".join(str(axis[i]) for axis, i in zip(axes, index, strict=True))
            found.append(
                ParameterDraws(
                    label=f"{name}[{labels}]" if index else str(name),
                    variable=str(name),
                    index=index,
                    values=values[(slice(None), slice(None), *index)],
                )
            )
    repeated = {name for name, n in Counter(p.label for p in found).items() if n > 1}
    for parameter in found:
        if parameter.label in repeated:
            parameter = replace(parameter, label=parameter.coordinate_name)
        yield parameter


def coordinates_of(parameters: Sequence[ParameterDraws], names: Sequence[str]) -> dict[str, str]:
    """Which of the sampler's coordinates each parameter is, by label; parameters that are none are left out.

    Indices of coordinates begin with 0, or, of models by Stan, with 1: a variable's do if that gives all its entries.
    """
    known, by_variable = set(names), {}
    for parameter in parameters:
        by_variable.setdefault(parameter.variable, []).append(parameter)
    found = {}
    for entries in by_variable.values():
        for first in (0, 1):
            if all(entry.named_from(first) in known for entry in entries):
                found.update({entry.label: entry.named_from(first) for entry in entries})
                break
    return found


def _dataset_with_draws(result: xarray.DataTree, group: str) -> xarray.Dataset:
    if group not in result.children:
        raise ValueError(f"the result has no group {group!r}; it has {', '.join(map(repr, result.children))}")
    dataset = draws_of_group(result, group)
    if dataset.sizes.get("draw", 0) == 0:
        raise ValueError(f"the group {group!r} has no draws: the run ended before the first one")
    return dataset
