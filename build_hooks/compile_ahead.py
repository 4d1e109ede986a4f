"""Compile all kernels ahead of time, into the archive that a wheel brings.

`python build_hooks/compile_ahead.py kernels.zip`, with grhmc and what it needs importable.

They are compiled for a kind of machine and not for this one (`TARGETS`), by runs that between them call every kernel
that the sampler calls.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import warnings
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types

import grhmc
from grhmc._jit import source_fingerprint
from grhmc._kernel_compiler import KernelDispatcher
from grhmc._kernel_struct import StructType
from grhmc._shipped_kernels import BOOLEAN, DOUBLE, INTEGER, MANIFEST, NOTHING, ShippedKernel, kernel_name
from grhmc.events.random_numbers import generator_state
from grhmc.events.refreshment import GAUSSIAN_LAW, draw_momentum
from grhmc.models.analytic import gaussian

TARGETS: dict[str, tuple[str, list[str]]] = {
    "x86_64": ("x86-64-v3", ["avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"]),
    "aarch64": ("generic", []),
    "arm64": ("apple-m1", []),
}
"""LLVM's name of the processor kernels are compiled for on each machine, and the features that it must have."""

_RETURNED = {types.int64: INTEGER, types.float64: DOUBLE, types.boolean: BOOLEAN, types.none: NOTHING}


def machine() -> str:
    """Key of this machine in `TARGETS`."""
    name = platform.machine()
    return {"AMD64": "x86_64", "ARM64": "aarch64"}.get(name, name)


def write_archive(file: Path) -> None:
    """Compile in a process of its own, in which Numba compiles for the target."""
    processor, _ = TARGETS[machine()]
    settings = {
        "NUMBA_CPU_NAME": processor,
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_DISABLE_INTEL_SVML": "1",  # its functions would have to be there
    }
    command = [sys.executable, __file__, "--here", str(file)]
    subprocess.run(command, check=True, env={**os.environ, **settings})


def write_archive_here(file: Path) -> None:
    """Compile in this process, for what Numba compiles for in it."""
    call_all_kernels()
    _, features = TARGETS[machine()]
    kernels: list[ShippedKernel] = []
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for dispatcher in called_kernels():
            for signature in list(dispatcher.overloads):
                kernel, code = compile_kernel(dispatcher, signature, f"{len(kernels)}.o")
                archive.writestr(kernel.file, code)
                kernels.append(kernel)
        manifest = {
            "fingerprint": source_fingerprint(),
            "triple": llvm.get_process_triple(),
            "features": features,
            "kernels": [asdict(kernel) for kernel in kernels],
        }
        archive.writestr(MANIFEST, json.dumps(manifest, indent=1))


def call_all_kernels() -> None:
    """Short runs that between them call every kernel that Python calls."""
    model = gaussian(np.zeros(2), np.array([[1.0, 0.99], [0.99, 1.0]])).log_density()  # so that there are directions
    short: dict[str, Any] = {"draws": 20, "tune": 100, "chains": 2}
    runs = [{}, *({**short, "scale": scale} for scale in ("vari", "isg", "mct"))]
    runs += [{**short, "process": grhmc.Continuous(warmup=warmup), "scale": "mct"} for warmup in ("practical", "paper")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for run in runs:
            grhmc.sample(model, seed=1, progress_bar=False, diagnose=False, **run)
    rng = generator_state(np.random.default_rng(1))
    draw_momentum(np.int64(GAUSSIAN_LAW), np.zeros(2), rng)  # where a chain is moved


def called_kernels() -> list[Any]:
    """The kernels that this process has called from Python."""
    modules = [module for name, module in sys.modules.items() if name.startswith("grhmc.")]
    found = {id(value): value for module in modules for value in vars(module).values()}
    return [value for value in found.values() if isinstance(value, KernelDispatcher) and value.overloads]


def compile_kernel(dispatcher: Any, signature: tuple[Any, ...], file: str) -> tuple[ShippedKernel, bytes]:
    """A kernel's machine code for a signature, without what Python calls it by, and how it is called."""
    compilation = dispatcher.compile_without_wrapper(signature)
    symbol = compilation.fndesc.llvm_func_name
    for argument in signature:
        if isinstance(argument, StructType):
            _check_words(compilation.target_context.get_value_type(argument.as_tuple), str(argument))
    function = compilation.library._final_module.get_function(symbol)
    words = [_word(str(argument.type)) for argument in list(function.arguments)[2:]]
    kernel = ShippedKernel(
        name=kernel_name(dispatcher.py_func),
        types=[str(argument) for argument in signature],
        words=words,
        returns=_RETURNED[compilation.signature.return_type],
        symbol=symbol,
        file=file,
    )
    return kernel, compilation.library._get_compiled_object()


def _word(llvm_type: str) -> str:
    if llvm_type in ("i64", "ptr") or llvm_type.endswith("*"):
        return INTEGER
    return {"double": DOUBLE, "i1": BOOLEAN, "i8": BOOLEAN}[llvm_type]


def _check_words(llvm_type: Any, name: str) -> None:
    """Structures are handed over as rows of 64-bit words, so that every member has to be one."""
    if isinstance(llvm_type, ir.LiteralStructType | ir.IdentifiedStructType):
        for element in llvm_type.elements or ():
            _check_words(element, name)
    elif isinstance(llvm_type, ir.ArrayType):
        _check_words(llvm_type.element, name)
    elif llvm_type not in (ir.IntType(64), ir.DoubleType()) and not isinstance(llvm_type, ir.PointerType):
        raise TypeError(f"{name} has a member of type {llvm_type}, which is not of 64 bits")


if __name__ == "__main__":
    if sys.argv[1] == "--here":
        write_archive_here(Path(sys.argv[2]))
    else:
        write_archive(Path(sys.argv[1]))
