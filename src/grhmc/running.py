"""From chains to a result: advance them to their end, show progress, and give back what was drawn, whatever fails."""

from __future__ import annotations

import contextlib
import platform
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from grhmc._version import __version__
from grhmc.draws_at_stake import (
    HeldBackWarnings,
    attach,
    build_whatever_fails,
    diagnose_whatever_fails,
    loading_libraries,
    result_from_store,
    show_warnings,
)
from grhmc.looks import Looks
from grhmc.models.log_density import LogDensity
from grhmc.models.path_functions import PathFunctionSet, names_of
from grhmc.outcomes import Outcome, SamplingError, explain
from grhmc.results.datatree import plain_arrays
from grhmc.results.kept_variables import keep_variables
from grhmc.results.log_likelihood import move_log_likelihood
from grhmc.results.record import LEFT_OUT, ChainRecord
from grhmc.run.chain import Chain
from grhmc.run.chain_snapshot import ChainSnapshot
from grhmc.run.control import INTERRUPTED, Control
from grhmc.run.cost import cause_of_cost
from grhmc.run.executor_argument import THREADS, ExecutorChoice
from grhmc.run.executors import Advance, Threads, run_chains
from grhmc.run.interrupt import CtrlC, worth_keeping
from grhmc.run.progress import SteadyView, progress_view
from grhmc.run.rate_of_user import error_of_rate
from grhmc.run.remote import Workers
from grhmc.run.snapshots import Watch
from grhmc.settings import MCT, RunSettings
from grhmc.storage.in_result import add_checkpoint
from grhmc.storage.kept_variables import keep_variables_on_disk, move_log_likelihood_on_disk
from grhmc.storage.run_store import RunStore

if TYPE_CHECKING:
    import xarray

Callback = Callable[[list[ChainSnapshot]], object]
Diagnosis = Callable[["xarray.DataTree", LogDensity | None], None]


@dataclass(kw_only=True)
class Run:
    """Chains that are ready to go, and what is to become of their draws.

    Attributes
    ----------
    model : LogDensity
    settings : RunSettings
    chains : list of Chain
    path_functions : PathFunctionSet or None
    diagnosis : callable or None
        Called with the whole result and the model whose gradient it is to check.
    checked_model : LogDensity or None
    kept : tuple of str or None
        Variables that the result is to have.
    store : RunStore or None
        Where draws are kept beside memory.
    callback : callable or None
        Called about ten times a second with a snapshot of each chain.
    executor : ExecutorChoice
        Whose workers advance chains; by default threads do.
    control : Control
    log_likelihood : tuple of str
        Terms that the result is to have in a group of this name.
    standing : str
        What the rules that may end it stand at, in words.
    holds_warnings : bool
        Leave warnings in `caught`, rather than show them.
    caught : list of WarningMessage
    """

    model: LogDensity
    settings: RunSettings
    chains: list[Chain]
    path_functions: PathFunctionSet | None = None
    diagnosis: Diagnosis | None = None
    checked_model: LogDensity | None = None
    kept: tuple[str, ...] | None = None
    store: RunStore | None = None
    callback: Callback | None = None
    executor: ExecutorChoice = THREADS
    control: Control = field(default_factory=Control)
    log_likelihood: tuple[str, ...] = ()
    standing: str = ""
    holds_warnings: bool = False
    caught: list[warnings.WarningMessage] = field(default_factory=list)

    @property
    def function_names(self) -> tuple[str, ...]:
        """Of the time-averaged functions."""
        return names_of(self.path_functions)


def run_to_end(
    model: LogDensity,
    settings: RunSettings,
    chains: list[Chain],
    path_functions: PathFunctionSet | None,
    diagnosis: Diagnosis | None = None,
    checked_model: LogDensity | None = None,
) -> xarray.DataTree:
    """`finish` for chains whose draws are in memory alone."""
    return finish(
        Run(
            model=model,
            settings=settings,
            chains=chains,
            path_functions=path_functions,
            diagnosis=diagnosis,
            checked_model=checked_model,
        )
    )


def finish(run: Run) -> xarray.DataTree:
    """Advance the chains to their end, show progress, and build the result; what was drawn survives any error."""
    settings, chains = run.settings, run.chains
    display = SteadyView(progress_view(settings.progress_bar))
    with CtrlC() as ctrl_c:
        looks = Looks(settings.stop, run.model, settings.draws, run.store)
        with loading_libraries(run.diagnosis is not None):
            failure, finished = _advance(run, display, ctrl_c, looks)
        records = worth_keeping([chain.record() for chain in chains])
        result: Any = None
        try:
            with HeldBackWarnings() as caught:
                result, problem = _build(run, records, ctrl_c, looks)
                failure = failure or problem
                if failure is None and display.problem:
                    warnings.warn(f"progress could not be shown: {display.problem}", stacklevel=2)
                if failure is None:
                    failure = _judge(run, records, result, ctrl_c, finished=finished)
            result = _keep_what_is_wanted(run, records, result, ctrl_c)
            if failure is None and finished and not run.control.reason and run.store is not None:
                run.store.mark_complete(is_diagnosed=run.diagnosis is not None)
            if failure is None and run.holds_warnings:
                run.caught = caught
            elif failure is None:
                show_warnings(caught, stacklevel=4)
        except BaseException as error:
            failure = error
        if failure is not None:
            raise attach(failure, plain_arrays(records) if result is None else result)
    return result  # pyright: ignore[reportReturnType]


def _judge(
    run: Run, records: Sequence[ChainRecord], result: Any, ctrl_c: CtrlC, *, finished: bool
) -> BaseException | None:
    """Warn of draws that are missing or in doubt; what is to be raised, if anything."""
    if not finished or run.control.reason:
        failure = _cut_short(run, records, ctrl_c)
        if failure is not None:
            return failure
    if run.diagnosis is None:
        return None
    return diagnose_whatever_fails(run.diagnosis, result, run.checked_model, ctrl_c, run.store)


def _keep_what_is_wanted(run: Run, records: Sequence[ChainRecord], result: Any, ctrl_c: CtrlC) -> Any:
    """The result with its group of log likelihoods, and without variables that are not wanted."""
    if run.store is None:
        move_log_likelihood(result, run.model, run.log_likelihood, ctrl_c.raising)
        keep_variables(result, run.kept)
        return result
    if result is None:
        return None
    result = move_log_likelihood_on_disk(run.store, result, records, run.model, run.log_likelihood, ctrl_c.raising)
    return keep_variables_on_disk(run.store, result, run.kept)


def _build(run: Run, records: Sequence[ChainRecord], ctrl_c: CtrlC, looks: Looks) -> tuple[Any, BaseException | None]:
    """The result, in memory or on disk, and what went wrong with it."""

    def attrs() -> dict[str, Any]:
        return result_attributes(run.settings, run.chains, records) | looks.attributes() | _end(run, looks)

    if run.store is None:
        built = build_whatever_fails(records, run.model, attrs, run.function_names, ctrl_c)
        if hasattr(built.result, "children"):
            with contextlib.suppress(Exception):  # it cannot be extended then, and is whole all the same
                add_checkpoint(
                    built.result,
                    records,
                    run.chains,
                    run.model,
                    run.settings,
                    run.function_names,
                    run.kept,
                    run.log_likelihood,
                )
        return built
    return result_from_store(run.store, run.chains, records, run.model, attrs, run.function_names, ctrl_c)


def _end(run: Run, looks: Looks) -> dict[str, str]:
    """What rule a run was stopped by, for its attributes, unless it was that of the looks."""
    control, budget = run.control, run.settings.stop.max_gradients
    if control.reason:
        return {} if control.is_interrupted else {"stopped_by": control.reason}
    if budget is not None and not looks.is_met and any(chain.outcome == Outcome.STOPPED for chain in run.chains):
        return {"stopped_by": f"max_gradients={budget}"}
    return {}


def _advance(run: Run, display: SteadyView, ctrl_c: CtrlC, looks: Looks) -> tuple[BaseException | None, bool]:
    """Advance the chains to their end; what stopped them, if it was an error, and whether they came to it."""
    chains, settings, control = run.chains, run.settings, run.control
    began = time.monotonic()
    max_time = settings.stop.max_time

    def report() -> None:
        snapshots = watch()
        standing = looks.standing(snapshots, time.monotonic() - began)
        run.standing = "" if standing is None else standing.words
        display.update(snapshots, standing)
        if ctrl_c.is_pressed:
            control.end(INTERRUPTED)
        elif max_time is not None and time.monotonic() > began + max_time:
            control.end(f"max_time={max_time:g}", grace=_PATIENCE)
        if run.callback is not None:
            run.callback(snapshots)

    try:
        looks.begin(chains)
        watch = Watch(chains)
        with display, _advance_by(run) as advance:
            finished = run_chains(chains, advance, report, keeper=run.store, control=control, goes_on=looks.goes_on)
        return _failure(run), finished
    except BaseException as error:
        return error, False


@contextlib.contextmanager
def _advance_by(run: Run) -> Iterator[Advance]:
    """Threads of this process, or an executor's workers."""
    if run.executor.make is None:
        yield Threads(run.settings.n_threads, run.store, run.control)
        return
    workers = Workers(run.executor.make, run.model, run.store, run.control, is_ours=run.executor.is_ours)
    try:
        yield workers
    finally:
        workers.close()


_PATIENCE = 5.0
# Seconds for trajectories to come to their end, where nobody waits at a keyboard.


def _failure(run: Run) -> BaseException | None:
    """Why chains could not go on, if one could not."""
    chains, path_functions = run.chains, run.path_functions
    for chain in chains:
        if chain.outcome == Outcome.DENSITY_RAISED:
            error = chain.error or error_of_rate(chain) or chain.model.take_exception()
            if error is not None:
                return error
            source = "the log density" if path_functions is None else "the log density or a path function"
            return SamplingError(
                f"chain {chain.index}, {chain.stage.name}: {source} reported an exception without saying which.",
                chain.outcome,
            )
    for chain in chains:
        if chain.outcome in (Outcome.STEP_BUDGET_USED, Outcome.STUCK):
            words = explain(chain.outcome, n_gradients=chain.counts.n_gradients, cause=cause_of_cost(chain))
            where = chain.process.path[0].time
            return SamplingError(
                f"chain {chain.index}, {chain.stage.name}, process time {where:.4g}: {words}", chain.outcome
            )
    for chain in chains:
        if chain.outcome == Outcome.STOPPED and chain.stage.is_warmup and not run.control.reason:
            return SamplingError(
                f"chain {chain.index}, {chain.stage.name}: max_gradients was used up before the first draw; the chain "
                f"has spent {chain.counts.n_gradients} gradients, an equal share of it",
                chain.outcome,
            )
    return None


def _cut_short(run: Run, records: Sequence[ChainRecord], ctrl_c: CtrlC) -> BaseException | None:
    """Warn that the run was cut short; if it left nothing, or by another exception, that is to be raised.

    A stop rule needs no warning, unless chains are left out, and no diagnosis says so.
    """
    settings, control = run.settings, run.control
    n_draws = min(record.n_draws for record in records)
    if not isinstance(ctrl_c.error, KeyboardInterrupt | None):
        return ctrl_c.error
    is_interrupted = control.is_interrupted or not control.reason
    if n_draws == 0 and not settings.save_warmup:
        if is_interrupted:
            return ctrl_c.error or KeyboardInterrupt()
        return SamplingError(f"{control.reason} was reached before the first draw", Outcome.STOPPED)
    reason = "interrupted" if is_interrupted else f"stopped by {control.reason}"
    message = (
        f"{reason}: the result holds {n_draws} of {settings.draws} draws of {len(records)} of {settings.chains} chains"
    )
    is_unsaid = run.diagnosis is None and len(records) < len(run.chains)
    if is_interrupted or is_unsaid:
        warnings.warn(message, stacklevel=2)
    return None


def result_attributes(settings: RunSettings, chains: Sequence[Chain], records: Sequence[ChainRecord]) -> dict[str, Any]:
    """Settings, versions and totals, for the attributes of the result; `records` are those that it holds."""
    kept = {record.chain for record in records}
    missing = [f"{chain.index} ({chain.n_draws} draws)" for chain in chains if chain.index not in kept]
    return {
        "inference_library": "grhmc",
        "inference_library_version": __version__,
        "numpy_version": np.__version__,
        "numba_version": numba.__version__,
        "python_version": platform.python_version(),
        "draws": settings.draws,
        "tune": settings.tune,
        "chains": settings.chains,
        "seed": settings.seed if settings.seed is not None else -1,
        "scale": settings.scale.tuner,
        **_of_crossing_times(settings.scale.mct),
        "metric": settings.metric.kind,
        "process": "discrete" if chains[0].is_discrete else "continuous",
        "integrator": chains[0].integrator,
        "tolerance": settings.tolerance,
        "event_rate": settings.continuous.event_rate,
        "event_rate_kind": settings.continuous.event_rate_name,
        "persistence": settings.continuous.persistence,
        **({LEFT_OUT: ", ".join(missing)} if missing else {}),
        "outcomes": ", ".join(chain.outcome.name for chain in chains),
        "warmup_seconds": float(sum(chain.seconds[0] for chain in chains)),
        "sampling_seconds": float(sum(chain.seconds[1] for chain in chains)),
        **chains[0].model.attributes(),
    }


def _of_crossing_times(mct: MCT | None) -> dict[str, Any]:
    """MCT's settings, where they are the user's, as attributes of a file can be: numbers and arrays of them."""
    if mct is None:
        return {}
    return {f"mct_{item.name}": np.asarray(getattr(mct, item.name)).tolist() for item in fields(mct)}
