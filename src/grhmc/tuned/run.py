"""tune(): find a posterior's scale, centre and event rate, by the warm-up of `sample`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from grhmc.adaptation.low_rank import factor_of
from grhmc.adaptation.stages_of_run import stages_of_run
from grhmc.argument_names import accepts_pymc_names
from grhmc.models.as_log_density import as_log_density
from grhmc.running import run_to_end
from grhmc.sampling import ELSEWHERE, prepare
from grhmc.settings import (
    GRADIENT_BUDGET,
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
from grhmc.tuned.origin import origin_of
from grhmc.tuned.tuned import Tuned

_MIN_TUNE = 20


@accepts_pymc_names(ELSEWHERE)
def tune(
    model: Any,
    *,
    scale: Scale = "geo",
    metric: Metric = "auto",
    max_rank: int | None = None,
    tune: int = 1000,
    chains: int = 4,
    cores: int | None = None,
    seed: Seed = None,
    init: Sequence[float] | np.ndarray | Mapping[str, Any] | None = None,
    process: ProcessName | Process = "discrete",
    target_accept: float | None = None,
    gradient_budget: int = GRADIENT_BUDGET,
    progress_bar: bool = True,
    check_gradient: bool = True,
    random_seed: Seed = None,
    progressbar: bool | None = None,
    initvals: Sequence[float] | np.ndarray | Mapping[str, Any] | None = None,
) -> Tuned:
    """Find the metric, centre and event rate of a posterior: the warm-up of `sample`, and a single draw.

    Parameters are those of `sample`, and so is the process; `tune` must be at least 20. Methods of what is returned
    (`for_pymc`, `for_stan`, `for_numpyro`, `for_blackjax`) hand the metric to other samplers.

    Returns
    -------
    Tuned
    """
    if isinstance(tune, int) and not isinstance(tune, bool) and tune < _MIN_TUNE:
        raise ValueError(f"tune must be {_MIN_TUNE} or more for a tuned scale, got {tune}")
    model = as_log_density(model)
    parsed_scale = ScaleSettings.parse(scale, model.dim)
    settings = RunSettings(
        draws=1,
        tune=tune,
        chains=chains,
        cores=cores,
        seed=parse_seed(seed),
        process=parse_process(process, target_accept),
        scale=parsed_scale,
        metric=MetricSettings.parse(metric, max_rank, parsed_scale),
        gradient_budget=gradient_budget,
        progress_bar=progress_bar,
        check_gradient=check_gradient,
    )
    run = prepare(model, settings, stages_of_run(settings, model.dim), init, None)
    result = run_to_end(model, settings, run, None)
    tuning = result["tuning"]
    scales = np.asarray(tuning["scale"])
    factor = factor_of(next((chain for chain in run if not chain.is_lost), run[0]).process.standardization)
    return Tuned(
        scale=np.exp(np.log(scales).mean(axis=0)),
        centre=np.asarray(tuning["centre"]).mean(axis=0),
        event_rate=float(np.exp(np.log(tuning["event_rate"]).mean())),
        time_to_u_turn=float(np.exp(np.log(tuning["time_to_u_turn"]).mean())),
        n_gradients=int(np.asarray(tuning["n_gradients"]).sum()),
        names=model.coordinate_names,
        directions=factor.directions,
        eigenvalues=factor.eigenvalues,
        scale_per_chain=scales,
        centre_per_chain=np.asarray(tuning["centre"]),
        event_rate_per_chain=np.asarray(tuning["event_rate"]),
        origin=origin_of(model),
    )
