"""The measures of Tran & Kleppe (2024): S over trajectories, effective sample sizes of means, and what they cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from grhmc.comparison.effective_size import ess_per_trajectory, monitor_ess
from grhmc.comparison.reading import evaluations, unconstrained_draws
from grhmc.settings import Continuous, Discrete, PaperWarmup, Process, ProcessName

if TYPE_CHECKING:
    import xarray

PAPER_TOLERANCE = 1e-6
PAPER_TRAJECTORIES = 10
PAPER_DRAWS = 50_000
PAPER_SAMPLE_INTERVAL = 2.0
"""Process time; with it a trajectory is 100 000 time units long."""

LARGEST_TOLERANCE_AT_CROSSINGS = 1e-4
"""Up to which MCT changes S at crossings.

Each crossing cuts a step on dense output, several times per time unit in many dimensions. At loose tolerances the error
of these cuts adds up: on BLR2, m was off by a third of a standard deviation.
"""


@dataclass(frozen=True)
class PaperRow:
    """One coordinate under one tuner, as a row of the paper's tables.

    Attributes
    ----------
    tuner, coordinate : str
        `coordinate` of the sampler: unconstrained.
    scale_mean, scale_sd : float
        Of S_j, over trajectories.
    ess : float
        Of the mean of q_j, all trajectories together: rstan's n_eff.
    ess_error : float
        Its standard error, from the spread over trajectories; nan for a single one.
    n_evaluations, n_tuning : float
        Of the gradient, all trajectories together, in sampling and in tuning.
    """

    tuner: str
    coordinate: str
    scale_mean: float
    scale_sd: float
    ess: float
    ess_error: float
    n_evaluations: int
    n_tuning: int

    @property
    def ess_per_1e5(self) -> float:
        """ESS per 100 000 evaluations of the gradient: what the paper ranks methods by, in the worst coordinate."""
        return 1e5 * self.ess / self.n_evaluations if self.n_evaluations else math.nan


def paper_rows(tuner: str, result: xarray.DataTree) -> list[PaperRow]:
    """The rows of one run."""
    tuning, draws = result["tuning"].to_dataset(), unconstrained_draws(result)
    n_chains = len(draws)
    scale, sizes = tuning["scale"].to_numpy(), monitor_ess(draws)
    spread = ess_per_trajectory(draws).std(axis=0, ddof=1) if n_chains > 1 else np.full(len(sizes), math.nan)
    return [
        PaperRow(
            tuner=tuner,
            coordinate=str(name),
            scale_mean=float(scale[:, j].mean()),
            scale_sd=float(scale[:, j].std(ddof=1)) if n_chains > 1 else math.nan,
            ess=float(sizes[j]),
            ess_error=float(spread[j]) * math.sqrt(n_chains),
            n_evaluations=int(evaluations(result).sum()),
            n_tuning=int(tuning["n_gradients"].sum()),
        )
        for j, name in enumerate(tuning["unconstrained"].to_numpy())
    ]


def worst_rows(rows: Sequence[PaperRow]) -> dict[str, PaperRow]:
    """Each tuner's coordinate with the fewest effective draws."""
    tuners = dict.fromkeys(row.tuner for row in rows)
    return {tuner: min((row for row in rows if row.tuner == tuner), key=lambda row: row.ess) for tuner in tuners}


def paper_process(process: ProcessName | Process, warmup: PaperWarmup | None) -> Continuous:
    """The published process; or a user's, with the published warm-up.

    Parameters
    ----------
    process : {"discrete", "continuous"}, Discrete or Continuous
        The names, one of which is the default of `compare`, stand for the published process.
    warmup : PaperWarmup or None
        None: as it was run for the published tables.

    Raises
    ------
    ValueError
        If the process is a discrete one, which has no such warm-up.
    """
    if isinstance(process, Discrete):
        raise ValueError("warmup='paper' is of the continuous process; got process=grhmc.Discrete(...)")
    if not isinstance(process, Continuous):
        process = Continuous("rkn64", PAPER_TOLERANCE, sample_interval=PAPER_SAMPLE_INTERVAL)
    if warmup is None:
        at_crossings = process.tolerance is not None and process.tolerance <= LARGEST_TOLERANCE_AT_CROSSINGS
        warmup = PaperWarmup(event_rate_rule="as_run", apply_at_crossing=at_crossings)
    return replace(process, warmup=warmup)


def paper_starts(seed: int | tuple[int, ...], chains: int, dim: int) -> np.ndarray:
    """q0 ~ N(0, I), as published; shape (chains, dim)."""
    numbers = (seed,) if isinstance(seed, int) else seed
    return np.random.default_rng([*numbers, dim]).standard_normal((chains, dim))
