"""A chain's whole state as plain arrays, and a chain put back into it. `grhmc.sample` does neither so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grhmc.adaptation.tuners.scale_from_moments import MCT
from grhmc.dynamics.coefficients import TABLEAUS
from grhmc.outcomes import Outcome
from grhmc.run.plain_arrays import walk_arrays
from grhmc.run.seeds import generator_to_array, restore_generator
from grhmc.run.stage_tuners import renew_crossing_time_tuner

if TYPE_CHECKING:
    from grhmc.run.chain_state import ChainState

_SCALARS = (
    "stage_index",
    "n_repeats",
    "is_agreed",
    "is_lost",
    "u_turns_per_draw",
    "u_turns_per_refreshment",
    "noise",
    "n_moves",
    "n_places",
    "warmup_draws_before",
)
_VECTORS = ("seconds", "sampling_start", "time_per_gradient", "places")
_OWN_ARRAYS = ("rng", "outcome", "integrator", *_SCALARS, *_VECTORS)
# Beside those of the process and the records.


def chain_to_arrays(chain: ChainState) -> dict[str, np.ndarray]:
    """The chain's whole state and records as plain arrays, by name."""
    arrays = {f"process.{name}": array.copy() for name, array in walk_arrays(chain.process)}
    arrays |= {f"records.{name}": array.copy() for name, array in walk_arrays(chain.records)}
    arrays["rng"] = generator_to_array(chain.process.rng)
    arrays["outcome"] = np.array(int(chain.outcome))
    arrays["integrator"] = np.array(tuple(TABLEAUS).index(chain.integrator))
    arrays |= {name: np.array(getattr(chain, name)) for name in (*_SCALARS, *_VECTORS)}
    return arrays


def restore_chain(chain: ChainState, arrays: dict[str, np.ndarray]) -> None:
    """Put a chain made with the same model, settings and stages into a saved state; see `Chain.restore`."""
    missing = [name for name in _OWN_ARRAYS if name not in arrays]
    if missing:
        raise ValueError(f"the saved state belongs to another run: it has no {', '.join(missing)}")
    chain.use_integrator(tuple(TABLEAUS)[int(arrays["integrator"])])
    for name in _SCALARS:
        setattr(chain, name, type(getattr(chain, name))(arrays[name]))
    for name in _VECTORS:
        getattr(chain, name)[:] = arrays[name]
    if chain.stage_index >= 0 and chain.stage.scale.tuner == MCT:
        renew_crossing_time_tuner(chain.process, chain.stage.scale)
    own = [(f"process.{name}", array) for name, array in walk_arrays(chain.process)]
    own += [(f"records.{name}", array) for name, array in walk_arrays(chain.records)]
    for name, array in own:
        saved = arrays.get(name)
        if saved is None or saved.shape != array.shape:
            shape = "nothing" if saved is None else f"shape {saved.shape}"
            raise ValueError(
                f"the saved state belongs to another run: {name} should have shape {array.shape}, found {shape}"
            )
        array[...] = saved
    restore_generator(chain.process.rng, arrays["rng"])
    chain.outcome = Outcome(int(arrays["outcome"]))
