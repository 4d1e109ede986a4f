"""Which parameters tell where trajectories diverge: diverging ones start in a part of their range, draws anywhere.

For each parameter the starts of diverging trajectories are compared with all draws by the largest difference of the two
distribution functions, on either side. Draws are correlated, and divergences come in bursts, so that no table of
Kolmogorov and Smirnov's applies. Instead the flags are moved along each chain by a random number of draws (around its
end), which keeps both of these and destroys what they have to do with one another. The largest difference over all
parameters is compared with the largest over all parameters then: whatever their number, chance passes at most one run
in a hundred.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grhmc.diagnosis.report import NOTE, Finding
from grhmc.results.any_result import draws_of_group, is_of_grhmc
from grhmc.results.divergences import diverging_draws, diverging_starts

if TYPE_CHECKING:
    import xarray

FEWEST_DIVERGENCES = 10
"""Of fewer nothing is said."""

SMALLEST_DIFFERENCE = 0.3
"""Share of the divergences beyond the threshold, less that of the draws: of less nothing is said either."""

_N_SHIFTS, _MOST_ABOVE = 199, 1
# Of so many shifts at most so many may show as large a difference: p is at most 0.01.
_MOST_DIVERGENCES, _MOST_PARAMETERS, _MOST_ENTRIES, _MOST_NAMED = 300, 300, 20_000_000, 2


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
    starts = diverging_starts(diverging, is_ours=is_of_grhmc(result))
    found = explain_divergences(parameters_of(result), starts)
    if not found:
        return []
    where = ", and where ".join(str(place) for place in found[:_MOST_NAMED])
    message = (
        f"the diverging trajectories start where {where}: there the posterior is too narrow for the step, or its "
        "density is not what its gradient says. Look at what the model does in that place (grhmc.plot_divergences "
        "shows it): a scale near 0 wants its group non-centred, a parameter near the edge of its support a transform "
        "or a prior that keeps off."
    )
    return [Finding("divergence_places", NOTE, message, tuple(place.name for place in found))]


def explain_divergences(parameters: Iterable[tuple[str, np.ndarray]], starts: np.ndarray) -> list[Explanation]:
    """The parameters that tell where trajectories diverge, the clearest first; mostly none if none does.

    Parameters
    ----------
    parameters : iterable of (str, ndarray, shape (chains, draws))
        Names and draws; finite.
    starts : ndarray of bool, shape (chains, draws)
        At which of them diverging trajectories started.
    """
    n_chains, n_draws = starts.shape
    chains, draws = np.nonzero(starts)
    if len(chains) < FEWEST_DIVERGENCES:
        return []
    kept = np.linspace(0, len(chains) - 1, min(len(chains), _MOST_DIVERGENCES)).astype(int)
    chains, draws = chains[kept], draws[kept]
    shifts = np.random.default_rng(0).integers(n_draws, size=(_N_SHIFTS + 1, n_chains))
    shifts[0] = 0  # the first row is what was observed
    moved = (draws + shifts[:, chains]) % n_draws
    by_chance = np.zeros(_N_SHIFTS)
    candidates: list[tuple[float, Explanation]] = []
    for name, values in parameters:
        if values.shape != starts.shape:
            continue
        ordered = np.sort(values, axis=None)
        differences = _differences(_ranks(ordered, values[chains, moved]))
        np.maximum(by_chance, differences[1:], out=by_chance)
        if differences[0] > SMALLEST_DIFFERENCE:
            candidates.append((float(differences[0]), _explain(name, ordered, values[chains, draws])))
    limit = np.sort(by_chance)[-1 - _MOST_ABOVE]
    candidates.sort(key=lambda candidate: -candidate[0])
    return [explanation for difference, explanation in candidates if difference > limit]


def _differences(ranks: np.ndarray) -> np.ndarray:
    """The largest difference between the distribution functions of divergences and of draws, on either side.

    Parameters
    ----------
    ranks : ndarray, shape (k, n)
        Of n divergences among the draws, from 0 to 1, as observed or moved.
    """
    ordered, n = np.sort(ranks, axis=1), ranks.shape[1]
    steps = np.arange(n + 1) / n
    return np.maximum((steps[1:] - ordered).max(axis=1), (ordered - steps[:-1]).max(axis=1))


def _ranks(ordered: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Shares of the draws below each value, of equal ones half: rejected trajectories repeat draws."""
    left, right = (np.searchsorted(ordered, values, side=side) for side in ("left", "right"))
    return (left + right) / (2 * len(ordered))


def _explain(name: str, flat: np.ndarray, of_divergences: np.ndarray) -> Explanation:
    """The threshold beyond which most of the divergences and fewest of the draws are, which are given in order."""
    ordered = np.sort(of_divergences)
    below = np.searchsorted(flat, ordered, side="right") / len(flat)
    steps = np.searchsorted(ordered, ordered, side="right") / len(ordered)
    above_draws = 1.0 - np.searchsorted(flat, ordered, side="left") / len(flat)
    above = 1.0 - np.searchsorted(ordered, ordered, side="left") / len(ordered)
    first, last = int(np.argmax(steps - below)), int(np.argmax(above - above_draws))
    if steps[first] - below[first] >= above[last] - above_draws[last]:
        return Explanation(name, True, float(ordered[first]), float(steps[first]), float(below[first]))
    return Explanation(name, False, float(ordered[last]), float(above[last]), float(above_draws[last]))


def parameters_of(result: xarray.DataTree) -> Iterator[tuple[str, np.ndarray]]:
    """Unconstrained coordinates, or the posterior's scalars with logarithms of positive ones, that vary and are finite.

    One after the other, so that a long run is not in memory; the first few hundred of them, or fewer of such a run.
    """
    is_unconstrained = "unconstrained_posterior" in result.children
    dataset = draws_of_group(result, "unconstrained_posterior" if is_unconstrained else "posterior")
    n_left = min(_MOST_PARAMETERS, max(10, _MOST_ENTRIES // max(1, dataset.sizes["chain"] * dataset.sizes["draw"])))
    for variable, array in dataset.data_vars.items():
        if array.dtype.kind not in "fiu":
            continue
        for index in itertools.islice(np.ndindex(array.shape[2:]), n_left):
            n_left -= 1
            labels = [str(np.asarray(array[axis])[i]) for axis, i in zip(array.dims[2:], index, strict=True)]
            name = f"{variable}[{', '.join(labels)}]" if labels else str(variable)
            if is_unconstrained and variable == "position":
                name = labels[0]
            entry = array.isel(dict(zip(array.dims[2:], index, strict=True)))
            column = entry.to_numpy().astype(np.float64)
            if not np.isfinite(column).all() or np.ptp(column) == 0.0:
                continue
            if is_unconstrained:
                yield (f"log {name}" if _is_logarithm(result, name, column) else name), column
            else:
                yield (f"log {name}", np.log(column)) if column.min() > 0.0 else (name, column)


def _is_logarithm(result: xarray.DataTree, name: str, column: np.ndarray) -> bool:
    """Whether a coordinate has the name of a scalar variable and is its logarithm."""
    if "posterior" not in result.children or name not in result["posterior"].data_vars:
        return False
    variable = result["posterior"][name]
    if set(variable.dims) != {"chain", "draw"}:
        return False
    with np.errstate(all="ignore"):
        return bool(np.allclose(np.log(variable.transpose("chain", "draw").to_numpy()), column, rtol=1e-6, atol=1e-9))
