"""Keep what a figure needs computed once in a file, so that a killed run continues and a new drawing is quick."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from grhmc.results.checkpoint import CheckpointError, load_checkpoint, save_checkpoint


def cached(path: Path, compute: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The arrays in `path`, computed and saved there if the file is missing or damaged."""
    if path.exists():
        try:
            return load_checkpoint(path).arrays
        except CheckpointError:
            pass
    arrays = compute()
    path.parent.mkdir(parents=True, exist_ok=True)
    save_checkpoint(path, arrays, {})
    return arrays
