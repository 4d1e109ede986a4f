"""Kernels are lowered once, and optimized and compiled with all that they reach, only where Python calls them."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from numba.core import config

from grhmc._jit import inner_kernel, is_compiled, kernel
from grhmc._kernel_compiler import EntryLibrary, InnerLibrary, reachable
from grhmc.process.advance import advance
from grhmc.run import compilation

pytestmark = pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")  # pyright: ignore[reportAttributeAccessIssue]

DOUBLE, SQUARE = 0, 1


@inner_kernel
def squared(x):
    return x * x


@inner_kernel
def doubled(x):
    return 2.0 * x


@inner_kernel
def changed(kind, x):
    """Of each literal `kind` one branch is left; both callees are named by both compilations."""
    if kind == DOUBLE:
        return doubled(x)
    return squared(x)


@inner_kernel
def first(x):
    return changed(DOUBLE, x)


@inner_kernel
def second(x):
    return changed(SQUARE, first(x))


@kernel
def entry(x):
    return first(x) + second(x)


@numba.njit
def of_a_user(x):
    return entry(x) + changed(SQUARE, x)


def test_what_is_called_from_python_finds_all_that_it_calls():
    """LLVM leaves out a function that no one has called yet, so callers must be linked before their callees."""
    assert entry(3.0) == 6.0 + 36.0


def test_a_compiled_function_of_others_may_call_kernels():
    assert of_a_user(3.0) == 42.0 + 9.0


def test_what_only_kernels_call_is_not_compiled_by_itself():
    entry(3.0)
    (result,) = entry.overloads.values()
    assert isinstance(result.library, EntryLibrary) or entry.stats.cache_hits
    for inner in (first, second, changed):
        assert not inner.overloads
    entry.get_call_template((numba.float64,), {})
    for inner in (first, second, changed):
        for lowered in inner.inner.overloads.values():
            assert isinstance(lowered.library, InnerLibrary)
            assert not lowered.library._codegen._engine.is_symbol_defined(lowered.fndesc.llvm_func_name)


def test_a_caller_comes_before_all_that_it_calls():
    entry.get_call_template((numba.float64,), {})
    (result,) = entry.inner.overloads.values()
    order = reachable(result.library)
    assert len(order) == len(set(order)) >= 6
    for place, library in enumerate(order):
        for callee in library._linking_libraries:
            assert order.index(callee) > place


def test_both_ways_give_the_same_numbers():
    for x in np.linspace(-2.0, 2.0, 9):
        assert entry(x) == entry.py_func(x)


def test_a_first_run_says_that_it_compiles(capsys, monkeypatch):
    compilation.announce_compilation()
    text = capsys.readouterr().err
    monkeypatch.setattr(compilation, "is_compiled", lambda kernel: False)
    compilation.announce_compilation()
    assert "Compiling the sampler for this machine" in capsys.readouterr().err
    assert ("Compiling" in text) != is_compiled(advance)


def test_a_kernel_is_known_to_be_compiled_from_its_files(monkeypatch, tmp_path):
    entry(3.0)
    assert is_compiled(entry)
    cache = entry._cache
    assert cache.holds_any()
    monkeypatch.setattr(cache, "stamp", b"x" * 32)  # of other sources
    assert not cache.holds_any()
    monkeypatch.undo()
    monkeypatch.setattr(cache, "folders", ([tmp_path], tmp_path))
    assert not cache.holds_any()
