"""Put a file in its place once it is complete: what was there is kept until then, and a link is not followed."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

_PREFIX = ".grhmc-"


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path to write a file or a folder to, which takes the place of `path` if all goes well and vanishes otherwise.

    A symbolic link at `path` is replaced. Whoever can write to the folder cannot make us write elsewhere: the path
    lies in a new folder that only its owner can enter.

    Parameters
    ----------
    path : path-like
        Its folder must exist.

    Yields
    ------
    Path
        Of the same name, on the same disk; nothing is there yet.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: the folder {path.parent} does not exist")
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=path.parent) as folder:
        complete = Path(folder, path.name)
        yield complete
        complete.lstat()  # nothing was written: leave what is there alone
        if path.is_dir() and not path.is_symlink():
            path.rename(Path(folder, f"{path.name}.old"))
        elif complete.is_dir():
            path.unlink(missing_ok=True)
        os.replace(complete, path)


def delete_unfinished(folder: Path) -> None:
    """Delete what `replacing` leaves where the process was killed. No other process may write to the folder."""
    for path in folder.glob(f"{_PREFIX}*"):
        shutil.rmtree(path, ignore_errors=True)


def replace_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8, all or nothing."""
    with replacing(path) as complete:
        complete.write_text(text, encoding="utf-8")


def private_folder(path: Path) -> Path:
    """`path` as a folder that nobody else can write to, made if it is missing; elsewhere if somebody else made it.

    In a folder shared by all, such as that for temporary files, another user may have been there first.
    """
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    if not hasattr(os, "getuid"):
        return path
    found = path.lstat()
    is_own = found.st_uid == os.getuid() and not found.st_mode & 0o022 and path.is_dir() and not path.is_symlink()
    return path if is_own else Path(tempfile.mkdtemp(prefix=f"{path.name}-"))
