"""The one decorator of all compiled kernels: cached on disk, without the GIL, and never stale.

Numba looks only at the file a function is written in when it decides whether a cached compilation is still good. A
caller whose *callee* was edited would go on running the old callee. Kernels call each other across many files, so
here every cached compilation carries a fingerprint of all kernel sources: edit one and all are compiled afresh.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core import config, sigutils
from numba.core.ccallback import CFunc

from ._kernel_cache import KernelCache
from ._kernel_compiler import KernelDispatcher

KERNEL_PACKAGES = ("dynamics", "events", "adaptation/tuners", "process")
"""Sub-packages of grhmc whose sources make up the fingerprint."""

_FAST_MATH = {"contract", "nsz", "arcp", "reassoc"}
# Enough to vectorize sums. Not "nnan" or "ninf": they would let the compiler drop the checks for non-finite densities.


@cache
def source_fingerprint() -> str:
    """Hash of every kernel source file, of this file, and of Numba's version."""
    root = Path(__file__).parent
    digest = hashlib.sha256(numba.__version__.encode())
    files = [
        root / name
        for name in ("_jit.py", "_kernel_compiler.py", "_kernel_struct.py", "density_pointer.py", "outcomes.py")
    ]
    for package in KERNEL_PACKAGES:
        files += sorted((root / package).rglob("*.py"))
    for file in files:
        digest.update(file.name.encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` in nopython mode, without the GIL, cached on disk under the package's fingerprint.

    Compiled without Numba's runtime: a kernel that allocates does not compile, and none counts references. Always
    inlined where another kernel calls it: passing a dozen arrays costs more than most kernels do.
    """
    return _compile(function, is_inlined=True)


def array_kernel(function: Callable[..., Any]) -> Any:
    """The same for a pass over several arrays, none of which may overlap one that is written.

    Told so, the compiler vectorizes the pass without asking for every pair of arrays, each time, whether they overlap.
    """
    return _compile(function, is_inlined=True, may_overlap=False)


def inner_array_kernel(function: Callable[..., Any]) -> Any:
    """A pass over arrays that do not overlap, called, not inlined: for what is long beside the cost of the call."""
    return _compile(function, is_inlined=False, may_overlap=False)


def inner_kernel(function: Callable[..., Any]) -> Any:
    """The same for a function that takes a whole process by reference: called, not inlined, which keeps it short."""
    return _compile(function, is_inlined=False)


def _compile(function: Callable[..., Any], *, is_inlined: bool, may_overlap: bool = True) -> Any:
    if config.DISABLE_JIT:  # pyright: ignore[reportAttributeAccessIssue]
        return np.errstate(all="ignore")(function)  # compiled kernels do not warn of inf and nan either
    options = {
        "nogil": True,
        "error_model": "numpy",
        "fastmath": _FAST_MATH,
        "forceinline": is_inlined,
        "_nrt": False,
        "no_cfunc_wrapper": True,
    }
    compiled: Any = KernelDispatcher(function, options, {} if may_overlap else {"noalias": True})
    compiled._cache = KernelCache(function, source_fingerprint())
    return compiled


def is_compiled(compiled: Any) -> bool:
    """Whether a kernel's first call will find it compiled, in this process or on disk."""
    if not isinstance(compiled, KernelDispatcher):  # interpreted
        return True
    dispatcher: Any = compiled
    return bool(dispatcher.overloads) or dispatcher._cache.holds_any()


def cached_c_function(function: Callable[..., Any], signature: Any, **options: Any) -> Any:
    """`numba.cfunc`, cached on disk like kernels; compiled with NUMBA_DISABLE_JIT=1, too."""
    compiled: Any = CFunc(function, sigutils.normalize_signature(signature), locals={}, options=options)
    compiled._cache = KernelCache(function, source_fingerprint())
    compiled.compile()
    return compiled
