"""resume() and extend(): go on with a run that is on disk, or in a result."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from grhmc.adaptation.stages_of_run import stages_of_run
from grhmc.argument_checks import check_count
from grhmc.diagnosis import record_diagnosis, warn_again
from grhmc.models.as_log_density import as_log_density
from grhmc.models.log_density import LogDensity
from grhmc.models.path_functions import PathFunctionSet, compiled_functions, names_of
from grhmc.results.checkpoint import CheckpointError
from grhmc.run.chain import Chain
from grhmc.run.compilation import announce_compilation
from grhmc.run.draw_rows import lengthen
from grhmc.run.executor_argument import ExecutorArgument, parse_executor
from grhmc.run.interrupt import CtrlC
from grhmc.run.restored_chain import restored_chain
from grhmc.running import Callback, Run, finish
from grhmc.sampling import check_callback
from grhmc.settings import RunSettings, StopRule
from grhmc.storage.fingerprint import DifferentRunError, check_model, check_software
from grhmc.storage.in_result import CHECKPOINT, load_from_result
from grhmc.storage.result import open_result
from grhmc.storage.run_store import RunStore, is_complete, is_run, load_run
from grhmc.storage.saved_run import SavedRun

if TYPE_CHECKING:
    from collections.abc import Mapping

    import xarray


def resume(
    store: str | os.PathLike[str],
    model: Any,
    *,
    path_functions: PathFunctionSet | None = None,
    cores: int | None = None,
    callback: Callback | None = None,
    executor: ExecutorArgument = None,
    max_time: float | None = None,
    progress_bar: bool = True,
    diagnose: bool = True,
) -> xarray.DataTree:
    """Go on with a run that was killed, interrupted or ended with an error, to the draws that it would have made.

    Parameters
    ----------
    store : path or URL
        Of the run, as it was given to `sample`.
    model : LogDensity, pymc.Model or bridgestan.StanModel
        The same as then: names, shapes, and its log density where chains started are compared.
    path_functions : PathFunctionSet
        The same as then.
    cores : int
        Threads to run chains on (default: as many as there are cores, at most one per chain).
    callback, executor, progress_bar, diagnose
        As of `sample`.
    max_time : float
        Seconds after which the run ends with what it has; a rule of the run itself counts its time again from 0.

    Returns
    -------
    xarray.DataTree
        As of `sample`, with the same draws in every bit as if nothing had happened; a run that is complete gives its
        result.

    Raises
    ------
    FileNotFoundError
        If there is no run.
    CheckpointError
        If its files are damaged, or it was ended before its first checkpoint.
    DifferentRunError
        If the model is another one, or the run was made by another version of grhmc.
    SamplingError, Exception
        As of `sample`.
    """
    density = as_log_density(model)
    place = _place(store)
    saved = _checked(load_run(place), density, path_functions, place)
    if is_complete(place, is_diagnosed=diagnose):
        result = open_result(place, saved.kept or [variable.name for variable in density.variables])
        if diagnose:
            warn_again(result)
        return result
    stop = saved.settings.stop if max_time is None else replace(saved.settings.stop, max_time=max_time)
    settings = replace(saved.settings, cores=cores, progress_bar=progress_bar, stop=stop)
    return _go_on(place, density, saved, settings, path_functions, callback, diagnose, executor)


def extend(
    store: str | os.PathLike[str] | xarray.DataTree,
    model: Any,
    *,
    draws: int,
    until: Mapping[str, float] | None = None,
    max_time: float | None = None,
    max_gradients: int | None = None,
    path_functions: PathFunctionSet | None = None,
    cores: int | None = None,
    callback: Callback | None = None,
    executor: ExecutorArgument = None,
    progress_bar: bool = True,
    diagnose: bool = True,
) -> xarray.DataTree:
    """Add draws to a run on disk, or to a result in memory, without another warm-up.

    Parameters
    ----------
    store : path, URL or xarray.DataTree
        Of the run, which grows; or its result. That of a run without a store, perhaps read back from a file, stays as
        it is.
    model : LogDensity, pymc.Model or bridgestan.StanModel
        The same as then.
    draws : int
        To add to each chain.
    until, max_time, max_gradients
        When to end before; as of `sample`. Rules of the first run do not count any more.
    path_functions, cores, callback, executor, progress_bar, diagnose
        As of `resume`.

    Returns
    -------
    xarray.DataTree
        With the draws of before and the new ones. Those of the discrete process are, in every bit, what one longer run
        would have drawn.

    Raises
    ------
    TypeError, ValueError, Exception
        As of `resume`.
    """
    check_count("draws", draws, at_least=1)
    density = as_log_density(model)
    stop = StopRule.parse(until, max_time, max_gradients)
    place = _place_of(store) if hasattr(store, "children") else _place(store)
    saved = load_from_result(store) if place is None else load_run(place)  # pyright: ignore[reportArgumentType]
    saved = _checked(saved, density, path_functions, place or "the result")
    before = saved.settings
    settings = replace(
        before,
        draws=_longer(saved, draws),
        interval_draws=before.draws_per_interval,
        cores=cores,
        progress_bar=progress_bar,
        stop=stop,
    )
    settings = replace(settings, most_intervals=_most_intervals(saved, settings))
    return _go_on(place, density, saved, settings, path_functions, callback, diagnose, executor)


def _most_intervals(saved: SavedRun, settings: RunSettings) -> int | None:
    """Joins intervals of time averages where nobody knows how many there will be, or they would be very many."""
    few = 2 * settings.n_time_averages
    if not settings.joins_intervals and not settings.stop.is_given and settings.n_intervals <= _MANY * few:
        return None
    present = max(int(state["process.cursors"]["interval_index"][0]) for state in saved.states)
    return max(settings.most_intervals or few, present + present % 2)


_MANY = 10


def _place(store: Any) -> str:
    if not isinstance(store, str | os.PathLike):
        raise TypeError(f"store must be the path or URL of a run, got {store!r}")
    return os.fspath(store)  # pyright: ignore[reportReturnType]


def _place_of(result: Any) -> str | None:
    """The run in a store that a result was read from, if it was."""
    source = result.encoding.get("source")
    if CHECKPOINT in result.children or not isinstance(source, str) or not is_run(source):
        return None
    return source


def _checked(saved: SavedRun, model: LogDensity, path_functions: PathFunctionSet | None, place: str) -> SavedRun:
    """The run, once compared with what there is now."""
    check_software(saved.description["software"], place)
    check_model(model, saved.description["model"], saved.points, saved.values, place)
    names = names_of(path_functions)
    if names != saved.function_names:
        raise DifferentRunError(
            f"path_functions are {list(names)}, those of {place} are {list(saved.function_names)}; give the same"
        )
    if path_functions is not None:
        path_functions.check(model.dim)
    return saved


def _longer(saved: SavedRun, draws: int) -> int:
    """Draws of each chain with those to add: to what the chains have, of a run that was ended while it sampled."""
    n_stages = len(stages_of_run(saved.settings, saved.description["model"]["dim"]))
    if any(int(state["stage_index"]) < n_stages - 1 for state in saved.states):
        return saved.settings.draws + draws
    made = [int(state["process.cursors"]["draw_index"][0]) for state in saved.states]
    return max(min(made) + draws, *made)


def _go_on(
    place: str | None,
    model: LogDensity,
    saved: SavedRun,
    settings: RunSettings,
    path_functions: PathFunctionSet | None,
    callback: Callback | None,
    diagnose: bool,
    executor: ExecutorArgument,
) -> xarray.DataTree:
    """Put the chains into their saved states, and go on to the end."""
    check_callback(callback)
    chosen_executor = parse_executor(executor, settings.n_threads, path_functions)
    if settings.progress_bar:
        announce_compilation()
    with CtrlC() as ctrl_c, ctrl_c.raising():
        store = None
        if place is not None:
            store = RunStore(place, settings, model.dim, saved.epoch, rows_at_once=saved.description["rows_at_once"])
        chains = _restored_chains(model, saved, settings, path_functions, store)
        if store is not None:
            store.write_settings(settings)
            store.open_arrays()
    return finish(
        Run(
            model=model,
            settings=settings,
            chains=chains,
            path_functions=path_functions,
            diagnosis=record_diagnosis if diagnose else None,
            checked_model=model if settings.check_gradient else None,
            kept=saved.kept,
            store=store,
            callback=callback,
            executor=chosen_executor,
            log_likelihood=saved.log_likelihood,
        )
    )


def _restored_chains(
    model: LogDensity,
    saved: SavedRun,
    settings: RunSettings,
    path_functions: PathFunctionSet | None,
    store: RunStore | None,
) -> list[Chain]:
    stages = stages_of_run(saved.settings, model.dim)
    new_stages = stages_of_run(settings, model.dim)
    chains = []
    for index, state in enumerate(saved.states):
        try:
            chain = restored_chain(
                model.for_thread(),
                saved.settings,
                stages,
                index=index,
                start=saved.points[index],
                state=state,
                rows_at_once=None if store is None else store.rows_at_once,
                path_functions=compiled_functions(path_functions),
            )
        except (ValueError, TypeError, KeyError) as error:
            where = "the result" if store is None else store.location
            raise CheckpointError(f"the state of chain {index} in {where} is damaged: {error}") from error
        lengthen(chain, settings, new_stages)
        chains.append(chain)
    return chains
