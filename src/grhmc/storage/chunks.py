"""Draws on their way into the arrays of a run on disk: from the process that called `sample`, or from workers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grhmc.models.optional_packages import import_for
from grhmc.run.chain_record import named_statistics
from grhmc.run.keeper import Rows
from grhmc.storage.folders import folder_at

POSITION, STATISTICS_GROUP = "unconstrained_posterior", "sample_stats"
STATES = "sampler"
"""The folder of what the sampler needs."""

_LOAN = "workers.json"


def arrays_of_draws(location: str, mode: Any = "r+") -> dict[str, Any]:
    """The arrays of draws and of their statistics, by name; that of draws by its group's."""
    zarr = import_for("store=", "zarr", "store")
    root = zarr.open_group(location, mode=mode, zarr_format=3, use_consolidated=False)
    return {POSITION: root[f"{POSITION}/position"], **dict(root[STATISTICS_GROUP].arrays())}


def write_rows(arrays: Mapping[str, Any], chain: int, first: int, rows: Rows, *, is_discrete: bool) -> None:
    """Write draws of a chain and their statistics, from the draw `first` on."""
    place = (chain, slice(first, first + len(rows.draws)))
    arrays[POSITION][place] = rows.draws
    for name, values in named_statistics(rows.statistics, is_discrete).items():
        arrays[name][place] = values.astype(arrays[name].dtype)


class WriterTakenBackError(RuntimeError):
    """A worker was about to write to a run that somebody else goes on with, or that has ended."""


@dataclass(frozen=True)
class StoreWriter:
    """Writes whole chunks of draws from a worker, where that sees the run on disk; a `ChunkWriter`.

    It does if it can read the token that was written there before the worker was sent anything: a folder of the same
    name, on another machine or copied, has another one or none.

    Attributes
    ----------
    location : str
        A folder, from the root on, or a URL.
    token : str
        Of the run as it goes on now.
    n_rows : int
        Draws of a chunk.
    is_discrete : bool
    """

    location: str
    token: str
    n_rows: int
    is_discrete: bool

    def is_in_reach(self) -> bool:
        """Whether this process sees the run on disk; what takes time is found out once."""
        if self in _out_of_reach:
            return False
        try:
            if self not in _arrays:
                self._check_token()
                arrays = arrays_of_draws(self.location)
                while len(_arrays) >= _MOST_RUNS:
                    _arrays.pop(next(iter(_arrays)))
                _arrays[self] = arrays
            return True
        except FileNotFoundError:  # yet, perhaps, of a disk that is shared over a network
            return False
        except Exception:  # a package or a permission that lacks here, a network that leads nowhere
            _out_of_reach.add(self)
            return False

    def write(self, chain: int, first: int, rows: Rows) -> None:
        """Write a whole chunk.

        Raises
        ------
        WriterTakenBackError
            If the run has come to its end, or somebody else goes on with it.
        Exception
            What the place raises.
        """
        self._check_token()
        write_rows(_arrays[self], chain, first, rows, is_discrete=self.is_discrete)

    def _check_token(self) -> None:
        found = json.loads(folder_at(f"{self.location}/{STATES}").read(_LOAN))
        if found != {"token": self.token}:
            raise WriterTakenBackError(f"{self.location} is not, or no longer, open to this worker")


_arrays: dict[StoreWriter, dict[str, Any]] = {}
_out_of_reach: set[StoreWriter] = set()
_MOST_RUNS = 4


def lend(writer: StoreWriter) -> None:
    """Let workers write by this writer, and by no other."""
    folder_at(f"{writer.location}/{STATES}").write(_LOAN, json.dumps({"token": writer.token}).encode())


def take_back(location: str) -> None:
    """Let no worker write."""
    folder_at(f"{location}/{STATES}").delete(_LOAN)
