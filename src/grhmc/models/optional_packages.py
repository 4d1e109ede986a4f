"""Importing what only some front-ends need: the error says which extra to install."""

from __future__ import annotations

import importlib
import sys
from typing import Any


def import_for(front_end: str, package: str, extra: str) -> Any:
    """Import an optional package.

    Parameters
    ----------
    front_end : str
        The function that needs it.
    package : str
        To import.
    extra : str
        Of grhmc, that installs it.

    Raises
    ------
    ImportError
        If the package is not installed. If it is but fails to import, its own error is the cause.
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        is_missing = isinstance(error, ModuleNotFoundError) and error.name == package
        problem = "is not installed" if is_missing else f"cannot be imported ({error})"
        raise ImportError(
            f"{front_end} needs the package {package}, which {problem}; install it with pip install 'grhmc[{extra}]'"
        ) from error


def bind_submodules(package: str) -> None:
    """Give the modules of a package the attributes for their submodules that they lack.

    ArviZ 1.3 puts packages into `sys.modules` that load when an attribute is first asked for. Where the first that is
    asked for is a submodule, as by ``import numpyro.distributions``, Python executes that twice, and the second module
    does not know its own submodules: NumPyro then looks for `numpyro.distributions.distribution` in vain.
    """
    for name, module in sorted(sys.modules.items()):
        parent, _, child = name.rpartition(".")
        if name.startswith(f"{package}.") and parent in sys.modules and not hasattr(sys.modules[parent], child):
            setattr(sys.modules[parent], child, module)
