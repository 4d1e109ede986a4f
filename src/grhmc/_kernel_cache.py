"""Compiled kernels on disk: found in folders that cannot be written to, too; never stale, never damaged.

Numba's own cache raises where no folder is writable, loads whatever a damaged file holds, ends the run when the disk is
full, and trusts an index that two processes may write at once. Here every compilation is one file, which says what it
was made from and carries a checksum. Whatever is wrong with the cache is said once, and the kernel is compiled.
"""

from __future__ import annotations

import errno
import hashlib
import inspect
import logging
import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core import config
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

# Relative, because the tests put these files into a package of their own.
from ._files import replacing

_LOG = logging.getLogger("grhmc")
# A log, not a warning: with `-W error` a run must not end for want of a cache.

_N_STAMP = _N_CHECKSUM = 32


class KernelCache:
    """What Numba's dispatchers and C functions expect of a cache.

    Parameters
    ----------
    function : callable
        The function that is compiled.
    stamp : str
        What its compilation depends on besides the file it is written in.
    """

    def __init__(self, function: Callable[..., Any], stamp: str) -> None:
        self._function = function
        self._depends_on = stamp
        self._is_flushed = False

    @cached_property
    def stamp(self) -> bytes:
        """Hash of all that a compilation depends on, but for the machine and the types of the arguments."""
        source = Path(inspect.getfile(self._function)).read_bytes()
        versions = f"{numba.__version__} {llvmlite.__version__} {sys.version_info} {self._depends_on}"
        return hashlib.sha256(versions.encode() + source).digest()

    @cached_property
    def folders(self) -> tuple[list[Path], Path | None]:
        """Where to look, and where to write: the first folder that allows it, after which no other is looked at."""
        to_read: list[Path] = []
        for folder in _possible_folders(Path(inspect.getfile(self._function)).resolve().parent):
            to_read.append(folder)
            if _is_writable(folder):
                return to_read, folder
        return to_read, None

    @property
    def cache_path(self) -> str | None:
        """Where it writes."""
        _, folder = self.folders
        return None if folder is None else str(folder)

    def enable(self) -> None:
        """Nothing to do: it is never off."""

    def holds_any(self) -> bool:
        """Whether there is a compilation of these sources, for whatever machine and arguments."""
        name = self._file_name("")
        pattern = name[: name.rindex("-")] + "-*.grhmc"
        to_read, _ = self.folders
        return any(self._is_of_these_sources(file) for folder in to_read for file in folder.glob(pattern))

    def _is_of_these_sources(self, file: Path) -> bool:
        try:
            with file.open("rb") as content:
                return content.read(_N_STAMP) == self.stamp
        except OSError:
            return False

    def flush(self) -> None:
        """Load nothing more: the next compilations replace the files."""
        self._is_flushed = True

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The compilation for a signature, or None."""
        target_context.refresh()
        key = self._key(signature, target_context.codegen())
        to_read, _ = self.folders
        for folder in [] if self._is_flushed else to_read:
            payload = self._read(folder / self._file_name(key))
            if payload is not None:
                found_key, compilation = pickle.loads(payload)
                if found_key == key:
                    return CompileResult._rebuild(target_context, *compilation)
        return None

    def save_overload(self, signature: Any, compilation: Any) -> None:
        """Keep a compilation for the next process, if that can be done."""
        if compilation.library.has_dynamic_globals or any(not lifted.can_cache for lifted in compilation.lifted):
            return
        to_read, folder = self.folders
        if folder is None:
            _say_that_none_is_writable()
            return
        key = self._key(signature, compilation.codegen)
        payload = dumps((key, compilation._reduce()))
        try:
            with replacing(folder / self._file_name(key)) as file:
                file.write_bytes(self.stamp + hashlib.sha256(payload).digest() + payload)
        except OSError as error:
            _say_that_it_cannot_be_written(str(folder), error.strerror)
            self.folders = (to_read, None)

    def _read(self, file: Path) -> bytes | None:
        """Pickled key and compilation; None if the file is not there, of other sources, or damaged."""
        try:
            content = file.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            _say_that_it_is_damaged(file, error.strerror or "cannot be read")
            return None
        checksum, payload = content[_N_STAMP : _N_STAMP + _N_CHECKSUM], content[_N_STAMP + _N_CHECKSUM :]
        if hashlib.sha256(payload).digest() != checksum:
            _say_that_it_is_damaged(file, "its checksum is wrong")
            return None
        return payload if content[:_N_STAMP] == self.stamp else None

    def _key(self, signature: Any, codegen: Any) -> Any:
        cells = self._function.__closure__ or ()
        closure = dumps(tuple(cell.cell_contents for cell in cells))
        code = hashlib.sha256(self._function.__code__.co_code + closure).hexdigest()
        return signature, codegen.magic_tuple(), code

    def _file_name(self, key: Any) -> str:
        digest = hashlib.sha256(repr((key, sys.implementation.cache_tag)).encode()).hexdigest()[:20]
        name = self._function.__qualname__.rpartition(".")[2].strip("<>")
        return f"{Path(inspect.getfile(self._function)).stem}.{name}-{digest}.grhmc"


def _possible_folders(source_folder: Path) -> Iterator[Path]:
    """Numba's own choice: what NUMBA_CACHE_DIR says, beside the sources, the user's cache."""
    apart = f"{source_folder.name}_{hashlib.sha256(str(source_folder).encode()).hexdigest()[:20]}"
    if config.CACHE_DIR:  # pyright: ignore[reportAttributeAccessIssue]
        yield Path(config.CACHE_DIR, apart)  # pyright: ignore[reportAttributeAccessIssue]
    yield source_folder / "__pycache__"
    yield Path(AppDirs(appname="numba", appauthor=False).user_cache_dir, apart)


@cache
def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        # On a full disk, too, the folder is the one to be named.
        return error.errno in (errno.ENOSPC, errno.EDQUOT) and os.access(folder, os.W_OK)
    return True


@cache
def _say_that_none_is_writable() -> None:
    _LOG.warning(
        "grhmc: no folder for compiled kernels is writable (beside the sources, the user's cache): they are compiled "
        "in memory, which takes up to a minute in every process; set NUMBA_CACHE_DIR to a folder that is writable"
    )


@cache
def _say_that_it_cannot_be_written(folder: str, reason: str) -> None:
    _LOG.warning(
        "grhmc: compiled kernels cannot be written to %s (%s): they are compiled again in every process; make room "
        "there, or set NUMBA_CACHE_DIR to another folder",
        folder,
        reason,
    )


_damaged_files: list[Path] = []


def _say_that_it_is_damaged(file: Path, reason: str) -> None:
    """Of the first file only: where one is damaged, others will be."""
    if not _damaged_files:
        message = "grhmc: compiled kernels in %s are damaged (%s: %s): they are compiled again"
        _LOG.warning(message, file.parent, file.name, reason)
    _damaged_files.append(file)
