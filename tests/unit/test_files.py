"""Files are put in their place once they are complete, and written nowhere but in the folder that was named."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

import pytest

from grhmc._files import private_folder, replace_text, replacing

needs_links = pytest.mark.skipif(not hasattr(os, "symlink") or os.name == "nt", reason="needs symbolic links")


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    replace_text(path, "old")
    replace_text(path, "new")
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_folder_is_replaced_with_all_that_was_in_it(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    path.mkdir()
    (path / "old").touch()
    with replacing(path) as complete:
        complete.mkdir()
        (complete / "new").touch()
    assert os.listdir(path) == ["new"]
    assert os.listdir(tmp_path) == ["a.zarr"]


@pytest.mark.parametrize("is_folder", [True, False])
def test_what_was_there_survives_a_failure(tmp_path: Path, is_folder: bool) -> None:
    path = tmp_path / "a"
    if is_folder:
        path.mkdir()
    else:
        path.write_text("old")
    with contextlib.suppress(KeyError), replacing(path) as complete:
        complete.write_text("half")
        raise KeyError
    with contextlib.suppress(FileNotFoundError), replacing(path):
        pass  # nothing is written
    assert path.is_dir() if is_folder else path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]


@needs_links
@pytest.mark.parametrize("new_is_folder", [True, False])
@pytest.mark.parametrize("target_is_folder", [True, False])
def test_a_link_is_replaced_and_what_it_points_to_is_left_alone(
    tmp_path: Path, new_is_folder: bool, target_is_folder: bool
) -> None:
    folder, outside = tmp_path / "inside", tmp_path / "outside"
    folder.mkdir()
    if target_is_folder:
        outside.mkdir()
        (outside / "precious").touch()
    else:
        outside.write_text("precious")
    (folder / "a").symlink_to(outside)
    with replacing(folder / "a") as complete:
        if new_is_folder:
            complete.mkdir()
        else:
            complete.write_text("new")
    assert not (folder / "a").is_symlink()
    assert os.listdir(folder) == ["a"]
    assert os.listdir(outside) == ["precious"] if target_is_folder else outside.read_text() == "precious"


def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    replace_text(tmp_path / "ours", "")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


@needs_links
def test_a_folder_for_compiled_models_that_somebody_else_prepared_is_not_used(tmp_path: Path) -> None:
    own = private_folder(tmp_path / "own")
    assert own == tmp_path / "own"
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    assert private_folder(own) == own
    open_to_all, link = tmp_path / "open", tmp_path / "link"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    link.symlink_to(own)
    for prepared in (open_to_all, link):
        elsewhere = private_folder(prepared)
        try:
            assert elsewhere != prepared
            assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o700
        finally:
            elsewhere.rmdir()
