"""Random numbers of a run: one independent generator per chain."""

from __future__ import annotations

import numpy as np


def chain_generators(seed: int | tuple[int, ...] | None, chains: int) -> list[np.random.Generator]:
    """A generator per chain, the same whatever the executor; from the system's randomness if `seed` is None."""
    children = np.random.SeedSequence(seed).spawn(chains)
    return [np.random.Generator(np.random.PCG64(child)) for child in children]
