"""resume() and extend(): go on with a run that is on disk."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from grhmc.adaptation.stages_of_run import stages_of_run
from grhmc.argument_checks import check_count
from grhmc.diagnosis import record_diagnosis
from grhmc.models.log_density import LogDensity
from grhmc.models.path_functions import PathFunctionSet, compiled_functions, names_of
from grhmc.results.checkpoint import CheckpointError
from grhmc.run.chain import Chain
from grhmc.run.draw_rows import lengthen
from grhmc.run.executor_argument import ExecutorArgument, parse_executor
from grhmc.run.interrupt import CtrlC
from grhmc.run.restored_chain import restored_chain
from grhmc.running import Callback, Run, finish
from grhmc.sampling import check_callback, check_model
from grhmc.settings import RunSettings, StopRule
from grhmc.storage.fingerprint import DifferentRunError, check_software
from grhmc.storage.fingerprint import check_model as check_same_model
from grhmc.storage.run_store import RunStore, SavedRun, load_run

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
    density = check_model(model)
    saved = _load(store, density, path_functions)
    stop = saved.settings.stop if max_time is None else replace(saved.settings.stop, max_time=max_time)
    settings = replace(saved.settings, cores=cores, progress_bar=progress_bar, stop=stop)
    return _go_on(os.fspath(store), density, saved, settings, path_functions, callback, diagnose, executor)


def extend(
    store: str | os.PathLike[str],
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
    """Add draws to a run on disk, without another warm-up.

    Parameters
    ----------
    store : path or URL
        Of the run.
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
    density = check_model(model)
    saved = _load(store, density, path_functions)
    before = saved.settings
    settings = replace(
        before,
        draws=_longer(saved, draws),
        interval_draws=before.draws_per_interval,
        cores=cores,
        progress_bar=progress_bar,
        stop=StopRule.parse(until, max_time, max_gradients),
    )
    return _go_on(os.fspath(store), density, saved, settings, path_functions, callback, diagnose, executor)


def _load(store: str | os.PathLike[str], model: LogDensity, path_functions: PathFunctionSet | None) -> SavedRun:
    """Read the run, and compare it with what there is now."""
    if not isinstance(store, str | os.PathLike):
        raise TypeError(f"store must be the path or URL of a run, got {store!r}")
    place = os.fspath(store)
    saved = load_run(place)
    check_software(saved.description["software"], place)
    check_same_model(model, saved.description["model"], saved.starts, saved.values, place)
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
    place: str,
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
    where = parse_executor(executor, settings.n_threads)
    with CtrlC() as ctrl_c, ctrl_c.raising():
        store = RunStore(place, settings, model.dim, saved.epoch, rows_at_once=saved.description["rows_at_once"])
        chains = _restored_chains(model, saved, settings, path_functions, store)
        store.write_settings(settings)
        store.open_arrays()
    return finish(
        Run(
            model,
            settings,
            chains,
            path_functions,
            record_diagnosis if diagnose else None,
            model if settings.check_gradient else None,
            saved.kept,
            store,
            callback,
            *where,
        )
    )


def _restored_chains(
    model: LogDensity,
    saved: SavedRun,
    settings: RunSettings,
    path_functions: PathFunctionSet | None,
    store: RunStore,
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
                start=saved.starts[index],
                state=state,
                rows_at_once=store.rows_at_once,
                path_functions=compiled_functions(path_functions),
            )
        except (ValueError, TypeError, KeyError) as error:
            raise CheckpointError(f"the state of chain {index} in {store.location} is damaged: {error}") from error
        lengthen(chain, settings, new_stages)
        chains.append(chain)
    return chains
