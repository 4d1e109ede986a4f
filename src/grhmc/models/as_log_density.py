"""Everything that `sample` accepts as a model, turned into a log density: a front-end adds a line here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from grhmc.models.from_pymc import from_pymc
from grhmc.models.log_density import LogDensity

# Package and class of a model that can be passed as it is, and what turns it into a log density.
_FRONT_ENDS: tuple[tuple[str, str, Callable[[Any], LogDensity]], ...] = (("pymc", "Model", from_pymc),)


def as_log_density(model: Any) -> LogDensity:
    """Turn a model into a log density.

    Parameters
    ----------
    model : LogDensity or pymc.Model

    Raises
    ------
    TypeError
        If it is something else.
    """
    if isinstance(model, LogDensity):
        return model
    for package, name, front_end in _FRONT_ENDS:
        module = sys.modules.get(package)  # a model of a package that nobody has imported cannot be here
        if module is not None and isinstance(model, getattr(module, name)):
            return front_end(model)
    accepted = ", ".join(f"{package}.{name}" for package, name, _ in _FRONT_ENDS)
    hint = "; for a Stan program write grhmc.from_stan(program, data)" if isinstance(model, str) else ""
    raise TypeError(
        f"model must be a {accepted}, or a log density made by grhmc.from_stan, from_numba, from_python or another "
        f"front-end; got {type(model).__name__}: {model!r:.200}{hint}"
    )
