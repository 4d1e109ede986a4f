"""Turns: a lock that compiled code takes, around densities that only one thread may evaluate at a time."""

from __future__ import annotations

import ctypes
import functools
import inspect
import types as python_types
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, is_jitted

_WORD = ir.IntType(64)


@functools.cache
def mutex_functions() -> tuple[int, int]:
    """Addresses of the functions that lock and unlock."""
    process = ctypes.CDLL(None)
    lock, unlock = process.pthread_mutex_lock, process.pthread_mutex_unlock
    return ctypes.cast(lock, ctypes.c_void_p).value or 0, ctypes.cast(unlock, ctypes.c_void_p).value or 0


def make_mutex() -> np.ndarray:
    """A mutex in memory: its address is that of the array."""
    memory = np.zeros(32, dtype=np.int64)  # larger than any platform's pthread_mutex_t
    ctypes.CDLL(None).pthread_mutex_init(ctypes.c_void_p(memory.ctypes.data), None)
    return memory


def must_take_turns(function: Any) -> bool:
    """Whether two threads may not run a jitted function at once: a parallel one under Numba's own threading layer.

    That layer ends the process when two threads enter it. It is known once a parallel function has been compiled.
    """
    if not any(other.targetoptions.get("parallel") for other in _reachable(function, set())):
        return False
    try:
        return numba.threading_layer() == "workqueue"
    except ValueError:  # no parallel loop was found to be worth one
        return False


@functools.cache
def turn_functions(takes_turns: bool) -> tuple[Any, Any]:
    """Two functions for compiled code: to wait for a turn, and to give it up; they do nothing unless it `takes_turns`.

    All densities share one lock: the threading layer is one, too.
    """
    if not takes_turns:
        return _calls(0), _calls(0)
    lock, unlock = mutex_functions()
    return _calls(lock), _calls(unlock)


@functools.cache
def _mutex_of_the_layer() -> np.ndarray:
    return make_mutex()


def _calls(address: int) -> Any:
    @intrinsic
    def call(_typing_context: Any) -> Any:
        def generate(context, builder, _signature, _arguments):
            if address:
                function_type = ir.FunctionType(ir.IntType(32), [_WORD])
                function = builder.inttoptr(_WORD(address), function_type.as_pointer())
                builder.call(function, [_WORD(_mutex_of_the_layer().ctypes.data)])
            return context.get_dummy_value()

        return types.none(), generate

    return call


def _reachable(function: Any, seen: set[int]) -> Iterator[Any]:
    """A jitted function, and those that it or its callees name: global variables, closures, members of modules."""
    if id(function) in seen:
        return
    seen.add(id(function))
    yield function
    for value in _named_in(function.py_func):
        if is_jitted(value) and hasattr(value, "py_func"):
            yield from _reachable(value, seen)


def _named_in(function: Callable[..., Any]) -> Iterator[Any]:
    names = function.__code__.co_names
    closure = inspect.getclosurevars(function)
    for value in [*closure.globals.values(), *closure.nonlocals.values()]:
        if isinstance(value, python_types.ModuleType):
            yield from (vars(value)[name] for name in names if name in vars(value))
        else:
            yield value
