"""A folder of small files, each written all or nothing: on a local disk, or wherever fsspec leads to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Protocol

from grhmc._files import delete_unfinished, replacing


class Folder(Protocol):
    """Files by name, without folders within."""

    def read(self, name: str) -> bytes:
        """The whole file; FileNotFoundError if there is none."""
        ...

    def write(self, name: str, content: bytes) -> None:
        """Put the whole file in its place at once."""
        ...

    def delete(self, name: str) -> None:
        """Delete the file, if it is there."""
        ...

    def names(self) -> list[str]:
        """Of all files; none if there is no such folder."""
        ...

    def tidy(self) -> None:
        """Delete what a killed process has left unfinished."""
        ...


class LocalFolder:
    """On a disk of this machine."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, name: str) -> bytes:
        """The whole file; FileNotFoundError if there is none."""
        return (self.path / name).read_bytes()

    def write(self, name: str, content: bytes) -> None:
        """Put the whole file in its place once it is on the disk."""
        self.path.mkdir(parents=True, exist_ok=True)
        with replacing(self.path / name) as complete, open(complete, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    def delete(self, name: str) -> None:
        """Delete the file, if it is there."""
        (self.path / name).unlink(missing_ok=True)

    def names(self) -> list[str]:
        """Of all files; none if there is no such folder."""
        return sorted(path.name for path in self.path.iterdir()) if self.path.is_dir() else []

    def tidy(self) -> None:
        """Delete what a killed process has left unfinished."""
        delete_unfinished(self.path)


class RemoteFolder:
    """Behind a URL that fsspec knows, such as ``s3://`` or ``memory://``; object stores replace files at once."""

    def __init__(self, url: str) -> None:
        import fsspec

        self._files: Any
        self._files, self._root = fsspec.url_to_fs(url)

    def read(self, name: str) -> bytes:
        """The whole file; FileNotFoundError if there is none."""
        return self._files.cat_file(f"{self._root}/{name}")

    def write(self, name: str, content: bytes) -> None:
        """Put the whole file in its place."""
        self._files.makedirs(self._root, exist_ok=True)
        self._files.pipe_file(f"{self._root}/{name}", content)

    def delete(self, name: str) -> None:
        """Delete the file, if it is there."""
        if self._files.exists(f"{self._root}/{name}"):
            self._files.rm_file(f"{self._root}/{name}")

    def names(self) -> list[str]:
        """Of all files; none if there is no such folder."""
        self._files.invalidate_cache()
        if not self._files.exists(self._root):
            return []
        return sorted(path.rsplit("/", 1)[-1] for path in self._files.ls(self._root, detail=False))

    def tidy(self) -> None:
        """Nothing to do: a file is there as a whole or not at all."""


def folder_at(location: str) -> Folder:
    """The folder behind a path or a URL."""
    return RemoteFolder(location) if "://" in location else LocalFolder(Path(location))
