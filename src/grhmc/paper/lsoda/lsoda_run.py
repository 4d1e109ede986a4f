"""Tuned and sampled trajectories on LSODA: the published experiments with the published integrator."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from grhmc.adaptation.paper_schedule import PAPER_EVENT_RATE, paper_stages
from grhmc.adaptation.stage import sampling_stage
from grhmc.adaptation.tuners.scale_from_moments import FIXED, SCALE_TUNERS
from grhmc.argument_checks import check_choice, check_count
from grhmc.paper.lsoda.lsoda_dynamics import POSITION
from grhmc.paper.lsoda.lsoda_process import LsodaProcess
from grhmc.run.seeds import chain_generators
from grhmc.settings import EventRateRuleName

if TYPE_CHECKING:
    from grhmc.models.log_density import LogDensity


@dataclass(frozen=True)
class Trajectories:
    """Several trajectories, from LSODA or from `grhmc.sample`; arrays have one row per trajectory.

    Attributes
    ----------
    draws : ndarray, shape (n, n_draws, dim)
        In the units of the parameters.
    path_mean : ndarray, shape (n, dim)
        Time averages over the sampling phase.
    scale, centre : ndarray, shape (n, dim)
    event_rate, time_to_u_turn : ndarray, shape (n,)
    n_tuning, n_sampling : ndarray of int, shape (n,)
        Right sides or gradients evaluated in tuning and in sampling, restarts included.
    history_time : ndarray, shape (k,);  history_scale : ndarray, shape (n, k, dim)
    tuning_seconds, sampling_seconds : float
        Of one core, all trajectories together.
    """

    draws: np.ndarray
    path_mean: np.ndarray
    scale: np.ndarray
    centre: np.ndarray
    event_rate: np.ndarray
    time_to_u_turn: np.ndarray
    n_tuning: np.ndarray
    n_sampling: np.ndarray
    history_time: np.ndarray
    history_scale: np.ndarray
    tuning_seconds: float
    sampling_seconds: float


def sample_with_lsoda(
    model: LogDensity,
    *,
    scale: str | np.ndarray,
    draws: int,
    sample_interval: float,
    start: np.ndarray,
    seed: int,
    tolerance: float = 1e-6,
    event_rate: float | None = None,
    time_factor: float = 1.0,
    event_rate_rule: EventRateRuleName = "as_stated",
    integrals: tuple[str, ...] = (POSITION,),
    integrals_run_on: bool = False,
) -> Trajectories:
    """Tune as published and sample, on SciPy's LSODA.

    Parameters
    ----------
    model : LogDensity
        Positive everywhere.
    scale : {"vari", "isg", "mct", "geo"} or array of shape (dim,)
        Numbers fix it.
    draws : int
        Per trajectory.
    sample_interval : float
        Process time between draws.
    start : ndarray, shape (n, dim)
        One row per trajectory.
    seed : int
        Trajectories get the generators that the chains of `grhmc.sample` get for the same seed.
    tolerance : float
        Relative and absolute.
    event_rate : float, optional
        Fixed λ; tuned by default.
    time_factor : float
        Multiplies the lengths of the tuning phases.
    event_rate_rule : {"as_stated", "as_run"}
        See `grhmc.PaperWarmup`.
    integrals : tuple of str
        Path integrals in the state while sampling.
    integrals_run_on : bool
        Whether they run on over events, or start from 0 at each.

    Raises
    ------
    ImportError
        Without SciPy.
    ValueError, TypeError
        If an argument is not as above.
    """
    check_count("draws", draws, at_least=1)
    fixed = None
    tuner = FIXED
    if isinstance(scale, str):
        check_choice("scale", scale, tuple(SCALE_TUNERS), " or an array")
        tuner = SCALE_TUNERS[scale]
    else:
        fixed = np.asarray(scale, dtype=np.float64)
    rate = PAPER_EVENT_RATE if event_rate is None else event_rate
    stages = paper_stages(
        tuner,
        tune_event_rate=event_rate is None,
        event_rate=rate,
        time_factor=time_factor,
        event_rate_rule=event_rate_rule,
    )
    final = sampling_stage(draws, sample_interval, 1.0)
    generators = chain_generators(seed, len(start))
    kept = np.empty((len(start), draws, model.dim))
    processes, counts, seconds, path_means = [], [], np.zeros(2), []
    for rng, point, rows in zip(generators, np.atleast_2d(start), kept, strict=True):
        began = time.perf_counter()
        process = LsodaProcess(
            model,
            start=point,
            rng=rng,
            centre=np.zeros(model.dim) if fixed is None else point,
            scale=np.ones(model.dim) if fixed is None else fixed,
            event_rate=rate,
            tolerance=tolerance,
        )
        for stage in stages:
            process.run_stage(stage)
        tuned = time.perf_counter()
        n_tuning = process.dynamics.n_evaluations
        process.run_stage(final, rows, integrals, integrals_run_on=integrals_run_on)
        seconds += tuned - began, time.perf_counter() - tuned
        processes.append(process)
        path_means.append(process.moments.mean.copy())
        counts.append((n_tuning, process.dynamics.n_evaluations - n_tuning))
    n_rows = min(len(process.history) for process in processes)
    n_evaluations = np.array(counts, dtype=np.int64)
    return Trajectories(
        draws=kept,
        path_mean=np.array(path_means),
        scale=np.array([process.dynamics.scale for process in processes]),
        centre=np.array([process.dynamics.centre for process in processes]),
        event_rate=np.array([process.event_rate for process in processes]),
        time_to_u_turn=np.exp([process.rate_tuner.log_process_time[0] for process in processes]),
        n_tuning=n_evaluations[:, 0],
        n_sampling=n_evaluations[:, 1],
        history_time=np.array([t for t, _ in processes[0].history[:n_rows]]),
        history_scale=np.array([[s for _, s in process.history[:n_rows]] for process in processes]),
        tuning_seconds=float(seconds[0]),
        sampling_seconds=float(seconds[1]),
    )
