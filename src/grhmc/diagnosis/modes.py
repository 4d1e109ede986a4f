"""Did warm-up see a place with mass that the draws never went to? Another mode, or a funnel's neck.

No diagnosis of draws that agree can tell that they all miss something. But chains may have been there during warm-up,
and their centres of that time are kept. What they saw is looked at again: does a chain that starts there stay, and how
much mass is around it?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grhmc.diagnosis.local_run import run_from, value_at
from grhmc.diagnosis.report import WARNING, Finding, listed, listed_chains
from grhmc.tuning.local_mass import log_mass_bounds

if TYPE_CHECKING:
    import xarray

    from grhmc.models.log_density import LogDensity

BEYOND = 2.0
"""Standard deviations beyond all draws, at which a place counts as one they never went to."""

SMALLEST_WEIGHT = 1e-3
"""Of the mass around a place over that of the draws: of less nothing is said, it would change no mean that is shown."""

GRADIENT_SHARE = 0.03
"""Of the run's gradients: what looking at places may cost."""

_FEWEST_DRAWS = 100
# Of fewer, all chains together, the largest and the smallest say little of where the posterior ends.

_MOST_PLACES, _MOST_RUNS, _FEWEST_GRADIENTS = 60, 6, 150
# Of which the log density is computed; from which a chain is started, and the gradients that gets at least.

_LOWEST = 3.0
# Standard deviations of the draws' log density below its median and what a small weight lowers it by: where it is
# lower still, a chain was on its way in.


class MissedPlace(NamedTuple):
    """A place with mass where no draw is.

    Attributes
    ----------
    candidate : int
        Which of the candidates.
    beyond : ndarray, shape (dim,)
        Standard deviations beyond all draws, of each coordinate; 0 or less inside.
    log_weight : float
        Logarithm of the mass around it over that of the draws: the middle between the bounds, in which the errors of
        few states cancel; with correlations the mass is mostly less.
    """

    candidate: int
    beyond: np.ndarray
    log_weight: float


def judge_places(
    model: LogDensity,
    places: np.ndarray,
    draws: np.ndarray,
    log_density: np.ndarray,
    scale: np.ndarray,
    *,
    most_gradients: int = 1000,
) -> list[MissedPlace]:
    """The places that are out of reach of all draws, where a chain stays, and where there is mass.

    A short chain of its own starts at each. If it comes to where the draws are, nothing was missed: the centre of a
    window on the way in is often as probable as the draws in all coordinates together and far out in one.

    Parameters
    ----------
    model : LogDensity
    places : ndarray, shape (places, dim)
        Unconstrained positions from any source.
    draws : ndarray, shape (chains, draws, dim)
    log_density : ndarray, shape (chains, draws)
    scale : ndarray, shape (dim,)
        What the run has tuned.
    most_gradients : int
        In all; the number of log densities besides is bounded.
    """
    points = draws.reshape(-1, draws.shape[-1])
    beyond = beyond_draws(places, points)
    candidates = _candidates(model, places, beyond, log_density)[: max(1, most_gradients // _FEWEST_GRADIENTS)]
    if not candidates:
        return []
    log_mass = _log_mass(points, float(log_density.mean()))
    missed = []
    for index in candidates:
        run = run_from(model, places[index], scale, most_gradients // len(candidates))
        if run is None or beyond_draws(run.positions, points).max(axis=1).min() < 0.5 * BEYOND:
            continue
        late = slice(len(run.positions) // 2, None)
        bounds = log_mass_bounds(
            np.array([run.log_density[late].mean()]),
            run.positions[late].var(axis=0)[np.newaxis],
            (run.gradients[late] ** 2).mean(axis=0)[np.newaxis],
            np.array([np.inf]),
        )
        log_weight = 0.5 * float(bounds.lower[0] + bounds.upper[0]) - log_mass
        if log_weight >= np.log(SMALLEST_WEIGHT):
            missed.append(MissedPlace(index, beyond[index], log_weight))
    return missed


def beyond_draws(places: np.ndarray, points: np.ndarray) -> np.ndarray:
    """By how many standard deviations each coordinate of each place is beyond all points; 0 where it is not known."""
    low, high, spread = points.min(axis=0), points.max(axis=0), points.std(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        beyond = np.maximum(low - places, places - high) / spread
    return np.where(np.isfinite(beyond) & np.isfinite(places), beyond, 0.0)


def _candidates(model: LogDensity, places: np.ndarray, beyond: np.ndarray, log_density: np.ndarray) -> list[int]:
    """Of the places beyond all draws that are about as probable, the most probable in each direction and distance."""
    out = np.flatnonzero(beyond.max(axis=1) > BEYOND)
    out = out[:: max(1, -(-len(out) // _MOST_PLACES))]
    lowest = float(np.median(log_density) - _LOWEST * log_density.std() + np.log(SMALLEST_WEIGHT))
    values = {int(index): value_at(model, places[index]) for index in out}
    best: dict[tuple[int, int], int] = {}
    for index in sorted((index for index, value in values.items() if value >= lowest), key=lambda i: -values[i]):
        coordinate = int(np.argmax(beyond[index]))
        best.setdefault((coordinate, int(np.log2(beyond[index, coordinate]))), index)
    return list(best.values())[:_MOST_RUNS]


def _log_mass(points: np.ndarray, mean_log_density: float) -> float:
    """Of the draws, but for the constant of `log_mass_bounds`: as of a normal with their covariance."""
    n_points, dim = points.shape
    deviations = points.std(axis=0)
    varies = deviations > 0.0
    log_volume = float(np.log(deviations[varies]).sum())
    if 5 * dim < n_points:  # with fewer, correlations are left out: the draws' mass is then overestimated
        correlation = np.atleast_2d(np.corrcoef(points[:, varies], rowvar=False))
        log_volume += 0.5 * float(np.linalg.slogdet(correlation)[1])
        log_volume -= 0.5 * float(np.log1p(-np.arange(dim) / n_points).sum())  # the bias of a sample's determinant
    return mean_log_density + log_volume


def find_missed_places(
    model: LogDensity, draws: np.ndarray, log_density: np.ndarray, tuning: xarray.Dataset, n_gradients: int = 50_000
) -> list[Finding]:
    """Centres of the warm-up that no draw is near, though a chain that starts there stays and there is mass.

    Parameters
    ----------
    model : LogDensity
    draws : ndarray, shape (chains, draws, dim)
        Unconstrained.
    log_density : ndarray, shape (chains, draws)
    tuning : xarray.Dataset
        With `history_centre`, (chain, history, unconstrained), and `scale`, (chain, unconstrained).
    n_gradients : int
        Of the whole run; `GRADIENT_SHARE` of them may be spent here.
    """
    if "history_centre" not in tuning or not draws.size or not np.all(np.isfinite(draws)):
        return []
    if draws.shape[0] * draws.shape[1] < _FEWEST_DRAWS:
        return []
    centres = tuning["history_centre"].transpose("chain", "history", ...).to_numpy()
    n_rows, dim = centres.shape[1:]
    scale = np.exp(np.median(np.log(tuning["scale"].to_numpy()), axis=0))
    places = centres.reshape(-1, dim)
    budget = int(GRADIENT_SHARE * n_gradients)
    missed = judge_places(model, places, draws, log_density, scale, most_gradients=budget)
    if not missed:
        return []
    amount = np.max([place.beyond for place in missed], axis=0)
    order = [int(j) for j in np.argsort(-amount) if amount[j] > BEYOND]
    names = tuple(str(tuning["unconstrained"].values[j]) for j in order)
    chains = tuple(sorted({int(tuning["chain"].values[place.candidate // n_rows]) for place in missed}))
    example = max(missed, key=lambda place: place.beyond[order[0]])
    column = draws[..., order[0]]
    message = (
        f"during warm-up {listed_chains(chains)} was at a place that no draw is near and where a chain stays that "
        f"starts there (there {names[0]} was about {places[example.candidate, order[0]]:.4g}; the draws are between "
        f"{column.min():.4g} and {column.max():.4g}); {_described(max(place.log_weight for place in missed))}. The "
        "posterior has another mode, or a narrow neck, that the draws miss"
        f"{'' if len(names) == 1 else f' (it shows in {listed(names)})'}. Start chains there (`init`) and compare; "
        "reparameterize, or give more informative priors."
    )
    return [Finding("missed_place", WARNING, message, names, chains, float(amount[order[0]]), BEYOND)]


def _described(log_weight: float) -> str:
    """A weight in words; in many dimensions a short run knows it roughly."""
    if log_weight > np.log(100.0):
        return "by density and width it has far more mass than where the draws are"
    return f"by density and width it has about {np.exp(log_weight):.1g} times the mass of where the draws are"
