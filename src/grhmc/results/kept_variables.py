"""Keep only the variables that a user asks for in the posterior of a result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from grhmc.argument_names import nearest

if TYPE_CHECKING:
    from grhmc.models.log_density import LogDensity


def parse_var_names(var_names: Any, model: LogDensity) -> tuple[str, ...] | None:
    """From a user's argument: a name or several of the model's variables; None for all.

    Raises
    ------
    TypeError, ValueError
        If it is no sequence of names, or empty, or the model has no such variable.
    """
    if var_names is None:
        return None
    names = (var_names,) if isinstance(var_names, str) else var_names
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"var_names must be a sequence of names of variables, got {var_names!r}")
    if not names:
        raise ValueError("var_names must name at least one variable; leave it out to keep all")
    known = [variable.name for variable in model.variables]
    for name in names:
        if name not in known:
            hint = nearest(name, known) or f"; it has {', '.join(known)}"
            raise ValueError(f"var_names has {name!r}, but the model has no such variable{hint}")
    return tuple(dict.fromkeys(names))


def keep_variables(result: Any, names: tuple[str, ...] | None) -> Any:
    """The result, whose groups ``posterior`` and ``warmup_posterior`` hold these variables only, in the given order.

    What is no DataTree, or lacks the groups because the model could not compute its variables, stays as it is.
    """
    if names is None:
        return result
    for group in ("posterior", "warmup_posterior"):
        if group in getattr(result, "children", ()):
            dataset = result[group].to_dataset()
            result[group].dataset = dataset[[name for name in names if name in dataset]]
    return result
