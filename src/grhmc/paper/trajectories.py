"""Ten tuned and sampled trajectories, by the package's own integrators or by LSODA, in one form."""

from __future__ import annotations

from typing import cast

import numpy as np

from grhmc import Continuous, PaperWarmup, sample
from grhmc.comparison.paper_measures import paper_starts
from grhmc.comparison.reading import evaluations, unconstrained_draws
from grhmc.models.log_density import LogDensity
from grhmc.outcomes import Outcome
from grhmc.paper.cells import LSODA, SAMPLE_INTERVAL, TRAJECTORIES, Cell
from grhmc.paper.lsoda.lsoda_run import Trajectories, sample_with_lsoda
from grhmc.settings import ContinuousIntegrator, Scale


def starting_points(cell: Cell, dim: int) -> np.ndarray:
    """q0 ~ N(0, I), as published; shape (10, dim)."""
    return paper_starts(cell.seed, TRAJECTORIES, dim)


def run_trajectories(cell: Cell, model: LogDensity, cores: int) -> Trajectories:
    """Tune and sample the cell's ten trajectories.

    Raises
    ------
    KeyboardInterrupt
        If the user stopped the run: a cell is finished or not kept.
    """
    return _with_lsoda(cell, model) if cell.integrator == LSODA else _with_own_integrator(cell, model, cores)


def _with_own_integrator(cell: Cell, model: LogDensity, cores: int) -> Trajectories:
    result = sample(
        model,
        scale=cast(Scale, cell.method),
        draws=cell.draws,
        chains=TRAJECTORIES,
        cores=cores,
        seed=cell.seed,
        init=starting_points(cell, model.dim),
        process=Continuous(
            cast(ContinuousIntegrator, cell.integrator),
            cell.tolerance,
            sample_interval=SAMPLE_INTERVAL,
            warmup=PaperWarmup(apply_at_crossing=cell.applies_at_crossing, event_rate_rule=cell.event_rate_rule),
        ),
        progress_bar=False,
        diagnose=False,  # the report compares the draws with what is known of the target
    )
    if Outcome.INTERRUPTED.name in result.attrs["outcomes"]:
        raise KeyboardInterrupt
    tuning, averages = result["tuning"].to_dataset(), result["time_average"].to_dataset()
    duration = averages["duration"].to_numpy()[..., np.newaxis]
    return Trajectories(
        draws=unconstrained_draws(result),
        path_mean=(averages["position"].to_numpy() * duration).sum(axis=1) / duration.sum(axis=1),
        scale=np.asarray(tuning["scale"]),
        centre=np.asarray(tuning["centre"]),
        event_rate=np.asarray(tuning["event_rate"]),
        time_to_u_turn=np.asarray(tuning["time_to_u_turn"]),
        n_tuning=np.asarray(tuning["n_gradients"]),
        n_sampling=evaluations(result),
        history_time=np.nanmean(np.asarray(tuning["history_time"]), axis=0),
        history_scale=np.asarray(tuning["history_scale"]),
        tuning_seconds=float(np.asarray(tuning["warmup_seconds"]).sum()),
        sampling_seconds=float(np.asarray(tuning["sampling_seconds"]).sum()),
    )


def _with_lsoda(cell: Cell, model: LogDensity) -> Trajectories:
    return sample_with_lsoda(
        model,
        scale=cell.method,
        draws=cell.draws,
        sample_interval=SAMPLE_INTERVAL,
        start=starting_points(cell, model.dim),
        seed=cell.seed,
        tolerance=cell.tolerance,
        event_rate_rule=cell.event_rate_rule,
    )
