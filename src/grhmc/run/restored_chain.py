"""A new chain in a saved state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grhmc.models.path_functions import NO_FUNCTIONS
from grhmc.run.chain import Chain
from grhmc.run.seeds import chain_generators

if TYPE_CHECKING:
    from grhmc.adaptation.stage import Stage
    from grhmc.models.log_density import LogDensity
    from grhmc.settings import RunSettings


def restored_chain(
    model: LogDensity,
    settings: RunSettings,
    stages: list[Stage],
    *,
    index: int,
    start: np.ndarray,
    state: dict[str, np.ndarray],
    rows_at_once: int | None,
    path_functions: tuple[int, int, int] = NO_FUNCTIONS,
) -> Chain:
    """Make a chain and put it into a state.

    Parameters
    ----------
    model, settings, stages, index, rows_at_once, path_functions
        See `Chain`.
    start : ndarray, shape (dim,)
        Where the chain started; the density is finite there.
    state : dict of str to ndarray
        From `Chain.to_arrays`.

    Raises
    ------
    ValueError
        If the state belongs to another run.
    """
    (rng,) = chain_generators(0, 1)  # whose state is overwritten, as are centre, scale and event rate
    chain = Chain(
        model,
        settings,
        stages,
        index=index,
        rng=rng,
        start=start,
        centre=np.zeros(model.dim),
        scale=np.ones(model.dim),
        event_rate=1.0,
        path_functions=path_functions,
        rows_at_once=rows_at_once,
    )
    chain.restore(state)
    return chain
