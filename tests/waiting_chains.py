"""Chains that wait at the end of a stage where they pool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from grhmc import LogDensity, Outcome
from grhmc.adaptation.pooling import Situation
from grhmc.adaptation.stage import Stage
from grhmc.models.analytic import independent_normals
from grhmc.run.cross_chain import adapt_across_chains
from kernel_helpers import make_chains, run_settings

SD = np.array([1.0, 0.1, 10.0])
NORMALS = independent_normals(SD).log_density()


def waiting_chains(
    n_chains: int,
    *,
    model: LogDensity = NORMALS,
    waits_at: Callable[[Stage], bool] = lambda stage: stage.pools,
    all_windows: bool = True,
    **settings: Any,
) -> list[Any]:
    """Chains of a model in three dimensions that wait at a stage's end, by default the first where they always pool.

    With `all_windows` none is left out, even if they agree before.
    """
    chains = make_chains(
        model,
        run_settings(dim=3, tune=1000, chains=n_chains, event_rate="tuned", sample_interval=None, **settings),
    )
    if all_windows:
        for chain in chains:
            chain.stages = [replace(stage, may_end_windows=False) for stage in chain.stages]
    advance_until_they_wait(chains)
    while not waits_at(chains[0].stage):
        adapt_across_chains(chains)
        advance_until_they_wait(chains)
    return chains


def advance_until_they_wait(chains: list[Any]) -> None:
    for chain in chains:
        while chain.advance(10_000) == Outcome.RUNNING:
            pass
        assert chain.outcome == Outcome.WAITING


def situation_of(chain: Any) -> Situation:
    return Situation(
        chain.stages, chain.stage_index, chain.is_discrete, chain.integrator, chooses_integrator=True, counts_cost=True
    )
