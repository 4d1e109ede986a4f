"""Saved states of a run's chains, from which it goes on after it was killed.

Chains that pool what they have found depend on one another, so that only states of one *epoch*, the time between two
cross-chain adaptations, belong together. Each chain writes a file per epoch and replaces it as it goes. Where all
chains have one of the present epoch, ``current.json`` names that epoch, and files of earlier ones go: whenever a run is
killed, ``current.json`` leads to one whole set of states.
"""

from __future__ import annotations

import io
import json
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from grhmc.results.checkpoint import CheckpointError, read_checkpoint, write_checkpoint
from grhmc.run.chain import Chain
from grhmc.storage.folders import Folder

INTERVAL_SECONDS = 2.0
"""Between two checkpoints of a chain, or more where writing one takes longer than a fiftieth of it."""

_WRITING_SHARE = 50.0
_CURRENT = "current.json"


class Checkpoints:
    """Writes the states of a run's chains, each from its own thread.

    Parameters
    ----------
    folder : Folder
    n_chains : int
    epoch : int
        That the run is in.
    """

    def __init__(self, folder: Folder, n_chains: int, epoch: int = 0) -> None:
        self._folder = folder
        self._n_chains = n_chains
        self._lock = threading.Lock()
        self._epoch = epoch
        self._current = epoch  # that the file names
        self._saved: set[int] = set()  # chains with a file of the present epoch
        now = time.monotonic()
        self._due = [now + INTERVAL_SECONDS] * n_chains
        self._all_due = now + INTERVAL_SECONDS

    def is_due(self, chain: Chain) -> bool:
        """Whether it is time to save a chain again."""
        return time.monotonic() >= self._due[chain.index]

    def save(self, chain: Chain) -> None:
        """Save a chain, if there is a way on from its state."""
        if not chain.is_whole:
            return
        began = time.monotonic()
        epoch = self._epoch
        file = io.BytesIO()
        write_checkpoint(file, chain.to_arrays(), {"epoch": epoch, "chain": chain.index})
        self._folder.write(_file_name(epoch, chain.index), file.getvalue())
        now = time.monotonic()
        self._due[chain.index] = now + max(INTERVAL_SECONDS, _WRITING_SHARE * (now - began))
        with self._lock:
            self._saved.add(chain.index)
            if len(self._saved) == self._n_chains:
                self._all_due = min(self._due)
                self._name_epoch()

    def before_adaptation(self, chains: Sequence[Chain]) -> None:
        """Another epoch is about to begin; chains, which all wait, are saved if that was not done for long."""
        if time.monotonic() >= self._all_due:
            for chain in chains:
                self.save(chain)
        with self._lock:
            self._epoch += 1
            self._saved = set()

    def _name_epoch(self) -> None:
        """Have the file name the present epoch, whose states are all there, and delete those of earlier ones."""
        if self._current == self._epoch and _CURRENT in self._folder.names():
            return
        self._folder.write(_CURRENT, json.dumps({"epoch": self._epoch}).encode())
        self._current = self._epoch
        for name in self._folder.names():
            if name.startswith("epoch-") and _epoch_of(name) < self._epoch:
                self._folder.delete(name)


def load_states(folder: Folder, n_chains: int, place: str) -> tuple[int, list[dict[str, np.ndarray]]]:
    """The epoch that a run was in, and the state of each of its chains.

    Raises
    ------
    CheckpointError
        If a file is missing or damaged.
    """
    try:
        epoch = int(json.loads(folder.read(_CURRENT))["epoch"])
        states = [
            read_checkpoint(io.BytesIO(folder.read(_file_name(epoch, index))), f"{place}, {_file_name(epoch, index)}")
            for index in range(n_chains)
        ]
    except FileNotFoundError as error:
        raise CheckpointError(
            f"{place} has no complete checkpoint ({error}): the run ended before its first one, or files were deleted"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(f"{place} has a damaged {_CURRENT} ({error})") from error
    return epoch, [state.arrays for state in states]


def _file_name(epoch: int, chain: int) -> str:
    return f"epoch-{epoch:06d}-chain-{chain:05d}.npz"


def _epoch_of(name: str) -> Any:
    return int(name.split("-")[1])
