"""From a Stan program and data, as users write them, to a library with BridgeStan's interface and JSON."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import math
import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from grhmc._files import private_folder
from grhmc.argument_checks import reject_masked

_LIBRARY_SUFFIXES = (".so", ".dylib", ".dll")
_PROGRAM = "__stanli"  # of the data: where stanli looks for it
_NAN = "NaN"  # Stan's name for it in JSON
_INSTALL = (
    "install one with pip install 'grhmc[stan]' (stanli interprets Stan programs; bridgestan compiles them, with a C++ "
    "compiler), or pass the path of a compiled model (.so)"
)


class Source(NamedTuple):
    """What `compile_program` needs: a library's path, or a program's text and file."""

    library: str
    code: str
    file: str


def read_program(program: Any) -> Source:
    """Tell apart program text, a .stan file and a compiled library.

    Raises
    ------
    TypeError, FileNotFoundError
    """
    if isinstance(program, os.PathLike):
        path = Path(program)
    elif isinstance(program, str):
        if "{" in program or "\n" in program:
            return Source("", program, "")
        path = Path(program)
    else:
        raise TypeError(
            "program must be the text of a Stan program or the path of a .stan file or of a compiled model "
            f"({', '.join(_LIBRARY_SUFFIXES)}), got {type(program).__name__}"
        )
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no file {str(path)!r}; program must be the text of a Stan program (with braces) or the path of "
            f"a .stan file or of a compiled model ({', '.join(_LIBRARY_SUFFIXES)})"
        )
    if path.suffix in _LIBRARY_SUFFIXES:
        return Source(str(path.resolve()), "", "")
    return Source("", path.read_text(encoding="utf-8"), str(path.resolve()))


def read_data(data: Any) -> dict[str, Any]:
    """Turn data (None, mapping, JSON text, or the path of a JSON file) into what JSON can hold.

    Raises
    ------
    TypeError, ValueError, FileNotFoundError
    """
    if data is None:
        return {}
    if isinstance(data, Mapping):
        return {str(name): _jsonable(str(name), value) for name, value in data.items()}
    if not isinstance(data, str | os.PathLike):
        raise TypeError(
            "data must be a mapping of Stan's data variables to values, JSON text, or the path of a JSON file; got "
            f"{type(data).__name__}"
        )
    text = data if isinstance(data, str) and data.lstrip().startswith("{") else None
    if text is None:
        path = Path(data)
        if not path.is_file():
            raise FileNotFoundError(f"there is no data file {str(path)!r}")
        text = path.read_text(encoding="utf-8")
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError) as error:  # brackets nested a thousand deep
        raise ValueError(f"data are not valid JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise ValueError(
            f"data must be a JSON object of Stan's data variables, {{...}}, got a JSON {type(parsed).__name__}"
        )
    return _with_names_for_non_finite(parsed) if "NaN" in text or "Infinity" in text else parsed


def warn_of_nan(data: Mapping[str, Any], code: str) -> None:
    """Warn of NaN in the data that `read_data` returned, unless the program looks for NaN itself.

    No error: Stan itself takes NaN, and a program may leave it out in a way that cannot be seen from here, or use the
    variable in generated quantities only.
    """
    if "is_nan" in code:
        return
    for name, value in data.items():
        places = list(_places_of_nan(value))
        if places:
            entry = f"the value {name}" if not places[0] else f"{name}[{','.join(places[0])}]"
            warnings.warn(
                f"data[{name!r}] has {len(places)} NaN, the first is {entry}, as Stan counts. Stan has no missing "
                "values: where a distribution gets a NaN no point has a finite log density. Leave such entries out of "
                "the data, or make them parameters. A program that uses is_nan() is not warned of",
                stacklevel=3,
            )


def compile_program(source: Source, data: Mapping[str, Any], backend: str) -> tuple[str, str]:
    """Find or make the library, and write the data as it wants them.

    Parameters
    ----------
    source : Source
    data : mapping
        From `read_data`.
    backend : {"auto", "stanli", "bridgestan"}

    Returns
    -------
    path, json : str

    Raises
    ------
    ImportError
        If the backend is not installed.
    ValueError
        With the compiler's message, if the program is not valid.
    """
    if backend not in ("auto", "stanli", "bridgestan"):
        raise ValueError(f"backend must be 'auto', 'stanli' or 'bridgestan', got {backend!r}")
    if source.library:
        return source.library, json.dumps(data)
    if backend == "auto":
        installed = [name for name in ("stanli", "bridgestan") if importlib.util.find_spec(name) is not None]
        if not installed:
            raise ImportError(f"a Stan program needs the package stanli or bridgestan; {_INSTALL}")
        backend = installed[0]
    if backend == "stanli":
        return _interpret(source, data)
    return _compile(source), json.dumps(data)


def is_interpreted(json_data: str) -> bool:
    """Whether `compile_program` wrote these data for stanli, with the program among them."""
    return f'"{_PROGRAM}": ' in json_data


def _interpret(source: Source, data: Mapping[str, Any]) -> tuple[str, str]:
    """The interpreter's library is the same for all programs; the program travels with the data."""
    try:
        import stanli
    except ImportError as error:
        raise ImportError(f"backend='stanli' needs the package stanli; {_INSTALL}") from error
    include_paths = [str(Path(source.file).parent)] if source.file and "#include" in source.code else None
    try:
        program = stanli.stan_to_mir(source.code, include_paths)
    except RuntimeError as error:
        raise ValueError(f"Stan cannot compile the program: {error}") from error
    libraries = [p for p in Path(str(stanli.__file__)).parent.glob("_bin/*stanli.*") if p.suffix in _LIBRARY_SUFFIXES]
    if not libraries:
        raise ImportError("the installed stanli package has no runtime library; reinstall it")
    name = Path(source.file).stem if source.file else "program"
    return str(libraries[0]), json.dumps(
        {**data, _PROGRAM: {"build_id": stanli.build_id(), "mir": program, "name": name}}
    )


def _compile(source: Source) -> str:
    try:
        import bridgestan
    except ImportError as error:
        raise ImportError(f"backend='bridgestan' needs the package bridgestan; {_INSTALL}") from error
    path = source.file
    if not path:  # the same text compiles once per machine
        folder = private_folder(
            Path(tempfile.gettempdir(), f"grhmc-stan-{os.getuid() if hasattr(os, 'getuid') else 0}")
        )
        path = str(folder / f"program_{hashlib.sha256(source.code.encode()).hexdigest()[:16]}.stan")
        Path(path).write_text(source.code, encoding="utf-8")
    try:
        return str(bridgestan.compile_model(path, make_args=["STAN_THREADS=true"]))
    except RuntimeError as error:
        raise ValueError(f"BridgeStan cannot compile the program: {error}") from error


def _jsonable(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):  # a tuple, as Stan writes it: {"1": ..., "2": ...}
        return {str(slot): _jsonable(name, part) for slot, part in value.items()}
    if isinstance(value, list | tuple) and any(isinstance(part, Mapping) for part in value):
        return [_jsonable(name, part) for part in value]
    reject_masked(f"data[{name!r}]", value)
    try:
        array = np.asarray(value)
    except ValueError:  # rows of unequal length
        array = np.asarray(value, dtype=object)
    if array.dtype.kind == "b":
        array = array.astype(np.int64)
    if array.dtype.kind == "c":
        array = np.stack([np.real(array), np.imag(array)], axis=-1)
    if array.dtype.kind not in "iuf":
        raise TypeError(
            f"data[{name!r}] must be a number or an array of numbers, got {type(value).__name__} "
            f"(as an array: dtype {array.dtype})"
        )
    values = array.tolist()
    return values if np.all(np.isfinite(array)) else _with_names_for_non_finite(values)


def _with_names_for_non_finite(value: Any) -> Any:
    """The same values with Stan's names for what JSON has no numbers for."""
    if isinstance(value, dict):
        return {name: _with_names_for_non_finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_with_names_for_non_finite(part) for part in value]
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return _NAN if math.isnan(value) else "Inf" if value > 0 else "-Inf"


def _places_of_nan(value: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Indices from 1, or slots of tuples, of the entries that are NaN."""
    if isinstance(value, dict):
        for slot, part in value.items():
            yield from _places_of_nan(part, (*place, str(slot)))
    elif isinstance(value, list):
        for number, part in enumerate(value, start=1):
            if isinstance(part, str | list | dict):
                yield from _places_of_nan(part, (*place, str(number)))
    elif value == _NAN:
        yield place
