"""Where chains of a run wait for one another during warm-up: what they have found goes in, decisions come out."""

from __future__ import annotations

from collections.abc import Sequence

from grhmc.adaptation.pooling import Situation, pool
from grhmc.run.chain import Chain


def adapt_across_chains(chains: Sequence[Chain]) -> None:
    """Let chains that wait at the end of the same stage agree, and go on."""
    first = chains[0]
    situation = Situation(
        stages=first.stages,
        stage_index=first.stage_index,
        is_discrete=first.is_discrete,
        integrator=first.integrator,
        chooses_integrator=first.settings.chooses_integrator,
    )
    decisions = pool([chain.findings() for chain in chains], situation)
    for chain, decision in zip(chains, decisions, strict=True):
        chain.apply(decision)
