"""A chain's whole state as plain arrays: what a checkpoint saves, and a chain goes on from bit by bit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grhmc.dynamics.coefficients import TABLEAUS
from grhmc.outcomes import Outcome
from grhmc.run.plain_arrays import walk_arrays
from grhmc.run.seeds import generator_to_array, restore_generator
from grhmc.tuning.scale_from_moments import MCT

if TYPE_CHECKING:
    from grhmc.run.chain import Chain

_OWN_ARRAYS = (
    "rng",
    "stage_index",
    "outcome",
    "seconds",
    "sampling_start",
    "choice",
    "time_per_gradient",
    "n_diverging_before",
    "n_repeats",
    "is_agreed",
    "warmup_draws_before",
)
# Beside those of the process and the records.


def chain_to_arrays(chain: Chain) -> dict[str, np.ndarray]:
    """The chain's whole state and records as plain arrays, by name."""
    arrays = {f"process.{name}": array.copy() for name, array in walk_arrays(chain.process)}
    arrays |= {f"records.{name}": array.copy() for name, array in walk_arrays(chain.records)}
    arrays["rng"] = generator_to_array(chain.process.rng)
    arrays["stage_index"] = np.array(chain.stage_index)
    arrays["outcome"] = np.array(int(chain.outcome))
    arrays["seconds"] = chain.seconds.copy()
    arrays["sampling_start"] = chain.sampling_start.copy()
    arrays["choice"] = np.array([int(chain.is_discrete), tuple(TABLEAUS).index(chain.integrator)])
    arrays["time_per_gradient"] = chain.time_per_gradient.copy()
    arrays["n_diverging_before"] = np.array(chain.n_diverging_before)
    arrays["n_repeats"] = np.array(chain.n_repeats)
    arrays["is_agreed"] = np.array(chain.is_agreed)
    arrays["warmup_draws_before"] = np.array(chain.warmup_draws_before)
    return arrays


def restore_chain(chain: Chain, arrays: dict[str, np.ndarray]) -> None:
    """Put a chain made with the same model, settings and stages into a saved state; see `Chain.restore`."""
    missing = [name for name in _OWN_ARRAYS if name not in arrays]
    if missing:
        raise ValueError(f"the saved state belongs to another run: it has no {', '.join(missing)}")
    is_discrete, integrator = arrays["choice"]
    chain.use(is_discrete=bool(is_discrete), integrator=tuple(TABLEAUS)[integrator])
    chain.time_per_gradient[:] = arrays["time_per_gradient"]
    chain.n_diverging_before = int(arrays["n_diverging_before"])
    chain.n_repeats = int(arrays["n_repeats"])
    chain.is_agreed = bool(arrays["is_agreed"])
    chain.warmup_draws_before = int(arrays["warmup_draws_before"])
    chain.stage_index = int(arrays["stage_index"])
    if chain.stage_index >= 0 and chain.stage.scale.tuner == MCT:
        chain.renew_crossing_time_tuner(chain.stage)
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
    chain.seconds[:] = arrays["seconds"]
    chain.sampling_start[:] = arrays["sampling_start"]
