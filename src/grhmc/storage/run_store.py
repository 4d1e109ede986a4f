"""A run on disk while it goes on: draws as zarr, and the states of its chains."""

from __future__ import annotations

import contextlib
import io
import json
import os
import uuid
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from grhmc.models.log_density import LogDensity
from grhmc.models.optional_packages import import_for
from grhmc.process.statistics import STATISTICS
from grhmc.results.checkpoint import CheckpointError, read_checkpoint, write_checkpoint
from grhmc.results.datatree import statistic_type
from grhmc.run.chain import Chain
from grhmc.run.chain_record import named_statistics
from grhmc.run.draw_rows import hand_over
from grhmc.run.keeper import Rows
from grhmc.settings import RunSettings
from grhmc.storage.arrays import create_draw_array, rows_of_chunk, set_lengths
from grhmc.storage.checkpoints import Checkpoints, load_states
from grhmc.storage.chunks import (
    POSITION,
    STATES,
    STATISTICS_GROUP,
    StoreWriter,
    arrays_of_draws,
    lend,
    take_back,
    write_rows,
)
from grhmc.storage.fingerprint import values_at
from grhmc.storage.folders import folder_at
from grhmc.storage.saved_run import SavedRun, describe_run, read_settings
from grhmc.storage.settings_json import settings_to_json

if TYPE_CHECKING:
    import zarr

    from grhmc.results.record import ChainRecord

_DESCRIPTION, _STARTS, _COMPLETE = "run.json", "starts.npz", "complete.json"


class StoreError(OSError):
    """What a run draws could not be written to its store."""


class RunStore:
    """Keeps what chains draw on disk.

    Parameters
    ----------
    location : str
        A folder, or a URL that fsspec knows.
    settings : RunSettings
    dim : int
    epoch : int
        That the run is in.
    rows_at_once : int, optional
        Draws of a chunk, of a run that is there already.
    """

    def __init__(
        self, location: str, settings: RunSettings, dim: int, epoch: int = 0, rows_at_once: int | None = None
    ) -> None:
        self.location = location
        self.settings = settings
        self.rows_at_once = rows_of_chunk(dim) if rows_at_once is None else rows_at_once
        self.states = folder_at(f"{location}/{STATES}")
        self._checkpoints = Checkpoints(self.states, settings.chains, epoch)
        self._arrays: dict[str, Any] = {}

    # ------------------------------------------------------------------ beginning

    def create(
        self,
        model: LogDensity,
        starts: np.ndarray,
        function_names: Sequence[str],
        kept: tuple[str, ...] | None,
        terms: Sequence[str],
    ) -> None:
        """Write what the run is made of, and arrays with nothing in them."""
        description = describe_run(model, self.settings, function_names, kept, terms)
        description["rows_at_once"] = self.rows_at_once
        with _explained(self.location):
            root = self.root("w-")
            group = root.create_group(POSITION)
            shape = (self.settings.chains, self.settings.draws)
            rows = self.rows_at_once
            create_draw_array(
                group,
                "position",
                shape=(*shape, model.dim),
                dims=("chain", "draw", "unconstrained"),
                dtype=np.dtype(np.float64),
                rows=rows,
            )
            statistics = root.create_group(STATISTICS_GROUP)
            for name in named_statistics(np.empty((0, len(STATISTICS))), self.settings.is_discrete):
                dtype = np.dtype(statistic_type(name))
                create_draw_array(statistics, name, shape=shape, dims=("chain", "draw"), dtype=dtype, rows=rows)
            file = io.BytesIO()
            write_checkpoint(file, {"starts": starts, "values": values_at(model, starts)}, {})
            self.states.write(_STARTS, file.getvalue())
            self.states.write(_DESCRIPTION, json.dumps(description).encode())
            self.consolidate()
        self.open_arrays()

    def root(self, mode: Any = "r+") -> zarr.Group:
        """The group that everything is in."""
        zarr = import_for("store=", "zarr", "store")
        return zarr.open_group(self.location, mode=mode, zarr_format=3, use_consolidated=False)

    def consolidate(self) -> None:
        """Write the description of all arrays into one file, for readers."""
        zarr = import_for("store=", "zarr", "store")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that zarr's third format does not have them yet, and of our own files
            zarr.consolidate_metadata(self.location, zarr_format=3)

    def open_arrays(self) -> None:
        """Make ready to write draws."""
        self.states.tidy()
        take_back(self.location)
        root = self.root()
        for name in (POSITION, STATISTICS_GROUP):
            set_lengths(self.location, root[name], self.settings.draws)  # pyright: ignore[reportArgumentType]
        self._arrays = arrays_of_draws(self.location)

    # ------------------------------------------------------------------ while chains run

    def after_block(self, chain: Chain) -> None:
        """Write the draws that fill a chunk, and the chain's state where that is due."""
        with _explained(self.location):
            while chain.n_draws - chain.n_stored >= self.rows_at_once:
                self._write_rows(chain, self.rows_at_once)
                hand_over(chain, self.rows_at_once)
            if self._checkpoints.is_due(chain):
                self._checkpoints.save(chain)

    def before_adaptation(self, chains: Sequence[Chain]) -> None:
        """All chains wait, and are about to be changed."""
        with _explained(self.location):
            self._checkpoints.before_adaptation(chains)

    def lend_writer(self) -> StoreWriter:
        """What workers write by, where they see the store."""
        location = self.location if "://" in self.location else os.path.abspath(self.location)
        writer = StoreWriter(location, uuid.uuid4().hex, self.rows_at_once, self.settings.is_discrete)
        with _explained(self.location):
            lend(writer)
        return writer

    def take_writer_back(self) -> None:
        """Have workers write no more, should any still be at work."""
        with contextlib.suppress(OSError):  # the end of a run must not fail by it
            take_back(self.location)

    def complete_chunk(self, chain: Chain, rest: Rows) -> None:
        """Write the chunk of those draws that a chain has in memory, and of others that complete it."""
        present = self._rows(chain, chain.n_draws - chain.n_stored)
        rows = Rows(*(np.concatenate(parts) for parts in zip(present, rest, strict=True)))
        if len(rows.draws):
            with _explained(self.location):
                write_rows(self._arrays, chain.index, chain.n_stored, rows, is_discrete=self.settings.is_discrete)

    def save(self, chains: Sequence[Chain]) -> None:
        """Write the states of all chains from which there is a way on."""
        with _explained(self.location):
            for chain in chains:
                self._checkpoints.save(chain)

    def write_rest(self, chains: Sequence[Chain]) -> None:
        """Write the draws that do not fill a chunk; they stay in memory, and in the chain's state."""
        with _explained(self.location):
            for chain in chains:
                n_rows = chain.n_draws - chain.n_stored
                if n_rows:
                    self._write_rows(chain, n_rows)

    def _write_rows(self, chain: Chain, n_rows: int) -> None:
        rows = self._rows(chain, n_rows)
        write_rows(self._arrays, chain.index, chain.n_stored, rows, is_discrete=self.settings.is_discrete)

    def _rows(self, chain: Chain, n_rows: int) -> Rows:
        """The first draws of sampling that a chain has in memory."""
        part = slice(chain.n_warmup_rows, chain.n_warmup_rows + n_rows)
        return Rows(chain.records.draws[part], chain.records.statistics[part])

    def draws_of(self, chain: int, first: int, end: int) -> np.ndarray:
        """Draws of a chain that are in the store, shape (end - first, dim)."""
        return np.asarray(self._arrays[POSITION][chain, first:end])

    def complete(self, record: ChainRecord) -> None:
        """Put the draws that a chain has handed over, and their statistics, in front of those in a record."""
        n_stored = record.n_draws - len(record.draws)
        record.draws = np.concatenate([self.draws_of(record.chain, 0, n_stored), record.draws])
        for name, values in record.statistics.items():
            stored = np.asarray(self._arrays[name][record.chain, :n_stored])
            record.statistics[name] = np.concatenate([stored, values])

    def read_description(self) -> dict[str, Any]:
        """What the run is made of."""
        return json.loads(self.states.read(_DESCRIPTION))

    def write_settings(self, settings: RunSettings) -> None:
        """Note that the run has become longer."""
        description = self.read_description() | {"settings": settings_to_json(settings)}
        self.states.delete(_COMPLETE)
        self.states.write(_DESCRIPTION, json.dumps(description).encode())
        self.settings = settings

    def mark_complete(self, *, is_diagnosed: bool) -> None:
        """Note that all of its result is there, and nothing is left to do."""
        with _explained(self.location):
            self.states.write(_COMPLETE, json.dumps({"is_diagnosed": is_diagnosed}).encode())


def is_run(location: str) -> bool:
    """Whether there is a run that was begun."""
    return _DESCRIPTION in folder_at(f"{location}/{STATES}").names()


def is_complete(location: str, *, is_diagnosed: bool) -> bool:
    """Whether the run has come to its end, with all of its result and, if wanted, a diagnosis."""
    try:
        note = json.loads(folder_at(f"{location}/{STATES}").read(_COMPLETE))
    except (FileNotFoundError, json.JSONDecodeError, UnicodeDecodeError):
        return False
    return isinstance(note, dict) and bool(note.get("is_diagnosed") or not is_diagnosed)


def check_new(location: str | os.PathLike[str]) -> str:
    """The place of a new run, from a user's argument.

    Raises
    ------
    TypeError
        If it is no path.
    ImportError
        Without zarr.
    FileExistsError
        If something is there.
    """
    if not isinstance(location, str | os.PathLike):
        raise TypeError(f"store must be a path or a URL such as 'run.zarr', got {location!r}")
    place = os.fspath(location)
    if not isinstance(place, str) or not place:
        raise TypeError(f"store must be a path or a URL such as 'run.zarr', got {location!r}")
    import_for("store=", "zarr", "store")
    found = folder_at(place).names()
    if found or ("://" not in place and os.path.lexists(place) and not os.path.isdir(place)):
        raise FileExistsError(
            f"store is {place!r}, where there is something already; grhmc.resume({place!r}, model) goes on with a run, "
            "and a new one needs another place"
        )
    return place


def load_run(location: str | os.PathLike[str]) -> SavedRun:
    """Read a run that was begun.

    Raises
    ------
    FileNotFoundError
        If there is none.
    CheckpointError
        If its files are damaged, or of another format.
    """
    place = os.fspath(location)
    states = folder_at(f"{place}/{STATES}")
    try:
        description = json.loads(states.read(_DESCRIPTION))
        starts = read_checkpoint(io.BytesIO(states.read(_STARTS)), f"{place}, {_STARTS}").arrays
        settings = read_settings(description, place)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{place} holds no run of grhmc (no {STATES}/{_DESCRIPTION} in it)") from error
    except (KeyError, TypeError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{place} is damaged: its {STATES}/{_DESCRIPTION} cannot be read ({error})") from error
    epoch, chains = load_states(states, settings.chains, place)
    return SavedRun(settings, description, starts["starts"], starts["values"], chains, epoch)


@contextlib.contextmanager
def _explained(location: str) -> Iterator[None]:
    """A block of code whose OSErrors say what could not be written where, and what to do."""
    try:
        yield
    except (FileExistsError, StoreError):
        raise
    except OSError as error:
        raise StoreError(
            error.errno,
            f"the run could not be written to {location!r} ({error.strerror or error}). What was written before is "
            f"whole: once there is room and permission, grhmc.resume({location!r}, model) goes on",
        ) from error
