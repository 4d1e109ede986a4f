"""Run several scale tuners on one model and say what each was worth."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from grhmc.argument_checks import check_choice
from grhmc.argument_names import accepts_pymc_names
from grhmc.comparison.comparison import Comparison
from grhmc.comparison.paper_measures import (
    PAPER_DRAWS,
    PAPER_TRAJECTORIES,
    paper_process,
    paper_rows,
    paper_starts,
)
from grhmc.comparison.rows import ESS_KINDS, ComparisonRow, TunerSummary
from grhmc.diagnosis import SamplingWarning, warn_of_several
from grhmc.models.as_log_density import as_log_density
from grhmc.outcomes import SamplingError
from grhmc.results.summaries import (
    coordinates_of,
    effective_sample_size,
    iterate_parameters,
    largest_r_hat,
    metric_rank,
)
from grhmc.sampling import ELSEWHERE, sample
from grhmc.settings import (
    GRADIENT_BUDGET,
    SCALES,
    Metric,
    PaperWarmup,
    Process,
    ProcessName,
    Scale,
    Seed,
    WarmupName,
    parse_seed,
)

if TYPE_CHECKING:
    import xarray

    from grhmc.models.log_density import LogDensity


@accepts_pymc_names(ELSEWHERE)
def compare(
    model: LogDensity,
    scales: Sequence[Scale] = ("vari", "isg", "mct", "geo"),
    *,
    metric: Metric = "auto",
    max_rank: int | None = None,
    draws: int | None = None,
    tune: int = 1000,
    chains: int | None = None,
    cores: int | None = None,
    seed: Seed = None,
    init: Sequence[float] | np.ndarray | Mapping[str, Any] | None = None,
    process: ProcessName | Process = "discrete",
    target_accept: float | None = None,
    warmup: WarmupName | PaperWarmup = "practical",
    gradient_budget: int = GRADIENT_BUDGET,
    progress_bar: bool = True,
    random_seed: Seed = None,
    progressbar: bool | None = None,
    initvals: Sequence[float] | np.ndarray | Mapping[str, Any] | None = None,
) -> Comparison:
    """Sample a model once with each scale tuner, from the same starting points.

    With ``warmup="paper"`` as Tran & Kleppe (2024) did: ten independent trajectories of the continuous process from
    q̄ ~ N(0, I), integrated at a tolerance of 1e-6, through their tuning phases and then for 100 000 time units, a draw
    every 2. The result then shows the measures of their tables, too, in its `paper_rows`. This takes minutes for two
    dimensions and a simple density; ``draws=2500`` is a twentieth of their length.

    Parameters
    ----------
    model : LogDensity
    scales : sequence of str
        Tuners: "vari", "isg", "mct", "geo", "identity".
    seed : int, sequence of int or numpy.random.Generator, optional
        Of every run.
    warmup : {"practical", "paper"} or PaperWarmup
        See above. The published one needs the continuous process: the published one, unless `process` is a
        `grhmc.Continuous`, which keeps its settings but for the warm-up.
    draws, chains : int
        By default 1000 and 4; under the published warm-up 50 000 and 10.
    init
        By default as in `sample`; under the published warm-up from N(0, I).
    metric, max_rank, tune, cores, process, target_accept, gradient_budget, progress_bar
        As in `sample`, and so are the other names of some of them.

    Returns
    -------
    Comparison
        After an interrupt, of what had been drawn by then. A tuner whose chains could not go on is
        listed among its `failures`.

    Raises
    ------
    TypeError, ValueError
        If `scales` is not as described; and whatever `sample` raises for the other arguments.
    SamplingError
        If every tuner failed.

    Warns
    -----
    SamplingWarning
        Once, if the draws of a tuner are in doubt: its findings name the tuner.
    """
    scales = _check_scales(scales)
    seed = parse_seed(seed)
    published = PaperWarmup.parse(warmup)
    if published is not None:
        model = as_log_density(model)
        process = paper_process(process, published if isinstance(warmup, PaperWarmup) else None)
        draws, chains = draws or PAPER_DRAWS, chains or PAPER_TRAJECTORIES
        init = paper_starts(seed, chains, model.dim) if init is None and initvals is None else init
    draws, chains = 1000 if draws is None else draws, 4 if chains is None else chains
    results: dict[str, xarray.DataTree] = {}
    failures: dict[str, str] = {}
    last_error = None
    for number, scale in enumerate(scales, start=1):
        if progress_bar:
            Console(stderr=True).print(f"scale tuner {scale} ({number} of {len(scales)})")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SamplingWarning)  # of all tuners together, below
                results[scale] = sample(
                    model,
                    scale=scale,
                    metric=metric,
                    max_rank=max_rank,
                    draws=draws,
                    tune=tune,
                    chains=chains,
                    cores=cores,
                    seed=seed,
                    init=init,
                    process=process,
                    target_accept=target_accept,
                    gradient_budget=gradient_budget,
                    progress_bar=progress_bar,
                )
        except SamplingError as error:
            last_error = error
            failures[scale] = str(error)
        except KeyboardInterrupt:  # before the first draw
            if not results:
                raise
            break
        if scale in results and "INTERRUPTED" in str(results[scale].attrs.get("outcomes", "")):
            break
    if last_error is not None and not results:
        raise last_error
    comparison = compare_results(results, failures=failures, seed=seed, as_published=published is not None)
    warn_of_several({f"scale={tuner!r}": report for tuner, report in comparison.reports.items()})
    return comparison


def compare_results(
    results: dict[str, xarray.DataTree],
    *,
    failures: dict[str, str] | None = None,
    seed: int | tuple[int, ...] = -1,
    as_published: bool = False,
) -> Comparison:
    """Compare runs of one model that are already there.

    Parameters
    ----------
    results : dict of str to DataTree
        From `sample`, by what to call each.
    failures : dict of str to str, optional
        Messages of runs that have no result.
    seed : int or tuple of int
        For the record.
    as_published : bool
        Add the measures of the paper's tables.

    Returns
    -------
    Comparison
    """
    rows: list[ComparisonRow] = []
    summaries = []
    for tuner, result in results.items():
        of_tuner = list(_rows(tuner, result))
        rows += of_tuner
        summaries.append(_summarize(tuner, result, of_tuner))
    published = [row for tuner, result in results.items() for row in paper_rows(tuner, result)] if as_published else []
    return Comparison(tuple(rows), tuple(summaries), dict(results), dict(failures or {}), seed, tuple(published))


def _rows(tuner: str, result: xarray.DataTree) -> Iterable[ComparisonRow]:
    tuning, statistics = result["tuning"].to_dataset(), result["sample_stats"].to_dataset()
    n_gradients = int(statistics["n_gradients"].sum())
    sampling_seconds = float(tuning["sampling_seconds"].sum())
    names = tuning["unconstrained"].values.tolist()
    scales = dict(zip(names, tuning["scale"].mean("chain").values.tolist(), strict=True))
    parameters = list(iterate_parameters(result))
    coordinates = coordinates_of(parameters, names)
    for parameter in parameters:
        ess = effective_sample_size(parameter.values)
        yield ComparisonRow(
            tuner=tuner,
            parameter=parameter.label,
            ess_bulk=ess.bulk,
            ess_tail=ess.tail,
            ess_mean=ess.mean,
            ess_q2=ess.q2,
            n_gradients=n_gradients,
            sampling_seconds=sampling_seconds,
            scale=scales.get(coordinates.get(parameter.label, ""), math.nan),
        )


def _summarize(tuner: str, result: xarray.DataTree, rows: Sequence[ComparisonRow]) -> TunerSummary:
    varying = [row for row in rows if not math.isnan(row.ess_worst)]
    smallest = {kind: min((getattr(row, f"ess_{kind}") for row in varying), default=math.nan) for kind in ESS_KINDS}
    tuning, statistics = result["tuning"].to_dataset(), result["sample_stats"].to_dataset()
    return TunerSummary(
        tuner=tuner,
        worst=min(varying, key=lambda row: row.ess_worst, default=None),
        ess_bulk=smallest["bulk"],
        ess_tail=smallest["tail"],
        ess_mean=smallest["mean"],
        ess_q2=smallest["q2"],
        n_gradients=int(statistics["n_gradients"].sum()),
        warmup_gradients=int(tuning["n_gradients"].sum()),
        sampling_seconds=float(tuning["sampling_seconds"].sum()),
        warmup_seconds=float(tuning["warmup_seconds"].sum()),
        event_rate=float(np.exp(np.log(tuning["event_rate"].values).mean())),
        r_hat=largest_r_hat(result),
        n_diverging=int(statistics["diverging"].sum()),
        metric_rank=metric_rank(result),
    )


def _check_scales(scales: Sequence[Scale]) -> tuple[Scale, ...]:
    if isinstance(scales, str):
        raise TypeError(f'scales must be a sequence of names, got "{scales}"; write ("{scales}",)')
    names = tuple(scales)
    if not names:
        raise ValueError("scales must name at least one tuner, such as ('vari', 'isg'); got none")
    for name in names:
        check_choice("scales", name, SCALES)
    if len(set(names)) < len(names):
        raise ValueError(f"scales must be distinct, got {names}")
    return names
