"""From the function that a user gives as event rate to what kernels call, and from its failure to an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grhmc.events.user_rate import UserRate, init_user_rate
from grhmc.models.event_rate import compiled_event_rate
from grhmc.outcomes import Outcome, SamplingError
from grhmc.settings.event_rate import shown_vector

if TYPE_CHECKING:
    from grhmc.run.chain_state import ChainState
    from grhmc.settings import RunSettings


def user_rate(settings: RunSettings, dim: int) -> UserRate:
    """What kernels call; nothing where the rate is one of the package's own.

    Raises
    ------
    TypeError
        If the function cannot be compiled.
    """
    continuous = settings.continuous
    if not callable(continuous.event_rate_kind):
        return init_user_rate(dim)
    address = compiled_event_rate(continuous.event_rate_kind).address
    return init_user_rate(dim, address, continuous.typical_base_rate(dim))


def error_of_rate(chain: ChainState) -> SamplingError | None:
    """What the user's event rate has failed by, if it has: found by a call from Python at the same place."""
    user, function = chain.process.user_rate, chain.settings.continuous.event_rate_kind
    if user.failure[0] == 0 or not callable(function):
        return None
    place = f"at q_bar = {shown_vector(user.position)}, p_bar = {shown_vector(user.momentum)}"
    where = f"chain {chain.index}, {chain.stage.name}: the function given as event_rate_kind"
    try:
        value = function(user.position.copy(), user.momentum.copy())
    except Exception as error:
        found = SamplingError(f"{where} raised {type(error).__name__}: {error}, {place}", Outcome.DENSITY_RAISED)
        found.__cause__ = error
        return found
    return SamplingError(
        f"{where} is {value!r} {place}; a rate must be positive and finite everywhere", Outcome.DENSITY_RAISED
    )
