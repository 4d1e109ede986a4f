"""Kernels compiled ahead of time: machine code that a wheel brings, so that a first run compiles nothing.

Kernels take pointers alone, to the model's density too, and use nothing of Numba while they run. So one archive of
object code, made by `build_hooks/compile_ahead.py`, serves every Python and every version of Numba on one kind of
machine. Where there is no archive, or it is of another machine or of other sources, kernels are compiled as they are
called.
"""

from __future__ import annotations

import ctypes
import dataclasses
import json
import logging
import struct
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np

ARCHIVE = Path(__file__).parent / "kernels.zip"
MANIFEST = "manifest.json"

INTEGER, DOUBLE, BOOLEAN, NOTHING = "integer", "double", "boolean", "nothing"
_C_TYPES = {INTEGER: ctypes.c_int64, DOUBLE: ctypes.c_double, BOOLEAN: ctypes.c_uint8}

_LOG = logging.getLogger("grhmc")


@dataclasses.dataclass(frozen=True)
class ShippedKernel:
    """One kernel in the archive, for one list of argument types.

    Attributes
    ----------
    name : str
        Module and qualified name of the Python function.
    types : list of str
        Numba's types of its arguments.
    words : list of str
        `INTEGER`, `DOUBLE` or `BOOLEAN`: what the arguments are passed as, structures and arrays taken apart.
    returns : str
        The same of what it returns, or `NOTHING`.
    symbol : str
        Its name in the object file.
    file : str
        The object file's name in the archive.
    """

    name: str
    types: list[str]
    words: list[str]
    returns: str
    symbol: str
    file: str


class ShippedLibrary:
    """An archive of object code.

    Parameters
    ----------
    archive : path
        A zip file with a manifest.
    fingerprint : str
        Of the kernels' present sources.

    Raises
    ------
    ValueError
        If the archive is for other sources, another operating system or another processor.
    OSError, KeyError, TypeError, zipfile.BadZipFile
        If it is damaged.
    """

    def __init__(self, archive: Path, fingerprint: str) -> None:
        self._archive = archive
        with zipfile.ZipFile(archive) as content:
            manifest = json.loads(content.read(MANIFEST))
        if manifest["fingerprint"] != fingerprint:
            raise ValueError("they were compiled from other sources")
        if manifest["triple"] != llvm.get_process_triple():
            raise ValueError(f"they are for {manifest['triple']}, and this is {llvm.get_process_triple()}")
        available = llvm.get_host_cpu_features()
        missing = [feature for feature in manifest["features"] if not available.get(feature)]
        if missing:
            raise ValueError(f"this processor has no {', '.join(missing)}")
        self._kernels = {(k.name, tuple(k.types)): k for k in (ShippedKernel(**entry) for entry in manifest["kernels"])}
        self._names = {name for name, _ in self._kernels}

    def has(self, name: str) -> bool:
        """Whether a kernel is in the archive, for whatever types."""
        return name in self._names

    def find(self, name: str, types: tuple[str, ...]) -> NativeFunction | None:
        """A kernel's machine code, or None if the archive has it not for these types."""
        kernel = self._kernels.get((name, types))
        if kernel is None:
            return None
        with zipfile.ZipFile(self._archive) as content:
            return NativeFunction(kernel, content.read(kernel.file))


class NativeFunction:
    """Machine code of one kernel; a call does not hold the interpreter's lock.

    Parameters
    ----------
    kernel : ShippedKernel
    code : bytes
        An object file.
    """

    def __init__(self, kernel: ShippedKernel, code: bytes) -> None:
        machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(jit=True)
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        self._name = kernel.name
        self._result_type = _C_TYPES.get(kernel.returns)
        words = [_C_TYPES[word] for word in kernel.words]
        prototype = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *words)
        self._function = prototype(self._engine.get_function_address(kernel.symbol))

    def __call__(self, *arguments: Any) -> Any:
        """Call it as the Python function is called; the types must be those it was compiled for."""
        words: list[Any] = []
        structures: list[Any] = []  # kept alive during the call
        for argument in arguments:
            _append_words(argument, words, structures)
        result = (self._result_type or ctypes.c_int64)()
        exception = ctypes.c_void_p()
        status = self._function(ctypes.addressof(result), ctypes.addressof(exception), *words)
        if status != 0:
            raise SystemError(f"{self._name} failed with status {status}")
        if self._result_type is None:
            return None
        return bool(result.value) if self._result_type is ctypes.c_uint8 else result.value


def _append_words(value: Any, words: list[Any], structures: list[Any]) -> None:
    """Take an argument apart as Numba does (`numba.core.datamodel`): arrays and tuples into their members.

    No kernel counts references: the words for owners are 0.
    """
    if isinstance(value, np.ndarray):
        words += [0, 0, value.size, value.itemsize, value.ctypes.data, *value.shape, *value.strides]
    elif isinstance(value, tuple):
        for member in value:
            _append_words(member, words, structures)
    elif dataclasses.is_dataclass(value):
        members: list[Any] = []
        for field in dataclasses.fields(value):
            _append_words(getattr(value, field.name), members, structures)
        bits = [struct.unpack("q", struct.pack("d", m))[0] if isinstance(m, float) else int(m) for m in members]
        structures.append(np.array(bits, dtype=np.int64))
        words.append(structures[-1].ctypes.data)
    else:
        words.append(value)


def kernel_name(function: Any) -> str:
    """Under what name a kernel is in the archive: module and qualified name."""
    return f"{function.__module__}.{function.__qualname__}"


def types_of(arguments: tuple[Any, ...]) -> tuple[str, ...]:
    """Numba's names of the types of arguments."""
    return tuple(str(numba.typeof(argument)) for argument in arguments)


@cache
def shipped_library(fingerprint: str) -> ShippedLibrary | None:
    """The package's archive of compiled kernels, or None where there is none that can be used, which is logged once."""
    if not ARCHIVE.exists():
        return None
    try:
        return ShippedLibrary(ARCHIVE, fingerprint)
    except (ValueError, OSError, KeyError, TypeError, zipfile.BadZipFile) as error:
        _LOG.info("grhmc: the compiled kernels that came with it are not used (%s); they are compiled here", error)
        return None
