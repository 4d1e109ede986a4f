"""sample(): validate, tune, draw, and give the results back."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from grhmc._version import __version__
from grhmc.adaptation.first_standardization import initial_centre, initial_event_rate, initial_scale
from grhmc.adaptation.stage import Stage
from grhmc.adaptation.stages_of_run import stages_of_run
from grhmc.argument_names import accepts_field_names
from grhmc.diagnosis import record_diagnosis
from grhmc.draws_at_stake import (
    attach,
    build_whatever_fails,
    diagnose_whatever_fails,
    held_back_warnings,
    loading_libraries,
    show_warnings,
)
from grhmc.models.as_log_density import as_log_density
from grhmc.models.log_density import LogDensity
from grhmc.models.path_functions import PathFunctionSet
from grhmc.outcomes import Outcome, SamplingError, explain
from grhmc.results.datatree import plain_arrays
from grhmc.results.kept_variables import keep_variables, parse_var_names
from grhmc.results.record import ChainRecord
from grhmc.run.chain import Chain
from grhmc.run.chain_record import records_of_run
from grhmc.run.cost import cause_of_cost
from grhmc.run.executors import run_chains
from grhmc.run.interrupt import CtrlC, worth_keeping
from grhmc.run.progress import SteadyView, progress_view
from grhmc.run.seeds import chain_generators
from grhmc.run.snapshots import Watch
from grhmc.run.starting_points import find_start, parse_init
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
    parse_process,
    parse_seed,
)

if TYPE_CHECKING:
    import xarray

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


@accepts_field_names(ELSEWHERE)
def sample(
    model: Any,
    *,
    scale: Scale | MCT | Sequence[float] | np.ndarray = "geo",
    metric: Metric = "auto",
    max_rank: int | None = None,
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    cores: int | None = None,
    seed: Seed = None,
    init: Sequence[float] | np.ndarray | Mapping[str, Any] | None = None,
    process: ProcessName | Process = "discrete",
    target_accept: float | None = None,
    path_functions: PathFunctionSet | None = None,
    var_names: Sequence[str] | None = None,
    gradient_budget: int = GRADIENT_BUDGET,
    save_warmup: bool = False,
    progress_bar: bool = True,
    check_gradient: bool = True,
    diagnose: bool = True,
    random_seed: Seed = None,
    progressbar: bool | None = None,
    initvals: Sequence[float] | np.ndarray | Mapping[str, Any] | None = None,
) -> xarray.DataTree:
    """Draw from a posterior by randomized Hamiltonian Monte Carlo: Metropolized trajectories, or continuous time.

    Parameters
    ----------
    model : LogDensity, pymc.Model or bridgestan.StanModel
        A log density made by `from_stan`, `from_pymc`, `from_numba`, `from_python`, `from_pointer`, ...; or a model of
        another package as it is.
    scale : {"geo", "isg", "vari", "mct", "identity"}, MCT or array of shape (dim,)
        How the diagonal scale is tuned: by integrated squared gradients ("isg"), by marginal variances ("vari"), by the
        geometric mean of these two, by median crossing times, or not at all; numbers fix it.
    metric : {"auto", "diagonal", "low_rank"}
        Correlations on top of the scale: along the directions that are worth their cost, not at all, or along every
        direction that the scale leaves much too wide or too narrow. They need one of the first three tuners.
    max_rank : int
        Most directions; by default as many as there are parameters, but no more than 100 000 numbers in all, or 30.
    draws, tune : int
        Draws kept, and the most draws of warm-up, per chain; it ends sooner once the chains agree about the scale. With
        ``tune=0`` the scale is what the gradient at the start suggests (or the one given).
    chains, cores : int
        Chains, and threads to run them on (default: as many as there are cores, at most one per chain).
    seed : int, sequence of int or numpy.random.Generator
        The same seed gives the same draws, whatever `cores`. They depend on `chains`, which are tuned together: the
        numbers of a sequence are one seed together. From a generator one number is drawn.
    init : array of shape (dim,) or (chains, dim), or mapping of variable names to values
        Where chains start, unconstrained; default: the model's own starting point, or uniform(-2, 2).
    process : {"discrete", "continuous"}, Discrete or Continuous
        Metropolized trajectories of equal steps, exact whatever the step; or the process in continuous time, with
        adaptive steps. What belongs to one of them is an argument of `grhmc.Discrete` or `grhmc.Continuous`.
    target_accept : float
        The same as that of ``process=grhmc.Discrete(target_accept=...)``.
    path_functions : PathFunctionSet
        From `path_functions_from_numba`: functions of the parameters to average over the whole path.
    var_names : sequence of str
        Which of the model's variables the result keeps in ``posterior`` (default: all). All are diagnosed.
    gradient_budget : int
        Gradients per draw that a chain may spend, on average over `tune` and `draws` (of 200 draws at least), and a
        two-hundredth of those that one draw may take. A chain that needs more ends with a SamplingError that says why.
        Most posteriors take 2 to 30; the default is about what NUTS may spend with a tree depth of at most 10.
    save_warmup : bool
        Keep the draws of the warm-up.
    progress_bar : bool
    check_gradient : bool
        Compare the gradient with finite differences at every chain's start. The sampler follows gradients only, so a
        wrong one would bias it without a sign.
    diagnose : bool
        Look at the draws at the end, warn of what speaks against them, and write it into ``attrs["diagnosis"]``.
        `grhmc.diagnose` does the same later.
    random_seed, progressbar, initvals
        `seed`, `progress_bar` and `init` by the names that PyMC has for them.

    Returns
    -------
    xarray.DataTree
        In ArviZ's schema: groups ``posterior``, ``sample_stats``, ``unconstrained_posterior``, ``time_average``,
        ``tuning`` and, with `save_warmup`, ``warmup_posterior`` and ``warmup_sample_stats``.

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
    model = check_model(model)
    if not isinstance(diagnose, bool | np.bool_):
        raise TypeError(f"diagnose must be True or False, got {diagnose!r}")
    kept = parse_var_names(var_names, model)
    parsed_scale = ScaleSettings.parse(scale, model.dim)
    settings = RunSettings(
        draws=draws,
        tune=tune,
        chains=chains,
        cores=cores,
        seed=parse_seed(seed),
        process=parse_process(process, target_accept),
        scale=parsed_scale,
        metric=MetricSettings.parse(metric, max_rank, parsed_scale),
        gradient_budget=gradient_budget,
        save_warmup=save_warmup,
        progress_bar=progress_bar,
        check_gradient=check_gradient,
    )
    stages = stages_of_run(settings, model.dim)
    with CtrlC() as ctrl_c:
        with ctrl_c.raising():
            run = prepare(model, settings, stages, init, path_functions)
        if ctrl_c.error is not None:  # it was raised where C code called back, and nobody heard of it
            raise ctrl_c.error
    checked = model if check_gradient else None
    diagnosis = record_diagnosis if diagnose else None
    return run_to_end(model, settings, run, path_functions, diagnosis, checked, kept)


def check_model(model: Any) -> LogDensity:
    """Turn `model` into what the sampler can use, or raise a TypeError."""
    return as_log_density(model)


def prepare(
    model: LogDensity,
    settings: RunSettings,
    stages: list[Stage],
    init: Any,
    path_functions: PathFunctionSet | None,
) -> list[Chain]:
    """Find starting points, check the gradient there, and make the chains."""
    starts = parse_init(init, model, settings.chains)
    generators = chain_generators(settings.seed, settings.chains)
    functions = (0, 0, 0)
    if path_functions is not None:
        if not isinstance(path_functions, PathFunctionSet):
            raise TypeError(f"path_functions must be made by grhmc.path_functions_from_numba, got {path_functions!r}")
        path_functions.check(model.dim)
        functions = (path_functions.address, path_functions.user_data, len(path_functions.names))
    chains: list[Chain] = []
    start = None
    records = records_of_run(settings, stages, model.dim, functions[2], settings.chains)
    for index, (rng, given) in enumerate(zip(generators, starts, strict=True)):
        start, gradient = find_start(model, rng, given, partner=start if index % 2 else None)
        if settings.check_gradient:
            model.check_gradient(start)
            if index == 0:
                _warn_of_unused_coordinates(model, start)
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


def run_to_end(
    model: LogDensity,
    settings: RunSettings,
    chains: list[Chain],
    path_functions: PathFunctionSet | None,
    diagnosis: Callable[[xarray.DataTree, LogDensity | None], None] | None = None,
    checked_model: LogDensity | None = None,
    kept: tuple[str, ...] | None = None,
) -> xarray.DataTree:
    """Advance the chains to their end, show progress, and build the result; what was drawn survives any error.

    `diagnosis`, if any, is called with the whole result and `checked_model`; variables that are not `kept` go then.
    """
    names = () if path_functions is None else path_functions.names
    display = SteadyView(progress_view(settings.progress_bar))
    with CtrlC() as ctrl_c:
        with loading_libraries(diagnosis is not None):
            failure, finished = _advance(chains, settings, display, path_functions, ctrl_c)
        records = worth_keeping([chain.record() for chain in chains])
        result: Any = None
        try:
            with held_back_warnings() as caught:
                result, problem = build_whatever_fails(
                    records, model, lambda: result_attributes(settings, chains), names, ctrl_c
                )
                failure = failure or problem
                if failure is None and not finished:
                    failure = _interruption(records, settings, ctrl_c)
                if failure is None and display.problem:
                    warnings.warn(f"progress could not be shown: {display.problem}", stacklevel=2)
                if failure is None and diagnosis is not None:
                    failure = diagnose_whatever_fails(diagnosis, result, checked_model, ctrl_c)
            keep_variables(result, kept)
            if failure is None:
                show_warnings(caught, stacklevel=4)
        except BaseException as error:
            failure = error
        if failure is not None:
            raise attach(failure, plain_arrays(records) if result is None else result)
    return result


def _advance(
    chains: list[Chain],
    settings: RunSettings,
    display: SteadyView,
    path_functions: PathFunctionSet | None,
    ctrl_c: CtrlC,
) -> tuple[BaseException | None, bool]:
    """Advance the chains to their end; what stopped them, if it was an error, and whether they came to it."""
    try:
        watch = Watch(chains)
        with display:
            finished = run_chains(
                chains,
                settings.n_threads,
                lambda: display.update(watch()),
                is_interrupted=lambda: ctrl_c.is_pressed,
            )
        return _failure(chains, settings, path_functions), finished
    except BaseException as error:
        return error, False


def _failure(
    chains: list[Chain], settings: RunSettings, path_functions: PathFunctionSet | None
) -> BaseException | None:
    """Why chains could not go on, if one could not."""
    for chain in chains:
        if chain.outcome == Outcome.DENSITY_RAISED:
            error = chain.model.take_exception()
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
    return None


def _interruption(records: Sequence[ChainRecord], settings: RunSettings, ctrl_c: CtrlC) -> BaseException | None:
    """Warn that the run was cut short; if it left nothing, or by another exception, that is to be raised."""
    n_draws = min(len(record.draws) for record in records)
    if not isinstance(ctrl_c.error, KeyboardInterrupt | None):
        return ctrl_c.error
    if n_draws == 0 and not settings.save_warmup:
        return ctrl_c.error or KeyboardInterrupt()
    warnings.warn(
        f"interrupted: the result holds {n_draws} of {settings.draws} draws of {len(records)} of {settings.chains} "
        "chains",
        stacklevel=2,
    )
    return None


def result_attributes(settings: RunSettings, chains: Sequence[Chain]) -> dict[str, Any]:
    """Settings, versions and totals, for the attributes of the result."""
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
        "metric": settings.metric.kind,
        "process": "discrete" if chains[0].is_discrete else "continuous",
        "integrator": chains[0].integrator,
        "tolerance": settings.tolerance,
        "event_rate": settings.continuous.event_rate,
        "event_rate_kind": settings.continuous.event_rate_kind,
        "persistence": settings.continuous.persistence,
        "outcomes": ", ".join(chain.outcome.name for chain in chains),
        "warmup_seconds": float(sum(chain.seconds[0] for chain in chains)),
        "sampling_seconds": float(sum(chain.seconds[1] for chain in chains)),
        **chains[0].model.attributes(),
    }
