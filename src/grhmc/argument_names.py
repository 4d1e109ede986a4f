"""Names of keyword arguments: those of other packages for ours, and the nearest to one that nobody knows."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)

PYMC_NAMES = {"random_seed": "seed", "progressbar": "progress_bar", "initvals": "init"}
"""Our arguments by the names that PyMC and others have for them."""


def nearest(name: str, names: Iterable[str]) -> str:
    """``"; did you mean 'x'?"``, or an empty string if nothing is like it."""
    found = difflib.get_close_matches(str(name), [str(known) for known in names], n=1, cutoff=0.6)
    return f"; did you mean {found[0]!r}?" if found else ""


def accepts_pymc_names(elsewhere: Mapping[str, str]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function whose signature has `PYMC_NAMES` beside our own names.

    The function gets what was given by the other name by ours. Its signature stays what it is, for `help` and type
    checkers.

    Parameters
    ----------
    elsewhere : mapping of str to str
        Names of arguments that something else has, and how to write them there.

    Raises
    ------
    TypeError
        When called with a name that the function does not have; or with two names of one setting, unless the values
        are equal.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        parameters = inspect.signature(function).parameters

        @functools.wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            given: dict[str, Any] = dict(kwargs)
            _check_names(function.__name__, given, parameters, elsewhere)
            for other, ours in PYMC_NAMES.items():
                value = given.pop(other, None)
                if value is None:
                    continue
                if ours in given and given[ours] is not None and not _are_equal(given[ours], value):
                    raise TypeError(
                        f"{ours} and {other} are the same setting; got {ours}={given[ours]!r} and {other}={value!r}"
                    )
                given[ours] = value
            return cast(Any, function)(*args, **given)

        return called

    return decorate


def explains_unknown_names(elsewhere: Mapping[str, str]) -> Callable[[C], C]:
    """Decorate a dataclass: the TypeError for a name that it does not have says which is nearest.

    Parameters
    ----------
    elsewhere : mapping of str to str
        Names that something else has, and how to write them there.
    """

    def decorate(cls: C) -> C:
        initialize = cls.__init__
        parameters = inspect.signature(initialize).parameters

        @functools.wraps(initialize)
        def called(self: Any, *args: Any, **kwargs: Any) -> None:
            _check_names(cls.__name__, kwargs, parameters, elsewhere)
            initialize(self, *args, **kwargs)

        cls.__init__ = called
        return cls

    return decorate


def _check_names(
    function: str, given: Iterable[str], parameters: Collection[str], elsewhere: Mapping[str, str]
) -> None:
    """Raise for the first given name that is no parameter, with the way to write it or the nearest one."""
    for name in given:
        if name not in parameters:
            known = [parameter for parameter in parameters if parameter != "self"]
            hint = f"; write {elsewhere[name]}" if name in elsewhere else nearest(name, [*known, *elsewhere])
            raise TypeError(f"{function}() has no argument {name!r}{hint or '; it has ' + ', '.join(known)}")


def _are_equal(one: Any, other: Any) -> bool:
    if one is other:
        return True
    try:
        return bool(np.array_equal(one, other))
    except ValueError:  # mappings of arrays
        return False
