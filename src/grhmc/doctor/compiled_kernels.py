"""Where compiled kernels are kept, and whether a run loads them from there or must compile them."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grhmc._jit import source_fingerprint
from grhmc._kernel_cache import KernelCache
from grhmc._shipped_kernels import shipped_library
from grhmc.doctor.finding import Finding


@dataclass
class Compilations:
    """How many kernels were compiled in a block, and how long the block took, in seconds."""

    n_compiled: int = 0
    seconds: float = 0.0


@contextlib.contextmanager
def watch_compilations() -> Iterator[Compilations]:
    """Count what Numba compiles in the block; what it loads from the disk does not count."""
    from numba.core.event import EventStatus, install_recorder

    watched = Compilations()
    began = time.perf_counter()
    with install_recorder("numba:compile") as recorder:
        yield watched
    watched.seconds = time.perf_counter() - began
    watched.n_compiled = sum(event.status == EventStatus.START for _, event in recorder.buffer)


def kernel_caches() -> list[KernelCache]:
    """The caches of all kernels in the modules of grhmc that are loaded."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("grhmc.")]
    caches = (getattr(value, "_cache", None) for module in modules for value in list(vars(module).values()))
    return [one for one in caches if isinstance(one, KernelCache)]


def cache_finding(watched: Compilations) -> Finding:
    """What the cache holds after a run, and what that run had to compile."""
    folders, is_writable = _folders()
    text = _contents(folders)
    if shipped_library(source_fingerprint()) is not None:
        text = f"the sampler's came with grhmc, for this kind of machine; {text}"
    if watched.n_compiled == 0:
        return Finding("compiled kernels", "ok", f"nothing was compiled; {text}")
    compiled = f"{watched.n_compiled} were compiled, {watched.seconds:.0f} s with the run"
    if is_writable:
        return Finding("compiled kernels", "ok", f"{compiled}; from now on they are loaded; {text}")
    return Finding(
        "compiled kernels",
        "note",
        f"{compiled}, and will be in every process: no folder for them is writable; {text}",
        "set NUMBA_CACHE_DIR to a folder that can be written to",
    )


def _folders() -> tuple[set[Path], bool]:
    """The folders in use, and whether all that should be written can be."""
    folders: set[Path] = set()
    is_writable = True
    for one in kernel_caches():
        to_read, to_write = one.folders
        folders.update(to_read if to_write is None else [to_write])
        is_writable &= to_write is not None
    return folders, is_writable


def _contents(folders: set[Path]) -> str:
    files = [file for folder in folders if folder.is_dir() for file in folder.glob("*.grhmc")]
    megabytes = sum(file.stat().st_size for file in files) / 1e6
    places = sorted({str(_shared_part(folder)) for folder in folders})
    return f"{len(files)} files, {megabytes:.0f} MB, in {', '.join(places) or 'no folder'}"


def _shared_part(folder: Path) -> Path:
    """The folder that holds the caches of all parts of the package."""
    package = Path(__file__).resolve().parents[1]
    return package if folder.is_relative_to(package) else folder.parent
