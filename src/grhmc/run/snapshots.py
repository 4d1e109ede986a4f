"""What the progress display shows of running chains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from grhmc.outcomes import Outcome
from grhmc.run.chain_snapshot import ChainSnapshot
from grhmc.run.cost import cost_hint

if TYPE_CHECKING:
    from grhmc.run.chain import Chain
    from grhmc.run.chain_record import ChainCounts


class Watch:
    """Looks at the chains of a run from time to time, from another thread than theirs.

    Shares of what was rejected are of the present stage: a chain of the discrete process steps through warm-up windows
    by the continuous one, whose rejected steps are no rejected trajectories.
    """

    def __init__(self, chains: Sequence[Chain]) -> None:
        self._chains = chains
        self._since: list[tuple[int, ChainCounts]] = [(chain.stage_index, chain.counts) for chain in chains]

    def __call__(self) -> list[ChainSnapshot]:
        """Where each chain is."""
        return [self._look_at(number) for number in range(len(self._chains))]

    def _look_at(self, number: int) -> ChainSnapshot:
        chain = self._chains[number]
        stage_index, counts = chain.stage_index, chain.counts
        if stage_index != self._since[number][0]:
            self._since[number] = stage_index, counts
        return snapshot(chain, self._since[number][1])


def snapshot(chain: Chain, since: ChainCounts) -> ChainSnapshot:
    """Where a chain is, and what it rejected of what it has tried after `since`."""
    path, counts = chain.process.path[0], chain.counts
    first = max(chain.stage_index, 0)
    to_come = sum(stage.n_draws for stage in chain.stages[first:] if stage.is_warmup)  # if none is skipped
    stage, before, done = chain.stages[first], chain.warmup_draws_before, chain.draws_done
    by_trajectories = chain.is_discrete and stage.by_trajectories
    return ChainSnapshot(
        chain=chain.index,
        stage="waiting" if chain.outcome == Outcome.WAITING else stage.name,
        warmup_done=done if stage.is_warmup else before,
        warmup_total=before + to_come,
        draws_done=0 if stage.is_warmup else done - before,
        draws_total=sum(stage.n_draws for stage in chain.stages if not stage.is_warmup),
        n_gradients=counts.n_gradients,
        seconds=float(chain.seconds.sum()),
        is_discrete=chain.is_discrete,
        event_rate=None if chain.is_discrete else float(path.event_rate),
        step_size=float(path.trajectory_step if by_trajectories else path.step_size),
        rejected_fraction=_rejected_fraction(since, counts, by_trajectories, chain.is_discrete),
        n_diverging=counts.n_diverging,
        finished=chain.outcome not in (Outcome.RUNNING, Outcome.WAITING),
        hint=cost_hint(chain),
    )


def _rejected_fraction(
    since: ChainCounts, counts: ChainCounts, by_trajectories: bool, is_discrete: bool
) -> float | None:
    """Share of the trajectories, or of the steps of the continuous process; None where there is none yet."""
    if is_discrete and not by_trajectories:
        return None
    n_rejected = counts.n_rejected - since.n_rejected
    if by_trajectories:
        n_tried = counts.n_events - since.n_events
    else:
        n_tried = n_rejected + counts.n_steps - since.n_steps + counts.n_non_finite - since.n_non_finite
    return n_rejected / n_tried if n_tried > 0 else None
