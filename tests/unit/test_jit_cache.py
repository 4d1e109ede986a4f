"""The disk cache of kernels: never stale, damaged, or a condition for running; and kernels do not allocate."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core import config

import grhmc
from grhmc import _jit
from grhmc._jit import KERNEL_PACKAGES, array_kernel, kernel, source_fingerprint
from grhmc._kernel_cache import KernelCache
from grhmc.dynamics.phase import kinetic_energy
from grhmc.process.advance import advance
from grhmc.process.continuous import advance_one_step

IS_INTERPRETED = config.DISABLE_JIT  # pyright: ignore[reportAttributeAccessIssue]
pytestmark = pytest.mark.skipif(IS_INTERPRETED, reason="nothing is compiled")

PACKAGE = Path(grhmc.__file__).parent
ROOT_FILES = (
    "_jit.py",
    "_kernel_compiler.py",
    "_kernel_struct.py",
    "_shipped_kernels.py",
    "density_pointer.py",
    "outcomes.py",
)

CALLEE = """\
from {decorator_module} import {decorator}

@{decorator}
def callee(x):
    return x + {number}
"""
CALLER = """\
from {decorator_module} import {decorator}
from tiny.dynamics.callee import callee

@{decorator}
def caller(x):
    return callee(x)
"""
# Numba counts cache hits; the caller must have been compiled, or loaded, as the case may be.
PROGRAM = "from tiny.process.caller import caller; print(caller(1.0), sum(caller.stats.cache_hits.values()))"
NOTHING_IS_WRITABLE = "import tiny._kernel_cache as cache; cache._is_writable = lambda folder: False; "
DISK_IS_FULL = """\
import contextlib, errno, tiny._kernel_cache as cache
@contextlib.contextmanager
def full(path):
    raise OSError(errno.ENOSPC, "No space left on device")
    yield
cache.replacing = full
"""


@pytest.fixture
def tiny(tmp_path):
    """A package with one kernel that calls another in a different file, around the real `_jit.py`."""
    package = tmp_path / "tiny"
    for name in KERNEL_PACKAGES:
        (package / name).mkdir(parents=True)
        (package / name / "__init__.py").touch()
    (package / "__init__.py").touch()
    for name in (*ROOT_FILES, "_kernel_cache.py", "_files.py"):
        shutil.copy(PACKAGE / name, package / name)
    return package


def write_kernels(package, number, decorator_module="tiny._jit", decorator="kernel"):
    words = {"number": number, "decorator_module": decorator_module, "decorator": decorator}
    (package / "dynamics" / "callee.py").write_text(CALLEE.format(**words))
    caller = package / "process" / "caller.py"
    if not caller.exists():
        caller.write_text(CALLER.format(**words))


def run(package, before=""):
    """What the caller returns in a fresh process, and whether it came from the cache."""
    return run_and_listen(package, before)[:2]


def run_and_listen(package, before=""):
    """The same, and what was written to standard error; `before` is executed first."""
    environment = os.environ | {
        "PYTHONPATH": str(package.parent),
        "PYTHONDONTWRITEBYTECODE": "1",  # two edits within a second must not meet old bytecode
        "NUMBA_CACHE_DIR": str(package.parent / "cache"),
    }
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-c", before + PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    value, hits = finished.stdout.split()
    return float(value), int(hits), finished.stderr


def cached_files(package):
    return sorted((package.parent / "cache").rglob("*.grhmc"))


def test_a_caller_is_compiled_afresh_when_its_callee_in_another_file_changes(tiny):
    write_kernels(tiny, 1)
    assert run(tiny) == (2.0, 0)
    assert run(tiny) == (2.0, 1)
    write_kernels(tiny, 10)
    assert run(tiny) == (11.0, 0)


@pytest.mark.nightly
def test_plain_numba_goes_on_with_the_old_callee(tiny):
    # Negative control: without the stamp the cache is stale. Should this fail one day, Numba has learned it itself.
    (tiny / "plain.py").write_text("import numba\n\nplain = numba.njit(cache=True)\n")
    write_kernels(tiny, 1, "tiny.plain", "plain")
    assert run(tiny) == (2.0, 0)
    write_kernels(tiny, 10, "tiny.plain", "plain")
    assert run(tiny) == (2.0, 1)


def empty(file):
    file.write_bytes(b"")


def flip_one_byte(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)


@pytest.mark.parametrize("damage", [pytest.param(empty, marks=pytest.mark.nightly), flip_one_byte])
def test_damaged_files_are_recognized_and_replaced(tiny, damage):
    write_kernels(tiny, 1)
    run(tiny)
    for file in cached_files(tiny):
        damage(file)
    value, hits, said = run_and_listen(tiny)
    assert (value, hits) == (2.0, 0)
    assert said.count("\n") == 1
    assert "damaged" in said
    assert str(cached_files(tiny)[0].parent.parent) in said
    assert run_and_listen(tiny) == (2.0, 1, "")


@pytest.mark.nightly
def test_a_compilation_under_the_name_of_another_is_not_taken(tiny):
    write_kernels(tiny, 1)
    run(tiny)
    (file,) = [file for file in cached_files(tiny) if file.name.startswith("caller")]
    run(tiny, "from tiny.process.caller import caller; caller(1); ")  # for an integer
    (other,) = [f for f in cached_files(tiny) if f.name.startswith("caller") and f != file]
    shutil.copy(other, file)
    assert run(tiny) == (2.0, 0)


def test_where_nothing_can_be_written_kernels_are_compiled_in_memory_and_one_line_says_so(tiny):
    write_kernels(tiny, 1)
    value, hits, said = run_and_listen(tiny, NOTHING_IS_WRITABLE)
    assert (value, hits) == (2.0, 0)
    assert said.count("\n") == 1
    assert "NUMBA_CACHE_DIR" in said
    assert cached_files(tiny) == []


def test_compiled_kernels_in_a_folder_that_cannot_be_written_to_are_used(tiny):
    write_kernels(tiny, 1)
    run(tiny)
    assert run_and_listen(tiny, NOTHING_IS_WRITABLE) == (2.0, 1, "")


def test_a_full_disk_costs_the_cache_only(tiny):
    write_kernels(tiny, 1)
    value, hits, said = run_and_listen(tiny, DISK_IS_FULL)
    assert (value, hits) == (2.0, 0)
    assert "No space left on device" in said
    assert str(tiny.parent / "cache") in said


def fingerprint_of(package, monkeypatch):
    monkeypatch.setattr(_jit, "__file__", str(package / "_jit.py"))
    source_fingerprint.cache_clear()
    try:
        return source_fingerprint()
    finally:
        monkeypatch.undo()
        source_fingerprint.cache_clear()


def test_the_fingerprint_sees_every_kernel_source(tiny, monkeypatch):
    write_kernels(tiny, 1)
    seen = {fingerprint_of(tiny, monkeypatch)}
    nested = tiny / "dynamics" / "coefficients"
    nested.mkdir()
    changes = [tiny / name for name in ROOT_FILES] + [tiny / name / "__init__.py" for name in KERNEL_PACKAGES]
    for file in [*changes, nested / "new.py"]:
        with file.open("a") as opened:
            opened.write("# changed\n")
        seen.add(fingerprint_of(tiny, monkeypatch))
    assert len(seen) == len(changes) + 2


def test_the_fingerprint_does_not_depend_on_where_the_package_lies(tiny, tmp_path, monkeypatch):
    copy = tmp_path / "elsewhere"
    shutil.copytree(tiny, copy)
    assert fingerprint_of(copy, monkeypatch) == fingerprint_of(tiny, monkeypatch)


def test_every_file_with_kernels_is_part_of_the_fingerprint():
    decorators = ("@kernel", "@inner_kernel", "@passed_by_reference")
    for file in PACKAGE.rglob("*.py"):
        if any(line.startswith(decorators) for line in file.read_text().splitlines()):
            assert file.relative_to(PACKAGE).as_posix().startswith(KERNEL_PACKAGES), (
                f"{file} is compiled but not fingerprinted"
            )


@pytest.mark.parametrize("function", [kinetic_energy, advance, advance_one_step])
def test_kernels_carry_the_fingerprint(function):
    assert function._cache.stamp == KernelCache(function.py_func, source_fingerprint()).stamp
    assert function._cache.stamp != KernelCache(function.py_func, "another").stamp


def makes_an_array(n):
    return np.zeros(n)[0]


def makes_a_list(n):
    return [1.0] * n


@pytest.mark.parametrize("function", [makes_an_array, makes_a_list])
def test_a_kernel_that_allocates_does_not_compile(function):
    compile_freely: Any = numba.njit
    compile_freely(function)(3)  # it is the decorator that rejects it
    with pytest.raises(numba.errors.NumbaError):
        kernel(function)(3)


def copy_twice(source, target, other):
    for k in range(source.shape[0]):
        target[k] = source[k]
        other[k] = source[k]


def copy_twice_apart(source, target, other):
    for k in range(source.shape[0]):
        target[k] = source[k]
        other[k] = source[k]


def test_an_array_kernel_promises_the_compiler_that_its_arrays_do_not_overlap():
    array = numba.float64[::1]
    n_promises = []
    for compiled in (kernel(copy_twice), array_kernel(copy_twice_apart)):
        compiled.compile((array, array, array))
        compiled.recompile()  # what comes from the disk cannot be inspected
        (code,) = compiled.inspect_llvm().values()
        n_promises.append(code.count("noalias"))
    assert n_promises[1] > n_promises[0]
