"""Judge a run: posterior summaries and effective sample sizes, computed by ArviZ."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from grhmc._terminal import without_control_characters

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
    coordinate_name : str
        With indices, as models name their coordinates: ``beta[2]``, ``L[0,1]``.
    values : ndarray, shape (chains, draws)
    """

    label: str
    coordinate_name: str
    values: np.ndarray


def summary(
    result: xarray.DataTree,
    var_names: str | Sequence[str] | None = None,
    *,
    group: str = "posterior",
    coords: Mapping[str, Any] | None = None,
) -> pandas.DataFrame:
    """Summarize the posterior: one row per scalar parameter.

    Parameters
    ----------
    result : DataTree
        From `sample`.
    var_names : str or sequence of str, optional
        Variables to show; all by default.
    group : str
        ``"unconstrained_posterior"`` for the sampler's own coordinates.
    coords : mapping, optional
        Subset of labels along dims.

    Returns
    -------
    pandas.DataFrame
        Columns mean, sd, 5%, 95%, ess_bulk, ess_tail, r_hat, mcse_mean, mcse_sd.

    Raises
    ------
    ValueError
        If the result lacks the group or a variable, or has no draws.
    """
    import arviz_base
    import arviz_stats

    dataset = _dataset_with_draws(result, group)
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
    # ArviZ cannot reshape variables without entries.
    dataset = dataset[[name for name in dataset.data_vars if dataset[name].size]]
    # ArviZ takes the tail ESS at the quantile stats.ci_prob and its mirror image; its default of
    # 0.89 is less of a tail than the 5 % and 95 % of Vehtari et al. (2021).
    with warnings.catch_warnings(), arviz_base.rc_context({"stats.ci_prob": TAIL_PROBABILITIES[1]}):
        # R-hat of a parameter that does not vary: 0/0, which the table shows as nan.
        warnings.simplefilter("ignore", RuntimeWarning)
        table = arviz_stats.summary(
            dataset,
            ci_prob=0.9,
            ci_kind="eti",
            # Raw numbers, which None no longer means in ArviZ 1.
            round_to="none",  # pyright: ignore[reportArgumentType]
        )
    # Labels come from models and files, and tables are printed in terminals.
    table.index = table.index.map(lambda label: without_control_characters(str(label)))
    return table.rename(columns={"eti90_lb": "5%", "eti90_ub": "95%"})


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
    dataset = _dataset_with_draws(result, group)
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
                    coordinate_name=f"{name}[{','.join(map(str, index))}]" if index else str(name),
                    values=values[(slice(None), slice(None), *index)],
                )
            )
    repeated = {name for name, n in Counter(p.label for p in found).items() if n > 1}
    for parameter in found:
        if parameter.label in repeated:
            parameter = ParameterDraws(parameter.coordinate_name, parameter.coordinate_name, parameter.values)
        yield parameter


def _dataset_with_draws(result: xarray.DataTree, group: str) -> xarray.Dataset:
    if group not in result.children:
        raise ValueError(f"the result has no group {group!r}; it has {', '.join(map(repr, result.children))}")
    dataset = result[group].to_dataset()
    if dataset.sizes.get("draw", 0) == 0:
        raise ValueError(f"the group {group!r} has no draws: the run ended before the first one")
    return dataset
