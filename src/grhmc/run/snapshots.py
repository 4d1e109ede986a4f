"""What the progress display shows of a running chain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grhmc.outcomes import Outcome
from grhmc.run.cost import cost_hint
from grhmc.run.progress import ChainSnapshot

if TYPE_CHECKING:
    from grhmc.run.chain import Chain


def snapshot(chain: Chain) -> ChainSnapshot:
    """What the progress display shows of a chain."""
    clock = chain.process.clock[0]
    to_come = sum(stage.n_draws for stage in chain.stages[max(chain.stage_index, 0) :])  # if none is skipped
    n_tried = clock.n_steps + clock.n_rejected + clock.n_refused
    return ChainSnapshot(
        chain=chain.index,
        stage=chain.stage.name,
        draws_done=chain.draws_done,
        draws_total=chain.warmup_draws_before + to_come,
        n_gradients=int(clock.n_gradients),
        seconds=float(chain.seconds.sum()),
        event_rate=float(clock.event_rate),
        step_size=float(clock.step_size),
        rejected_fraction=float(clock.n_rejected) / max(int(n_tried), 1),
        n_diverging=int(clock.n_diverging),
        finished=chain.outcome != Outcome.RUNNING,
        hint=cost_hint(chain),
    )
