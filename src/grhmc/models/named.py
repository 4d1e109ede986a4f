"""Models named as text, as on a command line: Stan programs, and objects in Python files and modules."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from pathlib import Path
from typing import Any

from grhmc.models.as_log_density import as_log_density
from grhmc.models.log_density import LogDensity
from grhmc.models.stan.from_stan import from_stan

_STAN_SUFFIXES = (".stan", ".so", ".dylib", ".dll")


def is_model_path(text: str) -> bool:
    """Whether the text names a file or an object rather than a built-in target."""
    return text.endswith(_STAN_SUFFIXES) or ":" in text


def load_model(text: str, data: Path | None = None) -> LogDensity:
    """Make the model that a user names.

    Parameters
    ----------
    text : str
        ``model.stan``, a compiled Stan model (``.so``), ``file.py:name`` or ``package.module:name``. The named object
        is anything that `sample` accepts, or a function without arguments that returns it.
    data : path, optional
        JSON, for Stan.

    Raises
    ------
    ValueError, OSError, ImportError
        If there is no such model, or it cannot be used.
    """
    try:
        if text.endswith(_STAN_SUFFIXES):
            return from_stan(Path(text), data)
        if data is not None:
            raise ValueError(f"--data is for Stan programs; {text} has its data in Python")
        return as_log_density(_load_object(text))
    except TypeError as error:
        raise ValueError(str(error)) from error


def _load_object(text: str) -> Any:
    source, _, name = text.rpartition(":")
    if not source or not name.isidentifier():
        raise ValueError(f"a model in Python is named as file.py:name or package.module:name, got {text!r}")
    module = _load_file(Path(source)) if source.endswith(".py") else importlib.import_module(source)
    if not hasattr(module, name):
        raise ValueError(f"{source} has no {name!r}")
    found = getattr(module, name)
    return found() if inspect.isfunction(found) else found


def _load_file(path: Path) -> Any:
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    sys.path.insert(0, str(path.resolve().parent))  # what it imports may lie beside it
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.resolve().parent))
    return module
