"""From what chains have drawn to a result: whatever fails on the way, the draws survive.

As a result and a warning; or, where an exception must reach the user, as its `partial_result`.
"""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from grhmc.diagnosis import record_failure
from grhmc.models.outputs import describe
from grhmc.results.datatree import build_datatree, build_plain_datatree, plain_arrays
from grhmc.storage.result import loaded_part, write_attribute, write_result

if TYPE_CHECKING:
    from grhmc.models.log_density import LogDensity
    from grhmc.results.record import ChainRecord
    from grhmc.run.chain import Chain
    from grhmc.run.interrupt import CtrlC
    from grhmc.storage.run_store import RunStore


class Built(NamedTuple):
    """What became of the draws.

    Attributes
    ----------
    result : xarray.DataTree, or dict of arrays
        All of it; the draws and their statistics alone; or, if there is no memory even for a DataTree, arrays.
    error : BaseException or None
        That has to reach the user, because it is no ordinary exception or there is no DataTree.
    """

    result: Any
    error: BaseException | None


@contextlib.contextmanager
def loading_libraries(is_diagnosed: bool) -> Iterator[None]:
    """While chains run, import in another thread what the end of the run needs: a Ctrl-C is then answered at once."""

    def load() -> None:
        with contextlib.suppress(Exception):  # who needs them will hear of it
            import arviz_base  # noqa: F401
            import xarray  # noqa: F401

            if is_diagnosed:
                import arviz_stats.base  # noqa: F401

    thread = threading.Thread(target=load, name="grhmc imports", daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def build_whatever_fails(
    records: Sequence[ChainRecord],
    model: LogDensity,
    attrs: Callable[[], Mapping[str, Any]],
    function_names: Sequence[str],
    ctrl_c: CtrlC,
) -> Built:
    """Build the result; if that fails, a smaller one."""
    try:
        return Built(build_datatree(records, model, attrs(), function_names, ctrl_c.raising), None)
    except BaseException as error:
        problem = error
    try:
        result = build_plain_datatree(records, model, attrs())
    except Exception:
        return Built(plain_arrays(records), problem)
    if not isinstance(problem, Exception):
        return Built(result, problem)
    warnings.warn(
        "the result holds the draws as the sampler saw them and their statistics only, because the rest could not be "
        f"put together: {describe(problem)}",
        stacklevel=2,
    )
    return Built(result, None)


def result_from_store(
    store: RunStore,
    chains: Sequence[Chain],
    records: Sequence[ChainRecord],
    model: LogDensity,
    attrs: Callable[[], Mapping[str, Any]],
    function_names: Sequence[str],
    ctrl_c: CtrlC,
) -> Built:
    """Write what is left to write, and open the result; if that fails, its draws are in the store all the same."""
    try:
        store.write_rest(chains)
        store.save(chains)
        return Built(write_result(store, records, model, attrs(), function_names, ctrl_c.raising), None)
    except BaseException as error:
        return Built(None, error)


def diagnose_whatever_fails(
    diagnosis: Callable[[Any, LogDensity | None], None],
    result: Any,
    model: LogDensity | None,
    ctrl_c: CtrlC,
    store: RunStore | None = None,
) -> BaseException | None:
    """Diagnose; say that it failed rather than fail. Returns what is no ordinary exception and has to be raised."""
    try:
        with ctrl_c.raising():
            _diagnose(diagnosis, result, model, store)
        return None
    except KeyboardInterrupt as error:
        if not ctrl_c.is_pressed:
            return error
        reason = "interrupted"
    except Exception as error:
        reason = describe(error)
    except BaseException as error:
        return error
    message = _NOT_DIAGNOSED.format(reason)
    record_failure(result, message)
    warnings.warn(message, stacklevel=2)
    return None


def _diagnose(
    diagnosis: Callable[[Any, LogDensity | None], None], result: Any, model: LogDensity | None, store: RunStore | None
) -> None:
    """Diagnose a result; of one on disk that is larger than memory may be, every so many draws."""
    if store is None:
        diagnosis(result, model)
        return
    sample = loaded_part(result)
    try:
        diagnosis(sample, model)
    finally:
        for name, value in sample.attrs.items():
            if name not in result.attrs:
                result.attrs[name] = value
                write_attribute(store, str(name), value)


_NOT_DIAGNOSED = (
    "the draws are complete, but nobody has looked whether they are to be trusted, because their diagnosis failed "
    "({}); grhmc.diagnose(result) tries again"
)


def attach(error: BaseException, result: Any) -> BaseException:
    """Give an exception the draws made until then, as `partial_result`; returns it."""
    try:
        error.partial_result = result  # pyright: ignore[reportAttributeAccessIssue]
    except Exception:  # a frozen dataclass, for one
        with contextlib.suppress(Exception):
            object.__setattr__(error, "partial_result", result)
    return error


class HeldBackWarnings:
    """Collect warnings, so that none of them can be raised before there is a result to go with it.

    One run at a time: what is done with warnings is the whole process's, and two that overlap would not put back what
    was there before. Not a generator: one whose end is interrupted is closed whenever it is collected as garbage,
    perhaps by another thread, which cannot release the lock.
    """

    def __init__(self) -> None:
        self._catch = warnings.catch_warnings(record=True)

    def __enter__(self) -> list[warnings.WarningMessage]:
        _ONE_AT_A_TIME.acquire()
        try:
            caught: Any = self._catch.__enter__()
            try:
                warnings.simplefilter("always")
            except BaseException:
                self._catch.__exit__(None, None, None)
                raise
        except BaseException:
            _ONE_AT_A_TIME.release()
            raise
        return caught

    def __exit__(self, *exception: Any) -> None:
        try:
            self._catch.__exit__(*exception)
        finally:
            _ONE_AT_A_TIME.release()


_ONE_AT_A_TIME = threading.RLock()


def show_warnings(caught: Sequence[warnings.WarningMessage], stacklevel: int) -> None:
    """Warn of what was held back.

    Parameters
    ----------
    caught : sequence of WarningMessage
    stacklevel : int
        Seen from the caller: who is to be named as the source of the package's own warnings.
    """
    shown = set()
    for entry in caught:
        key = (entry.category, str(entry.message), entry.filename, entry.lineno)
        if key in shown:
            continue
        shown.add(key)
        if entry.filename.startswith(_PACKAGE) and issubclass(entry.category, UserWarning):
            warnings.warn(entry.message, stacklevel=stacklevel + 1)
        else:
            warnings.warn_explicit(entry.message, entry.category, entry.filename, entry.lineno)


_PACKAGE = str(Path(__file__).parent)
