"""How many intervals of time averages a chain keeps: neighbours are joined where nobody knows how long it will be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grhmc.results.intervals import join_intervals
from grhmc.run.draw_rows import INTERVALS, NO_LIMIT
from grhmc.run.kernel_settings import double_draws_per_interval

if TYPE_CHECKING:
    from grhmc.run.chain_state import ChainState

_PREFIX = "interval_"


def draws_until_full(chain: ChainState) -> int:
    """Draws of sampling after which there is no room for another interval, where these are joined then."""
    if chain.stage.is_warmup or not chain.settings.joins_intervals:
        return NO_LIMIT
    length, n_left = int(chain.process.settings.draws_per_interval[0]), _n_left(chain)
    return length * (int(chain.process.cursors.draw_index[0]) // length + n_left)


def join_if_full(chain: ChainState) -> None:
    """Join neighbours where there is no room for another one; those to come span twice as many draws.

    A step of the continuous process may have passed the end of the next interval, which is a long one then.
    """
    if chain.stage.is_warmup or not chain.settings.joins_intervals or _n_left(chain) > 0:
        return
    joined = join_intervals({name.removeprefix(_PREFIX): getattr(chain.records, name) for name in INTERVALS}, 2)
    n_joined = len(joined["duration"])
    for name in INTERVALS:
        getattr(chain.records, name)[:n_joined] = joined[name.removeprefix(_PREFIX)]
    chain.process.cursors.interval_index = n_joined
    double_draws_per_interval(chain.process.settings)


def _n_left(chain: ChainState) -> int:
    """Intervals that there is room for."""
    return len(chain.records.interval_duration) - int(chain.process.cursors.interval_index[0])
