"""Places that a chain's windows have led to, and its way back to the one of the highest log density.

A chain that has passed a place of far higher log density than where it ended up, or is enclosed, goes there. A start in
a local mode may be left for a moment only: in a hot window, or on the way in. The least-squares ripples of a
differential equation are such modes, and the peak between them is too narrow for a chain that runs past it to stay.
And far out a solver's errors make the density finite here and there only: a chain that came there cannot step away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grhmc.adaptation.first_standardization import initial_event_rate, initial_scale
from grhmc.adaptation.low_rank import no_directions
from grhmc.adaptation.tuners.moments import forget
from grhmc.density_pointer import EXCEPTION, FINE
from grhmc.dynamics.standardization import to_parameters
from grhmc.process.path import place
from grhmc.run.stage_tuners import renew_rate_tuner
from grhmc.run.standardize import standardize

if TYPE_CHECKING:
    from grhmc.run.chain_state import ChainState

FAR_HIGHER, FAR_HIGHER_PER_DIMENSION = 100.0, 5.0
"""In log density: a normal's mode is d/2 higher than where its chains are, and a funnel's neck, a tenth as wide as the
rest in each of d dimensions, 2.3 d. No difference of width makes up for it."""

MOST_ESCAPES = 3
"""Of a chain that is enclosed by points where the density is not finite; then the model is at fault."""

_FIRST_STEP = 0.1
# As of a chain's start.


def note_place(chain: ChainState) -> None:
    """Remember where a window has led to, for a look back at the end of the run."""
    if chain.stage.keeps_place:
        to_parameters(chain.process.standardization, chain.process.step.position, chain.places[chain.n_places])
        chain.n_places += 1


def go_to_highest(chain: ChainState) -> None:
    """Start the chain anew where it has seen the highest log density, if that is far higher than where it is."""
    if is_far_below(chain):
        start_at_highest(chain)


def is_far_below(chain: ChainState) -> bool:
    """Whether the highest log density that the chain has seen is far higher than where it is."""
    path = chain.process.path[0]
    above = path.highest_log_density - path.log_density
    return bool(above > FAR_HIGHER + FAR_HIGHER_PER_DIMENSION * chain.model.dim)


def start_at_highest(chain: ChainState) -> None:
    """Start the chain anew where it has seen the highest log density."""
    dim, process, settings, point = chain.model.dim, chain.process, chain.settings, chain.process.highest.copy()
    _, gradient, code = chain.model.evaluate(point)
    process.counters.n_gradients += 1
    if code == EXCEPTION:
        chain.model.take_exception()
    if code != FINE:
        return
    standardize(process, point, initial_scale(settings, gradient, chain.model, point), no_directions(dim))
    for moments in (process.moments, process.previous_moments):
        forget(moments)
    if settings.continuous.tunes_event_rate:
        event_rate = initial_event_rate(settings, dim)
        process.path.event_rate = event_rate
        renew_rate_tuner(process, event_rate * settings.u_turn_factor)
    place(process, np.ascontiguousarray(point), _FIRST_STEP)
