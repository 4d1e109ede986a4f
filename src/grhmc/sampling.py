"""sample(): validate, tune, draw, and give the results back."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from grhmc.adaptation.first_standardization import initial_centre, initial_event_rate, initial_scale
from grhmc.adaptation.stage import Stage
from grhmc.adaptation.stages_of_run import stages_of_run
from grhmc.argument_names import accepts_pymc_names
from grhmc.diagnosis import record_diagnosis
from grhmc.models.as_log_density import as_log_density
from grhmc.models.log_density import LogDensity
from grhmc.models.path_functions import PathFunctionSet, compiled_functions, names_of
from grhmc.results.kept_variables import parse_var_names
from grhmc.results.log_likelihood import parse_log_likelihood
from grhmc.run.chain import Chain
from grhmc.run.chain_record import records_of_run
from grhmc.run.compilation import announce_compilation
from grhmc.run.executor_argument import ExecutorArgument, parse_executor
from grhmc.run.interrupt import CtrlC
from grhmc.run.seeds import chain_generators
from grhmc.run.starting_points import Init, find_start, parse_init
from grhmc.running import Callback, Run, finish
from grhmc.sampling_run import SamplingRun
from grhmc.settings import (
    GRADIENT_BUDGET,
    MCT,
    Metric,
    MetricSettings,
    Process,
    ProcessName,
    RunSettings,
    Scale,
    ScaleSettings,
    Seed,
    StopRule,
    parse_process,
    parse_seed,
)
from grhmc.storage.run_store import RunStore, check_new
from grhmc.storage.settings_json import check_storable

if TYPE_CHECKING:
    import xarray

_DIRECTIONS_AT_OTHER_STARTS = 2
# Of the gradient check: every coordinate is looked at where the first chain starts.

ELSEWHERE = {
    "tolerance": "process=grhmc.Continuous(tolerance=...)",
    "event_rate": "process=grhmc.Continuous(event_rate=...)",
    "event_rate_kind": "process=grhmc.Continuous(event_rate_kind=...)",
    "refreshment": "process=grhmc.Continuous(refreshment=...)",
    "sample_interval": "process=grhmc.Continuous(sample_interval=...)",
    "warmup": "process=grhmc.Continuous(warmup=...)",
    "integrator": "process=grhmc.Discrete(integrator=...) or grhmc.Continuous(integrator=...)",
    "momentum": "process=grhmc.Discrete(momentum=...)",
}
"""Arguments of one process, and how to give them."""


@accepts_pymc_names(ELSEWHERE)
def sample(
    model: Any = None,
    *,
    scale: Scale | MCT | Sequence[float] | np.ndarray = "geo",
    metric: Metric = "auto",
    max_rank: int | None = None,
    draws: int | None = None,
    tune: int = 1000,
    chains: int = 4,
    cores: int | None = None,
    seed: Seed = None,
    init: Init = None,
    process: ProcessName | Process = "discrete",
    target_accept: float | None = None,
    path_functions: PathFunctionSet | None = None,
    var_names: Sequence[str] | None = None,
    store: str | os.PathLike[str] | None = None,
    until: Mapping[str, float] | None = None,
    max_time: float | None = None,
    max_gradients: int | None = None,
    callback: Callback | None = None,
    blocking: bool = True,
    executor: ExecutorArgument = None,
    gradient_budget: int = GRADIENT_BUDGET,
    save_warmup: bool = False,
    log_likelihood: bool | str | Sequence[str] = False,
    progress_bar: bool = True,
    check_gradient: bool = True,
    diagnose: bool = True,
    random_seed: Seed = None,
    progressbar: bool | None = None,
    initvals: Init = None,
) -> xarray.DataTree:
    """Draw from a posterior by randomized Hamiltonian Monte Carlo: Metropolized trajectories, or continuous time.

    Parameters
    ----------
    model : LogDensity, pymc.Model or bridgestan.StanModel
        A log density made by `from_stan`, `from_pymc`, `from_numba`, `from_python`, `from_pointer`, ...; or a model of
        another package as it is. Left out: the PyMC model whose ``with`` block this is called in.
    scale : {"geo", "isg", "vari", "mct", "identity"}, MCT or array of shape (dim,)
        How the diagonal scale is tuned: by integrated squared gradients ("isg"), by marginal variances ("vari"), by the
        geometric mean of these two, by median crossing times, or not at all; numbers fix it.
    metric : {"auto", "diagonal", "low_rank"}
        Correlations on top of the scale: along the directions that are worth their cost, not at all, or along every
        direction that the scale leaves much too wide or too narrow. They need one of the first three tuners.
    max_rank : int
        Largest number of directions; by default ``min(dim, max(30, 100_000 // dim))``.
    draws, tune : int
        Draws kept (at most, where `until` says when to end; default: 1000, with `until` 100 000), and the most draws of
        warm-up, per chain; it ends sooner once the chains agree about the scale. With
        ``tune=0`` the scale is what the gradient at the start suggests (or the one given).
    chains, cores : int
        Chains, and threads to run them on (default: as many as there are cores, at most one per chain).
    seed : int, sequence of int or numpy.random.Generator
        The same seed gives the same draws, whatever `cores`. They depend on `chains`, which are tuned together: the
        numbers of a sequence are one seed together. From a generator one number is drawn.
    init : array of shape (dim,) or (chains, dim), or mapping of names to values, or one such mapping per chain
        Where chains start; default: the model's own starting point, or uniform(-2, 2). Arrays are unconstrained; by
        name, parameters have the values of the model (a standard deviation is positive), and those that are not named
        are drawn as usual.
    process : {"discrete", "continuous"}, Discrete or Continuous
        Metropolized trajectories of equal steps, exact whatever the step; or the process in continuous time, with
        adaptive steps. What belongs to one of them is an argument of `grhmc.Discrete` or `grhmc.Continuous`.
    target_accept : float
        The same as that of ``process=grhmc.Discrete(target_accept=...)``.
    path_functions : PathFunctionSet
        From `path_functions_from_numba`: functions of the parameters to average over the whole path.
    var_names : sequence of str
        Which of the model's variables the result keeps in ``posterior`` (default: all). All are diagnosed.
    store : path or URL
        A new folder (``"run.zarr"``, or what fsspec knows) to write draws, statistics and checkpoints to, as they are
        made: a run that was killed goes on with `resume`, takes memory for a piece of its draws, and its result is
        read from there lazily.
    until : mapping
        ``{"ess": 400, "rhat": 1.01}``: end as soon as every parameter has so many effective draws, in bulk and tails,
        and no larger R-hat, at two looks in a row. ``attrs["stopped_by"]`` says what was met and how sure that is.
    max_time : float
        Seconds after which the run ends with what it has.
    max_gradients : int
        End the run after so many gradients of all chains together, warm-up included. Each may spend an equal share.
    callback : callable
        Called about ten times a second with a list of `ChainSnapshot`, one per chain, from the thread that waits. What
        it raises ends the run; the draws are kept.
    blocking : bool
        False: return at once with a `SamplingRun`, which shows how far it is, can be paused, looked into and stopped,
        and has the result in the end. No progress bar is shown then.
    executor : Executor, dask.distributed.Client, callable or "processes"
        Where chains run, other than in threads: on the workers of an executor (PEP 3148), of a function that makes one,
        or in processes of this machine. Draws are the same. The model must be one that can be pickled.
    gradient_budget : int
        Gradients per draw that a chain may spend, on average over `tune` and `draws` (of 200 draws at least). A single
        draw may take 200 times as many. A chain that needs more ends with a SamplingError that says why.
        Most posteriors take 2 to 30; the default is about what NUTS may spend with a tree depth of at most 10.
    save_warmup : bool
        Keep the draws of the warm-up.
    log_likelihood : bool, str or sequence of str
        Add a group of this name, with the log likelihood of each observation, for `arviz.loo`: of PyMC's and NumPyro's
        observed variables, or of Stan's ``log_lik``. Names choose some of them, or other variables of the model that
        hold it; variables move there from ``posterior``. `compute_log_likelihood` does the same later.
    progress_bar : bool
    check_gradient : bool
        Compare the gradient with finite differences: at the first chain's start along every coordinate (of more than 50
        some, and random directions), at the others' along two random directions. A wrong gradient biases
        the continuous process, and makes the discrete one slow.
    diagnose : bool
        Look at the draws at the end, warn of what speaks against them, and write it into ``attrs["diagnosis"]``.
        `grhmc.diagnose` does the same later.
    random_seed, progressbar, initvals
        `seed`, `progress_bar` and `init` by the names that PyMC has for them.

    Returns
    -------
    xarray.DataTree
        In ArviZ's schema: groups ``posterior``, ``sample_stats``, ``unconstrained_posterior``, ``time_average``,
        ``tuning``; ``observed_data`` and ``constant_data`` where the model knows them; with `save_warmup`,
        ``warmup_posterior`` and ``warmup_sample_stats``; without `store`, ``checkpoint``, which `extend` goes on from.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above; GradientError if the gradient is wrong; InitializationError if no finite
        starting point is found.
    SamplingError
        If a chain cannot go on; its `partial_result` holds the draws made until then.
    Exception
        Whatever the log density raised, with its traceback; its `partial_result` holds the draws made until then.

    Warns
    -----
    SamplingWarning
        If the draws are in doubt.
    UserWarning
        If the log density does not depend on a parameter; if the run was interrupted (Ctrl-C), and the result holds
        what was drawn until then. An interrupt before the first draw is a KeyboardInterrupt.
    """
    model = as_log_density(model)
    for name, flag in (("diagnose", diagnose), ("blocking", blocking)):
        if not isinstance(flag, bool | np.bool_):
            raise TypeError(f"{name} must be True or False, got {flag!r}")
    kept = parse_var_names(var_names, model)
    terms = parse_log_likelihood(log_likelihood, model)
    parsed_scale = ScaleSettings.parse(scale, model.dim)
    settings = RunSettings(
        draws=default_draws(draws, until),
        tune=tune,
        chains=chains,
        cores=cores,
        seed=parse_seed(seed),
        process=parse_process(process, target_accept),
        scale=parsed_scale,
        metric=MetricSettings.parse(metric, max_rank, parsed_scale),
        gradient_budget=gradient_budget,
        save_warmup=save_warmup,
        progress_bar=progress_bar if blocking else False,
        check_gradient=check_gradient,
        stop=StopRule.parse(until, max_time, max_gradients),
    )
    if store is not None:
        check_storable(settings)
    place = None if store is None else check_new(store)
    check_callback(callback)
    chosen_executor = parse_executor(executor, settings.n_threads, path_functions)
    if settings.stop.is_given:  # nobody knows how long it will be
        settings = replace(settings, interval_draws=1, most_intervals=2 * settings.n_time_averages)
    stages = stages_of_run(settings, model.dim)
    with CtrlC() as ctrl_c:
        with ctrl_c.raising():
            on_disk = None if place is None else RunStore(place, settings, model.dim)
            chains_of_run = prepare(model, settings, stages, init, path_functions, on_disk)
            if on_disk is not None:
                starts = np.array([chain.start for chain in chains_of_run])
                on_disk.create(model, starts, names_of(path_functions), kept, terms)
                on_disk.save(chains_of_run)
        if ctrl_c.error is not None:  # it was raised where C code called back, and nobody heard of it
            raise ctrl_c.error
    run = Run(
        model=model,
        settings=settings,
        chains=chains_of_run,
        path_functions=path_functions,
        diagnosis=record_diagnosis if diagnose else None,
        checked_model=model if check_gradient else None,
        kept=kept,
        store=on_disk,
        callback=callback,
        executor=chosen_executor,
        log_likelihood=terms,
    )
    # A DataTree gives any attribute that it is asked for, as far as type checkers know.
    return finish(run) if blocking else cast("xarray.DataTree", SamplingRun(run))


def default_draws(draws: int | None, until: Any) -> int:
    """Draws per chain, from a user's argument."""
    if draws is not None:
        return draws
    return _DEFAULT_DRAWS if until is None else _DRAWS_WITH_A_RULE


_DEFAULT_DRAWS, _DRAWS_WITH_A_RULE = 1000, 100_000


def check_callback(callback: Any) -> None:
    """Raise a TypeError unless it can be called."""
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be a function of a list of ChainSnapshot, got {callback!r}")


def prepare(
    model: LogDensity,
    settings: RunSettings,
    stages: list[Stage],
    init: Init,
    path_functions: PathFunctionSet | None,
    store: RunStore | None = None,
) -> list[Chain]:
    """Find starting points, check the gradient there, and make the chains."""
    if settings.progress_bar:
        announce_compilation()
    starts = parse_init(init, model, settings.chains)
    generators = chain_generators(settings.seed, settings.chains)
    if path_functions is not None:
        if not isinstance(path_functions, PathFunctionSet):
            raise TypeError(f"path_functions must be made by grhmc.path_functions_from_numba, got {path_functions!r}")
        path_functions.check(model.dim)
    functions = compiled_functions(path_functions)
    chains: list[Chain] = []
    start = None
    rows_at_once = None if store is None else store.rows_at_once
    records = records_of_run(settings, stages, model.dim, functions[2], settings.chains, rows_at_once)
    for index, (rng, given) in enumerate(zip(generators, starts, strict=True)):
        start, gradient = find_start(model, rng, given, partner=start if index % 2 else None)
        if settings.check_gradient:
            if index == 0:
                model.check_gradient(start)
                _warn_of_unused_coordinates(model, start)
            else:
                model.check_gradient(start, seed=index, n_directions=_DIRECTIONS_AT_OTHER_STARTS)
        chains.append(
            Chain(
                model.for_thread(),
                settings,
                stages,
                index=index,
                rng=rng,
                start=start,
                centre=initial_centre(settings, start),
                scale=initial_scale(settings, gradient, model, start),
                event_rate=initial_event_rate(settings, model.dim),
                path_functions=functions,
                records=records[index],
                rows_at_once=rows_at_once,
            )
        )
    return chains


def _warn_of_unused_coordinates(model: LogDensity, start: np.ndarray) -> None:
    """A warning rather than an error: the other parameters' posterior may be all the user wants."""
    unused = model.unused_coordinates(start)
    if unused:
        shown = ", ".join(unused[:8]) + (f" and {len(unused) - 8} more" if len(unused) > 8 else "")
        warnings.warn(
            f"the log density does not depend on {shown}, as seen from the first chain's start: there the posterior "
            "is improper, and its draws will wander off without bound. Give these parameters a prior, or remove them.",
            stacklevel=5,
        )
