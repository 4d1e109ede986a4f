"""Where chains run, from a user's argument."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from typing import Any, NamedTuple

ExecutorArgument = Any
"""None, "processes", an executor of PEP 3148, a dask.distributed.Client, or a function that makes one of these."""


class ExecutorChoice(NamedTuple):
    """How to have an executor.

    Attributes
    ----------
    make : callable or None
        None: chains run in threads of this process.
    is_ours : bool
        Whether to shut it down at the end.
    """

    make: Callable[[], Executor] | None
    is_ours: bool


THREADS = ExecutorChoice(None, False)


def parse_executor(executor: ExecutorArgument, n_workers: int, path_functions: object | None) -> ExecutorChoice:
    """From a user's argument.

    Parameters
    ----------
    executor
        See `ExecutorArgument`. Only where a function makes it are workers replaced when all are lost with their
        executor, as it is with those of `ProcessPoolExecutor`.
    n_workers : int
        Processes for "processes".
    path_functions : object, optional
        The user's path functions, which only threads can call.

    Raises
    ------
    TypeError, ValueError
        If it is none of these.
    """
    if executor is None:
        return THREADS
    choice = _of_processes(executor, n_workers)
    if path_functions is not None:
        raise ValueError("path_functions cannot be sent to other processes; leave out executor or path_functions")
    return choice


def _of_processes(executor: ExecutorArgument, n_workers: int) -> ExecutorChoice:
    accepted = "'processes', an executor with a method submit (PEP 3148), a dask.distributed.Client, or a function"
    if isinstance(executor, str):
        if executor != "processes":
            raise ValueError(f"executor must be {accepted} that makes one, got {executor!r}")
        # Not by fork: threads of the compiler and of BLAS would be copied in whatever state they are.
        context = multiprocessing.get_context("spawn")
        return ExecutorChoice(
            lambda: ProcessPoolExecutor(n_workers, mp_context=context, initializer=end_with_the_caller), True
        )
    if hasattr(executor, "submit"):
        return ExecutorChoice(lambda: _of_pep_3148(executor), False)
    if callable(executor):
        return ExecutorChoice(lambda: _of_pep_3148(executor()), True)
    raise TypeError(f"executor must be {accepted} that makes one, got {executor!r}")


def end_with_the_caller() -> None:
    """Have this process end when the one that has started it does, even by a kill: it would wait for work for ever."""
    caller = multiprocessing.parent_process()
    if caller is not None:
        threading.Thread(target=_wait_and_end, args=(caller,), name="grhmc caller", daemon=True).start()


def _wait_and_end(process: Any) -> None:
    process.join()
    os._exit(1)


def _of_pep_3148(executor: Any) -> Executor:
    """The executor itself, or that of a Dask client."""
    if hasattr(executor, "get_executor"):
        return executor.get_executor(pure=False)
    if not hasattr(executor, "submit"):
        raise TypeError(f"executor must make an executor with a method submit (PEP 3148), but made {executor!r}")
    return executor
