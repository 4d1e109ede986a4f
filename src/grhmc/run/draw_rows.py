"""Which draws a chain has in memory: all of them, or the last ones, where the others are handed over on the way."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

from grhmc.outcomes import Outcome
from grhmc.process.state import Records, init_records
from grhmc.run.cost import gradients_of_chain

if TYPE_CHECKING:
    from grhmc.adaptation.stage import Stage
    from grhmc.run.chain_state import ChainState
    from grhmc.settings import RunSettings

NO_LIMIT = 2**62

INTERVALS = ("interval_position", "interval_squared", "interval_functions", "interval_duration")
"""Fields of `Records` with a row per interval of time averages."""


def draws_until_a_pause(chain: ChainState) -> int:
    """Draws of the present stage that there is room for, or after which the chain pauses."""
    if chain.stage.is_warmup:
        return NO_LIMIT
    return min(chain.pauses_at, NO_LIMIT if chain.rows_at_once is None else chain.n_stored + chain.rows_at_once)


def hand_over(chain: ChainState, n_rows: int) -> None:
    """Forget the first `n_rows` draws of sampling that are in memory, and make room for as many."""
    first, end = chain.n_warmup_rows, chain.n_warmup_rows + chain.n_draws - chain.n_stored
    for rows in (chain.records.draws, chain.records.statistics):
        rows[first : end - n_rows] = rows[first + n_rows : end].copy()
    chain.process.cursors.first_row -= n_rows
    chain.n_stored += n_rows


def make_room(chain: ChainState) -> None:
    """Where sampling begins and not all draws are kept in memory: room for one step more than are handed over."""
    if chain.rows_at_once is None or chain.stage.is_warmup:
        return
    n_of_a_step = 1
    if not chain.is_discrete:
        n_of_a_step += math.ceil(chain.settings.limits.largest_step / chain.process.settings.draw_spacing[0])
    n_rows = chain.n_warmup_rows + chain.rows_at_once + min(n_of_a_step, chain.stage.n_draws)
    chain.records = with_draw_rows(chain.records, n_rows)


def lengthen(chain: ChainState, settings: RunSettings, stages: list[Stage]) -> None:
    """Make it a run of more draws: the same but for its length.

    Draws of the continuous process are read off steps, so that the last step may have passed the next one: their clock
    starts anew where the chain is.
    """
    chain.settings, chain.stages = settings, stages
    chain.records = _with_room_for(chain.records, settings, chain.n_warmup_rows, chain.rows_at_once)
    if chain.stage.is_warmup:
        return
    cursors, kernel, n_draws = chain.process.cursors, chain.process.settings, chain.stage.n_draws
    if chain.outcome == Outcome.STAGE_DONE and not chain.is_discrete:
        cursors.stage_start_time = chain.process.path.time - cursors.draw_index * kernel.draw_spacing
    kernel.n_draws = n_draws
    kernel.end_time = cursors.stage_start_time + n_draws * kernel.draw_spacing
    kernel.most_gradients = gradients_of_chain(sum(each.n_draws for each in stages), settings.gradient_budget)
    if chain.n_draws < n_draws and chain.outcome in (Outcome.STAGE_DONE, Outcome.STOPPED):
        chain.outcome = Outcome.RUNNING


def with_draw_rows(records: Records, n_rows: int) -> Records:
    """The same records with room for so many draws; those that there are stay."""
    if len(records.draws) == n_rows:
        return records
    (room,) = init_records(1, records.draws.shape[1], n_rows, 0, 0, 0)
    n_kept = min(n_rows, len(records.draws))
    room.draws[:n_kept], room.statistics[:n_kept] = records.draws[:n_kept], records.statistics[:n_kept]
    return dataclasses.replace(records, draws=room.draws, statistics=room.statistics)


def _with_room_for(records: Records, settings: RunSettings, n_warmup: int, rows_at_once: int | None) -> Records:
    """The same records for a run that has become longer."""
    if rows_at_once is None:
        records = with_draw_rows(records, n_warmup + settings.draws)
    dim, n_functions = records.draws.shape[1], records.interval_functions.shape[1]
    n_intervals = max(settings.n_intervals, len(records.interval_duration))
    (room,) = init_records(1, dim, 0, n_intervals, n_functions, 0)
    intervals = {name: getattr(room, name) for name in INTERVALS}
    for name, rows in intervals.items():
        rows[: len(getattr(records, name))] = getattr(records, name)
    return dataclasses.replace(records, **intervals)
