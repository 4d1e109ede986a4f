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

import numpy as np
from numba.core import config, sigutils
from numba.core.ccallback import CFunc

from ._kernel_cache import KernelCache
from ._kernel_compiler import KernelDispatcher
from ._shipped_kernels import NativeFunction, kernel_name, shipped_library, types_of

KERNEL_PACKAGES = ("dynamics", "events", "adaptation/tuners", "process")
"""Sub-packages of grhmc whose sources make up the fingerprint."""

_FAST_MATH = {"contract", "nsz", "arcp", "reassoc"}
# Enough to vectorize sums. Not "nnan" or "ninf": they would let the compiler drop the checks for non-finite densities.


@cache
def source_fingerprint() -> str:
    """Hash of every kernel source file, and of those that say how kernels are compiled and called."""
    root = Path(__file__).parent
    digest = hashlib.sha256()
    files = [
        root / name
        for name in (
            "_jit.py",
            "_kernel_compiler.py",
            "_kernel_struct.py",
            "_shipped_kernels.py",
            "density_pointer.py",
            "outcomes.py",
        )
    ]
    for package in KERNEL_PACKAGES:
        files += sorted(file for file in (root / package).rglob("*") if file.suffix in (".py", ".csv"))
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


def inner_kernel(function: Callable[..., Any]) -> Any:
    """The same for a function that takes whole structures by reference: called, not inlined, which keeps it short."""
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
    library = shipped_library(source_fingerprint())
    is_shipped = library is not None and library.has(kernel_name(function))
    make = ShippedDispatcher if is_shipped else KernelDispatcher
    compiled: Any = make(function, options, {} if may_overlap else {"noalias": True})
    compiled._cache = KernelCache(function, source_fingerprint())
    return compiled


class ShippedDispatcher(KernelDispatcher):
    """A kernel whose machine code came with the package: compiled only for types that it does not have there."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], flags: dict[str, Any]) -> None:
        super().__init__(function, options, flags)
        self._native: dict[tuple[str, ...], NativeFunction | None] = {}

    def __call__(self, *arguments: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        types = types_of(arguments)
        if types not in self._native:
            library = shipped_library(source_fingerprint())
            self._native[types] = library and library.find(kernel_name(self.py_func), types)
        native = self._native[types]
        return super().__call__(*arguments) if native is None else native(*arguments)


def is_compiled(compiled: Any) -> bool:
    """Whether a kernel's first call will find it compiled, in this process or on disk."""
    if not isinstance(compiled, KernelDispatcher) or isinstance(compiled, ShippedDispatcher):
        return True  # interpreted, or it came with the package
    dispatcher: Any = compiled
    return bool(dispatcher.overloads) or dispatcher._cache.holds_any()


def cached_c_function(function: Callable[..., Any], signature: Any, **options: Any) -> Any:
    """`numba.cfunc`, cached on disk like kernels; compiled with NUMBA_DISABLE_JIT=1, too."""
    compiled: Any = CFunc(function, sigutils.normalize_signature(signature), locals={}, options=options)
    compiled._cache = KernelCache(function, source_fingerprint())
    compiled.compile()
    return compiled
