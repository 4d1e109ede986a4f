"""How a model travels to another process: by what makes it there, with functions that have no importable name.

The standard pickle names functions by module and attribute, which fails for local functions and lambdas, and for those
of a script's ``__main__`` in any process that is not its child. cloudpickle sends these by value, so it is used where
it is installed.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

Rebuild = tuple[Callable[..., Any], tuple[Any, ...]]


def portable(rebuild: Rebuild) -> Rebuild:
    """Turn (function, arguments) into the same for `__reduce__` that any pickler can write.

    Raises
    ------
    TypeError
        If something in it cannot be pickled; says what to install if cloudpickle might help.
    """
    try:
        import cloudpickle
    except ImportError:
        return _plain(rebuild)
    try:
        return _rebuild, (cloudpickle.dumps(rebuild),)
    except Exception as error:
        raise TypeError(
            f"this model cannot be pickled: something that its function refers to cannot be ({error}); pass such "
            "objects as data, or make the model in the other process"
        ) from error


def to_message(what: Any) -> bytes:
    """A model or an exception, to be sent to or from a worker of the same run."""
    return pickle.dumps(what)


def from_message(message: bytes) -> Any:
    """The inverse of `to_message`: for what a worker of the same run has sent, or was sent, and never for a file."""
    return pickle.loads(message)


def _plain(rebuild: Rebuild) -> Rebuild:
    try:
        pickle.dumps(rebuild)
    except Exception as error:
        raise TypeError(
            f"this model cannot be pickled without the package cloudpickle ({error}); install it with "
            "pip install 'grhmc[cluster]', or define the model's function at the top of a module"
        ) from error
    return rebuild


def _rebuild(pickled: bytes) -> Any:
    import cloudpickle

    function, arguments = cloudpickle.loads(pickled)
    return function(*arguments)
