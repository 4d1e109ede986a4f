"""Which parameters tell where trajectories diverge: diverging ones start in a part of their range, draws anywhere.

For each parameter the starts of diverging trajectories are compared with all draws by the largest difference of the two
distribution functions, on either side. Draws are correlated, and divergences come in bursts, so that no table of
Kolmogorov and Smirnov's applies. Instead the flags are moved along each chain by a random number of draws (around its
end), which keeps both of these and destroys what they have to do with one another. The largest difference over all
parameters is compared with the largest over all parameters then: whatever their number, chance passes at most one run
in a hundred.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from grhmc.diagnosis.report import NOTE, Finding
from grhmc.results.any_result import as_datatree, draws_of_group, is_of_grhmc
from grhmc.results.divergences import diverging_draws, diverging_starts

if TYPE_CHECKING:
    import xarray

FEWEST_DIVERGENCES = 10
"""Of fewer nothing is said."""

SMALLEST_DIFFERENCE = 0.3
"""Share of the divergences beyond the threshold, less that of the draws: of less nothing is said either."""

_N_SHIFTS, _MOST_ABOVE = 199, 1
# Of so many shifts at most so many may show as large a difference: p is at most 0.01.
_MOST_DIVERGENCES, _MOST_PARAMETERS, _MOST_NAMED = 300, 300, 2


class Explanation(NamedTuple):
    """Diverging trajectories start where a parameter is below (or above) a threshold.

    Attributes
    ----------
    name : str
    is_below : bool
    threshold : float
    share, share_of_draws : float
        Of the divergences, and of all draws, beyond the threshold.
    """

    name: str
    is_below: bool
    threshold: float
    share: float
    share_of_draws: float

    def __str__(self) -> str:
        sign = "<" if self.is_below else ">"
        where = f"{self.name} {sign} {self.threshold:.3g}"
        return f"{where} ({self.share:.0%} of them, {self.share_of_draws:.0%} of the draws)"


def find_divergence_places(result: xarray.DataTree) -> list[Finding]:
    """Name the parameters that tell where trajectories diverge, if any do."""
    diverging = diverging_draws(result)
    if diverging is None or diverging.sum() < FEWEST_DIVERGENCES:
        return []
    names, values = _parameters(result)
    if values.shape[:2] != diverging.shape:
        return []
    found = explain_divergences(names, values, diverging_starts(diverging, is_ours=is_of_grhmc(result)))
    if not found:
        return []
    where = ", and where ".join(str(place) for place in found[:_MOST_NAMED])
    message = (
        f"the diverging trajectories start where {where}: there the posterior is too narrow for the step, or its density "
        "is not what its gradient says. Look at what the model does in that place (grhmc.plot_divergences shows it): a "
        "scale near 0 wants its group non-centred, a parameter near the edge of its support a transform or a prior that "
        "keeps off."
    )
    return [Finding("divergence_places", NOTE, message, tuple(place.name for place in found))]


def places_of_divergences(result: Any) -> tuple[list[str], np.ndarray, np.ndarray, list[str]]:
    """Names and draws of the parameters, flags at the starts of diverging trajectories, and the names that tell these.

    Raises
    ------
    ValueError
        If the result does not say which draws diverged.
    """
    tree = as_datatree(result)
    diverging = diverging_draws(tree)
    if diverging is None:
        raise ValueError("the result does not say which draws diverged: `diverging` is missing in its sample_stats")
    names, values = _parameters(tree)
    starts = diverging_starts(diverging, is_ours=is_of_grhmc(tree))
    return names, values, starts, [place.name for place in explain_divergences(names, values, starts)]


def explain_divergences(names: list[str], values: np.ndarray, starts: np.ndarray) -> list[Explanation]:
    """The parameters that tell where trajectories diverge, the clearest first; mostly none if none does.

    Parameters
    ----------
    names : list of str
    values : ndarray, shape (chains, draws, len(names))
        Draws; finite.
    starts : ndarray of bool, shape (chains, draws)
        At which of them diverging trajectories started.
    """
    n_chains, n_draws, _ = values.shape
    chains, draws = np.nonzero(starts)
    if len(chains) < FEWEST_DIVERGENCES or not names:
        return []
    kept = np.linspace(0, len(chains) - 1, min(len(chains), _MOST_DIVERGENCES)).astype(int)
    chains, draws = chains[kept], draws[kept]
    ranks = _ranks(values.reshape(n_chains * n_draws, -1)).reshape(values.shape)
    observed = np.stack(_differences(ranks[chains, draws])).max(axis=0)
    rng = np.random.default_rng(0)
    by_chance = np.empty(_N_SHIFTS)
    for shift in range(_N_SHIFTS):
        moved = (draws + rng.integers(n_draws, size=n_chains)[chains]) % n_draws
        by_chance[shift] = np.stack(_differences(ranks[chains, moved])).max()
    limit = max(np.sort(by_chance)[-1 - _MOST_ABOVE], SMALLEST_DIFFERENCE)
    telling = [int(j) for j in np.argsort(-observed) if observed[j] > limit]
    return [_explain(names[j], values[..., j], values[chains, draws, j]) for j in telling]


def _differences(ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Largest excess of the divergences' distribution function over that of the draws, and the other way round.

    Parameters
    ----------
    ranks : ndarray, shape (n, parameters)
        Of divergences among the draws, from 0 to 1.
    """
    ordered, n = np.sort(ranks, axis=0), len(ranks)
    steps = np.arange(n + 1)[:, np.newaxis] / n
    return (steps[1:] - ordered).max(axis=0), (ordered - steps[:-1]).max(axis=0)


def _ranks(values: np.ndarray) -> np.ndarray:
    """Shares of the draws below each value, of equal ones half: rejected trajectories repeat draws."""
    ranks = np.empty(values.shape)
    for j, column in enumerate(values.T):
        ordered = np.sort(column)
        left, right = (np.searchsorted(ordered, column, side=side) for side in ("left", "right"))
        ranks[:, j] = (left + right) / (2 * len(column))
    return ranks


def _explain(name: str, values: np.ndarray, of_divergences: np.ndarray) -> Explanation:
    """The threshold beyond which most of the divergences and fewest of the draws are."""
    ordered, flat = np.sort(of_divergences), np.sort(values.ravel())
    below = np.searchsorted(flat, ordered, side="right") / len(flat)
    steps = np.searchsorted(ordered, ordered, side="right") / len(ordered)
    above_draws = 1.0 - np.searchsorted(flat, ordered, side="left") / len(flat)
    above = 1.0 - np.searchsorted(ordered, ordered, side="left") / len(ordered)
    first, last = int(np.argmax(steps - below)), int(np.argmax(above - above_draws))
    if steps[first] - below[first] >= above[last] - above_draws[last]:
        return Explanation(name, True, float(ordered[first]), float(steps[first]), float(below[first]))
    return Explanation(name, False, float(ordered[last]), float(above[last]), float(above_draws[last]))


def _parameters(result: xarray.DataTree) -> tuple[list[str], np.ndarray]:
    """Names and draws of the unconstrained coordinates, or of the posterior with logarithms of positive variables."""
    names: list[str] = []
    columns: list[np.ndarray] = []
    is_unconstrained = "unconstrained_posterior" in result.children
    dataset = draws_of_group(result, "unconstrained_posterior" if is_unconstrained else "posterior")
    for variable, array in dataset.data_vars.items():
        if array.dtype.kind not in "fiu":
            continue
        axes = [np.asarray(array[axis]) for axis in array.dims[2:]]
        values = array.to_numpy()
        for index in np.ndindex(values.shape[2:]):
            if len(names) == _MOST_PARAMETERS:
                break
            column = values[(slice(None), slice(None), *index)].astype(float)
            if not np.isfinite(column).all() or np.ptp(column) == 0.0:
                continue
            label = ", ".join(str(axis[i]) for axis, i in zip(axes, index, strict=True))
            name = f"{variable}[{label}]" if label else str(variable)
            if is_unconstrained and variable == "position":
                name = label
            if not is_unconstrained and column.min() > 0.0:
                name, column = f"log {name}", np.log(column)
            elif is_unconstrained and _is_logarithm(result, name, column):
                name = f"log {name}"
            names.append(name)
            columns.append(column)
    shape = (dataset.sizes["chain"], dataset.sizes["draw"], 0)
    return names, np.stack(columns, axis=-1) if columns else np.zeros(shape)


def _is_logarithm(result: xarray.DataTree, name: str, column: np.ndarray) -> bool:
    """Whether a coordinate has the name of a scalar variable and is its logarithm."""
    if "posterior" not in result.children or name not in result["posterior"].data_vars:
        return False
    variable = result["posterior"][name]
    if set(variable.dims) != {"chain", "draw"}:
        return False
    with np.errstate(all="ignore"):
        return bool(np.allclose(np.log(variable.transpose("chain", "draw").to_numpy()), column, rtol=1e-6, atol=1e-9))
