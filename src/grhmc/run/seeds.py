"""Random numbers of a run: one independent generator per chain, whose state can be saved as an array."""

from __future__ import annotations

import numpy as np

_WORD = (1 << 64) - 1


def chain_generators(seed: int | tuple[int, ...] | None, chains: int) -> list[np.random.Generator]:
    """A generator per chain, the same whatever the executor; from the system's randomness if `seed` is None."""
    children = np.random.SeedSequence(seed).spawn(chains)
    return [np.random.Generator(np.random.PCG64(child)) for child in children]


def generator_to_array(rng: np.random.Generator) -> np.ndarray:
    """The state of a PCG64 generator as six 64-bit words."""
    state = rng.bit_generator.state
    words = [state["state"]["state"], state["state"]["inc"]]
    parts = [part for word in words for part in (word & _WORD, word >> 64)]
    return np.array([*parts, state["has_uint32"], state["uinteger"]], dtype=np.uint64)


def restore_generator(rng: np.random.Generator, array: np.ndarray) -> None:
    """Put a PCG64 generator back into a state saved by `generator_to_array`."""
    parts = [int(part) for part in array]
    rng.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": parts[0] | parts[1] << 64, "inc": parts[2] | parts[3] << 64},
        "has_uint32": parts[4],
        "uinteger": parts[5],
    }
