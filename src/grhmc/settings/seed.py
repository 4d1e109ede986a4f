"""Seeds as users write them: an integer, several, or a NumPy generator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from grhmc.argument_checks import check_count

Seed = int | Sequence[int] | np.ndarray | np.random.Generator | None
"""None: a new one, from the system's source of randomness."""


def parse_seed(seed: Any) -> int | tuple[int, ...]:
    """From a user's argument: an integer or several, to seed a run with and to note in its result.

    A sequence is one seed, all its numbers together: chains are tuned together, and have no seeds of their own. From a
    generator one number is drawn, so that a second run with the same generator is another one.

    Raises
    ------
    TypeError, ValueError
        If it is none of these, or a number is negative.
    """
    if seed is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**63))
    if isinstance(seed, Sequence | np.ndarray) and not isinstance(seed, str | bytes):
        if np.ndim(seed) != 1 or len(seed) == 0:
            raise ValueError(f"seed must hold at least one integer in a plain sequence, got {seed!r}")
        for number in seed:
            check_count("each number of seed", number, at_least=0)
        return tuple(int(number) for number in seed)
    if isinstance(seed, np.random.RandomState):
        raise TypeError("seed must not be a legacy RandomState; use numpy.random.default_rng(...) or an integer")
    check_count("seed", seed, at_least=0)
    return int(seed)
