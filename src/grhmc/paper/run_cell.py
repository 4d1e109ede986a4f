"""Run one cell and reduce its draws to the numbers that are kept."""

from __future__ import annotations

import numpy as np

from grhmc.comparison.effective_size import ess_per_trajectory, monitor_ess
from grhmc.models.analytic import AnalyticTarget
from grhmc.models.log_density import LogDensity
from grhmc.paper.cells import Cell, CellResult
from grhmc.paper.targets import TARGETS
from grhmc.paper.trajectories import run_trajectories

PROBABILITIES = (0.05, 0.5, 0.95)
"""Where the distribution of the draws is compared with the exact one."""


def run_cell(cell: Cell, cores: int = 1) -> CellResult:
    """Run a cell.

    Parameters
    ----------
    cell : Cell
    cores : int
        Threads for its trajectories.

    Raises
    ------
    KeyboardInterrupt
        If the user stopped it.
    """
    target = TARGETS[cell.target]
    return run_cell_on(target.make(), cell, cores, None if target.exact is None else target.exact())


def run_cell_on(model: LogDensity, cell: Cell, cores: int, exact: AnalyticTarget | None = None) -> CellResult:
    """Run a cell on a model, of which `exact` says what is known; `cell.target` is only its name here."""
    run = run_trajectories(cell, model, cores)
    draws, square = run.draws, run.draws**2
    probability, ess_probability = _probabilities(draws, exact)
    return CellResult(
        cell=cell,
        names=model.coordinate_names,
        ess=monitor_ess(draws),
        ess_squared=monitor_ess(square),
        ess_trajectory=ess_per_trajectory(draws),
        mean=draws.mean(axis=(0, 1)),
        mean_square=square.mean(axis=(0, 1)),
        sd=draws.std(axis=(0, 1), ddof=1),
        sd_square=square.std(axis=(0, 1), ddof=1),
        probability=probability,
        ess_probability=ess_probability,
        path_mean=run.path_mean,
        scale=run.scale,
        centre=run.centre,
        last=draws[:, -1].copy(),
        event_rate=run.event_rate,
        time_to_u_turn=run.time_to_u_turn,
        n_tuning=run.n_tuning,
        n_sampling=run.n_sampling,
        history_time=run.history_time,
        history_scale=run.history_scale,
        tuning_seconds=run.tuning_seconds,
        sampling_seconds=run.sampling_seconds,
    )


def _probabilities(draws: np.ndarray, exact: AnalyticTarget | None) -> tuple[np.ndarray, np.ndarray]:
    """Shares of draws below exact quantiles, with their effective sample sizes."""
    dim = draws.shape[2]
    if exact is None:
        return np.zeros((0, dim)), np.zeros((0, dim))
    shares, sizes = [], []
    for probability in PROBABILITIES:
        points = np.array([exact_quantile(exact, j, probability) for j in range(dim)])
        below = (draws <= points).astype(np.float64)
        shares.append(below.mean(axis=(0, 1)))
        sizes.append(monitor_ess(below))
    return np.array(shares), np.array(sizes)


def exact_quantile(exact: AnalyticTarget, coordinate: int, probability: float) -> float:
    """A quantile of one coordinate's exact marginal."""
    from scipy.optimize import brentq  # of the extra `paper`

    distribution = exact.marginals[coordinate]
    centre, spread = exact.mean[coordinate], exact.sd[coordinate]
    low, high = centre - 60.0 * spread, centre + 60.0 * spread
    return float(brentq(lambda x: float(distribution(np.array(x))) - probability, low, high, xtol=1e-12 * spread))  # pyright: ignore[reportArgumentType]
