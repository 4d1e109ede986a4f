"""Did warm-up see a place as probable as the draws that the draws never went to? Another mode, or a funnel's neck.

No diagnosis of draws that agree can tell that they all miss something. But chains may have been there during warm-up,
and their centres of that time are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grhmc.density_pointer import FINE
from grhmc.diagnosis.report import WARNING, Finding, listed, listed_chains

if TYPE_CHECKING:
    import xarray

    from grhmc.models.log_density import LogDensity

BEYOND = 2.0
"""Standard deviations beyond all draws, at which a place counts as one they never went to."""

_FEWEST_DRAWS = 100
# Of fewer, all chains together, the largest and the smallest say little of where the posterior ends.

_MOST_PLACES = 60
# Of which the log density is computed.


def find_missed_places(
    model: LogDensity, draws: np.ndarray, log_density: np.ndarray, tuning: xarray.Dataset
) -> list[Finding]:
    """Centres of the warm-up that are out of reach of all draws and at least as probable as half of them.

    On the way in from a far start a centre is out of reach, too, but hardly probable.

    Parameters
    ----------
    model : LogDensity
    draws : ndarray, shape (chains, draws, dim)
        Unconstrained.
    log_density : ndarray, shape (chains, draws)
    tuning : xarray.Dataset
        With `history_centre`, (chain, history, unconstrained).
    """
    if "history_centre" not in tuning or not draws.size or not np.all(np.isfinite(draws)):
        return []
    centres = tuning["history_centre"].transpose("chain", "history", ...).to_numpy()
    points = draws.reshape(-1, draws.shape[-1])
    if len(points) < _FEWEST_DRAWS:
        return []
    low, high, spread = points.min(axis=0), points.max(axis=0), points.std(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        beyond = np.maximum(low - centres, centres - high) / spread
    beyond = np.where(np.isfinite(beyond) & np.isfinite(centres), beyond, 0.0)
    places = np.argwhere(beyond.max(axis=2) > BEYOND)
    places = places[:: max(1, -(-len(places) // _MOST_PLACES))]
    typical = float(np.median(log_density))
    missed = [(chain, row) for chain, row in places if _value(model, centres[chain, row]) >= typical]
    if not missed:
        return []
    amount = np.max([beyond[chain, row] for chain, row in missed], axis=0)
    order = [int(j) for j in np.argsort(-amount) if amount[j] > BEYOND]
    names = tuple(str(tuning["unconstrained"].values[j]) for j in order)
    chains = tuple(sorted({int(tuning["chain"].values[chain]) for chain, _ in missed}))
    example = max(missed, key=lambda place: beyond[place[0], place[1], order[0]])
    message = (
        f"during warm-up {listed_chains(chains)} was at a place as probable as the draws that none of them is near "
        f"(there {names[0]} was about {centres[example[0], example[1], order[0]]:.4g}; the draws are between "
        f"{low[order[0]]:.4g} and {high[order[0]]:.4g}). The posterior has another mode, or a narrow neck, that the "
        f"draws miss{'' if len(names) == 1 else f' (it shows in {listed(names)})'}. Start chains there (`init`) and "
        "see whether they stay; reparameterize, or give more informative priors."
    )
    return [Finding("missed_place", WARNING, message, names, chains, float(amount[order[0]]), BEYOND)]


def _value(model: LogDensity, point: np.ndarray) -> float:
    """The log density, or -inf where it cannot be had."""
    try:
        value, _, code = model.evaluate(np.ascontiguousarray(point))
    except Exception:  # the run is over: what the density does now is no longer its affair
        return -np.inf
    if code != FINE:
        model.take_exception()
        return -np.inf
    return float(value) if np.isfinite(value) else -np.inf
