"""Did warm-up see a place with mass that the draws never went to? Another mode, or a funnel's neck.

No diagnosis of draws that agree can tell that they all miss something. But chains may have been there during warm-up,
and their centres of that time are kept. What they saw is looked at again: does a chain that starts there stay, and how
much mass is around it?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grhmc.adaptation.local_mass import log_mass_bounds
from grhmc.diagnosis.local_run import run_from, value_at
from grhmc.diagnosis.report import WARNING, Finding, listed, listed_chains
from grhmc.diagnosis.screening import all_finite, blocks_of_coordinates, correlations, deviations

if TYPE_CHECKING:
    import xarray

    from grhmc.models.log_density import LogDensity

BEYOND = 2.0
"""Standard deviations beyond all draws, at which a place counts as one they never went to."""

SMALLEST_WEIGHT = 1e-3
"""Of the mass around a place over that of the draws: of less nothing is said, it would change no mean that is shown."""

WEIGHT_ERROR = 0.35
"""Of its logarithm as a short chain knows it, over √dim: of a second normal, 0.3 in three dimensions, 1 in ten and 3 in
ninety were seen. A place is told of if its mass is large beyond that."""

GRADIENT_SHARE = 0.03
"""Of the run's gradients: what looking at places may cost."""

_FEWEST_DRAWS = 100
# Of fewer, all chains together, the largest and the smallest say little of where the posterior ends.

_MOST_PLACES, _MOST_RUNS, _FEWEST_GRADIENTS = 60, 6, 150
# Of which the log density is computed; from which a chain is started, and the gradients that gets at least.

_OUTERMOST = 1e-3
# Share of the draws on each side that do not count.

_LOWEST, _HIGHER = 3.0, 3.0
# Standard deviations of the draws' log density below its median: a lower place was passed on the way into the bulk. And
# how much higher than all draws, and than the mode that a normal would have, a place is that no draw is near.


class MissedPlace(NamedTuple):
    """A place with mass where no draw is.

    Attributes
    ----------
    candidate : int
        Which of the candidates.
    beyond : ndarray, shape (dim,)
        Standard deviations beyond all draws, of each coordinate; 0 or less inside.
    narrowness : ndarray, shape (dim,)
        Standard deviation of the draws over that of a chain there, of each coordinate.
    log_density : float
        Mean of a chain there.
    log_weight : float
        Logarithm of the mass around it over that of the draws.
    """

    candidate: int
    beyond: np.ndarray
    narrowness: np.ndarray
    log_density: float
    log_weight: float

    @property
    def is_beyond(self) -> bool:
        """Out of the draws' range, and not just higher than all of them."""
        return bool(self.beyond.max() > BEYOND)


def judge_places(
    model: LogDensity,
    places: np.ndarray,
    draws: np.ndarray,
    log_density: np.ndarray,
    scale: np.ndarray,
    *,
    n_thermal: int = 0,
    most_gradients: int = 1000,
) -> list[MissedPlace]:
    """The places that no draw is near, where a chain stays, and where there is mass.

    No draw is near a place that is beyond the range of all draws in a coordinate, or much higher than all of them, as a
    narrow mode within a wide one is. A short chain of its own starts at each. If it comes to where the draws are,
    nothing was missed: the centre of a window before the bulk is often as probable as the draws in all coordinates
    together and far out in one.

    Parameters
    ----------
    model : LogDensity
    places : ndarray, shape (places, dim)
        Unconstrained positions from any source.
    draws : ndarray, shape (chains, draws, dim)
    log_density : ndarray, shape (chains, draws)
    scale : ndarray, shape (dim,)
        What the run has tuned.
    n_thermal : int
        So many of the places, the first ones, are states of chains, whose log density may be lower than the draws':
        a wide mode's is. The others, of lower log density, are passed over.
    most_gradients : int
        In all; the number of log densities besides is bounded.
    """
    beyond = beyond_draws(places, draws)
    candidates = _candidates(model, places, beyond, log_density, n_thermal)
    candidates = candidates[: max(1, most_gradients // _FEWEST_GRADIENTS)]
    if not candidates:
        return []
    log_mass = _log_mass(draws, float(log_density.mean()))
    highest = float(log_density.max())
    missed = []
    for index in candidates:
        run = run_from(model, places[index], scale, most_gradients // len(candidates))
        if run is None:
            continue
        is_apart = beyond_draws(run.positions, draws).max(axis=1) >= 0.5 * BEYOND
        if not np.all(is_apart | (run.log_density > highest)):
            continue
        late = slice(len(run.positions) // 2, None)
        variance = run.positions[late].var(axis=0)
        mean_log_density = float(run.log_density[late].mean())
        bounds = log_mass_bounds(
            np.array([mean_log_density]),
            variance[np.newaxis],
            (run.gradients[late] ** 2).mean(axis=0)[np.newaxis],
            np.array([np.inf]),
        )
        log_weight = 0.5 * float(bounds.lower[0] + bounds.upper[0]) - log_mass
        if log_weight >= np.log(SMALLEST_WEIGHT) + WEIGHT_ERROR * np.sqrt(len(scale)):
            with np.errstate(divide="ignore", invalid="ignore"):
                narrowness = deviations(draws)[0] / np.sqrt(variance)
            missed.append(MissedPlace(index, beyond[index], narrowness, mean_log_density, log_weight))
    return missed


def beyond_draws(places: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """By how many standard deviations each coordinate of each place is beyond the draws; 0 where it is not known.

    Beyond all of them but one in a thousand on each side: that a few have been there does not tell how many should.
    """
    beyond = np.zeros(places.shape)
    for columns, block in blocks_of_coordinates(draws):
        points = block.reshape(-1, block.shape[2])
        (low, high), spread = np.quantile(points, (_OUTERMOST, 1.0 - _OUTERMOST), axis=0), points.std(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            beyond[:, columns] = np.maximum(low - places[:, columns], places[:, columns] - high) / spread
    return np.where(np.isfinite(beyond) & np.isfinite(places), beyond, 0.0)


def _candidates(
    model: LogDensity, places: np.ndarray, beyond: np.ndarray, log_density: np.ndarray, n_thermal: int
) -> list[int]:
    """Of the places that no draw is near, the most probable in each direction and distance."""
    is_out, is_thermal = beyond.max(axis=1) > BEYOND, np.arange(len(places)) < n_thermal
    others = np.flatnonzero(is_out & ~is_thermal)
    asked = np.concatenate([np.flatnonzero(is_thermal), others[:: max(1, -(-len(others) // _MOST_PLACES))]])
    asked = asked[np.isfinite(places[asked]).all(axis=1)]
    values = np.full(len(places), -np.inf)
    values[asked] = [value_at(model, places[index]) for index in asked]
    median, spread = float(np.median(log_density)), float(log_density.std())
    is_probable = values >= median - _LOWEST * spread + np.log(SMALLEST_WEIGHT)
    is_probable |= is_thermal & np.isfinite(values)
    # The mode of a normal is higher than its draws by d/2 on average.
    is_higher = values > max(float(log_density.max()), median + 0.5 * places.shape[1]) + _HIGHER
    best: dict[tuple[int, int], int] = {}
    for index in sorted(np.flatnonzero((is_out & is_probable) | is_higher), key=lambda i: -values[i]):
        coordinate = int(np.argmax(beyond[index])) if is_out[index] else -1
        distance = int(np.log2(beyond[index, coordinate])) if is_out[index] else 0
        best.setdefault((coordinate, distance), int(index))
    return list(best.values())[:_MOST_RUNS]


def _log_mass(draws: np.ndarray, mean_log_density: float) -> float:
    """Of the draws, but for the constant of `log_mass_bounds`: as of a normal with their covariance."""
    n_draws, dim = draws.shape[0] * draws.shape[1], draws.shape[2]
    spread, _ = deviations(draws)
    log_volume = float(np.log(spread[spread > 0.0]).sum())
    if 5 * dim < n_draws:  # with fewer, correlations are left out: the draws' mass is then overestimated
        log_volume += 0.5 * float(np.linalg.slogdet(correlations(draws, spread))[1])
        log_volume -= 0.5 * float(np.log1p(-np.arange(dim) / n_draws).sum())  # the bias of a sample's determinant
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
    if "history_centre" not in tuning or not draws.size or not all_finite(draws):
        return []
    if draws.shape[0] * draws.shape[1] < _FEWEST_DRAWS:
        return []
    places, chains_of, n_thermal = _places_seen(tuning)
    scale = np.exp(np.median(np.log(tuning["scale"].to_numpy()), axis=0))
    budget = int(GRADIENT_SHARE * n_gradients)
    missed = judge_places(model, places, draws, log_density, scale, n_thermal=n_thermal, most_gradients=budget)
    if not missed:
        return []
    return [_finding(missed, places, chains_of, draws, float(log_density.max()), tuning["unconstrained"].to_numpy())]


def _finding(
    missed: list[MissedPlace],
    places: np.ndarray,
    chains_of: np.ndarray,
    draws: np.ndarray,
    highest: float,
    coordinate_names: np.ndarray,
) -> Finding:
    """Tell of the place with the most mass, and in which parameters it shows."""
    worst = max(missed, key=lambda place: place.log_weight)
    chains = tuple(sorted({int(chains_of[place.candidate]) for place in missed}))
    amount = worst.beyond if worst.is_beyond else worst.narrowness
    order = [int(j) for j in np.argsort(-amount) if amount[j] > BEYOND] or [int(np.argmax(amount))]
    names = tuple(str(coordinate_names[j]) for j in order)
    column, where = draws[..., order[0]], places[worst.candidate, order[0]]
    if worst.is_beyond:
        what = (
            f"at a place that no draw is near and where a chain stays that starts there (there {names[0]} was about "
            f"{where:.4g}; the draws are between {column.min():.4g} and {column.max():.4g})"
        )
    else:
        what = (
            f"at a place whose log density is higher than that of all draws ({worst.log_density:.4g}; the draws' is "
            f"{highest:.4g} at most) and where a chain stays that starts there (around {names[0]} = {where:.4g})"
        )
    message = (
        f"{listed_chains(chains)} came, while warming up or on a rejected path, {what}; "
        f"{_described(worst.log_weight)}. The posterior has another mode, or a narrow neck"
        f"{', or a heavy tail' if worst.is_beyond else ''}, that the draws miss"
        f"{'' if len(names) == 1 else f' (it shows in {listed(names)})'}. Start chains there (`init`) and compare; "
        "reparameterize, or give more informative priors."
    )
    return Finding("missed_place", WARNING, message, names, chains, float(amount[order[0]]), BEYOND)


def _places_seen(tuning: xarray.Dataset) -> tuple[np.ndarray, np.ndarray, int]:
    """Positions, the chain of each, and how many of them, the first, are states that chains were in."""
    chains = tuning["chain"].to_numpy()
    sources, owners = [], []
    if "places" in tuning:
        places = tuning["places"].transpose("chain", "place", ...).to_numpy()
        sources.append(places.reshape(-1, places.shape[-1]))
        owners.append(np.repeat(chains, places.shape[1]))
    n_thermal = sum(map(len, sources))
    centres = tuning["history_centre"].transpose("chain", "history", ...).to_numpy()
    sources.append(centres.reshape(-1, centres.shape[-1]))
    owners.append(np.repeat(chains, centres.shape[1]))
    return np.concatenate(sources), np.concatenate(owners), n_thermal


def _described(log_weight: float) -> str:
    """A weight in words; in many dimensions a short run knows it roughly."""
    if log_weight > np.log(100.0):
        return "by density and width it has far more mass than where the draws are"
    return f"by density and width it has about {np.exp(log_weight):.1g} times the mass of where the draws are"
