"""What a looser tolerance buys and costs: ESS per evaluation, and the worst moment, with S and λ as tuned by ISG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np

from grhmc import Continuous, sample
from grhmc.comparison.effective_size import monitor_ess
from grhmc.comparison.reading import evaluations, unconstrained_draws
from grhmc.paper.cache import cached
from grhmc.paper.canvas import new_figure, plain_log_axis, save
from grhmc.paper.cells import SAMPLE_INTERVAL, TRAJECTORIES, Cell, CellResult
from grhmc.paper.document import Picture
from grhmc.paper.targets import TARGETS
from grhmc.settings import DEFAULT_TOLERANCES, ContinuousIntegrator

SHOWN_TARGETS = ("G1", "NG2", "NG3", "BLR1")
TOLERANCES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 3e-2, 1e-1, 3e-1)
_DRAWS, _FEWEST_DRAWS = 2000, 400
# Per trajectory; fewer when the run is scaled down.

_STYLES = {"splitting": ("#d9822b", "o-"), "rkn43": ("#2a9d6f", "s-"), "rkn64": ("#33658a", "^-")}
_LARGEST_FORCED_COST = 1e-4
# Second-order steps at 1e-6 would take a hundred times as long as the rest of the figure.


def draw_tolerance(directory: Path, cells_directory: Path, results: Sequence[CellResult], cores: int) -> list[Picture]:
    """One figure: a column per target; above ESS per evaluation, below the worst moment in standard errors."""
    tuned = {result.cell.target: result for result in results if result.cell.method == "isg"}
    targets = [target for target in SHOWN_TARGETS if target in tuned]
    if not targets:
        return []
    figure, axes = new_figure(2, len(targets), (2.6 * len(targets) + 0.6, 5.0), share_x=True)
    for column, target in enumerate(targets):
        efficiency, error = axes[0][column], axes[1][column]
        for integrator, (shade, style) in _STYLES.items():
            tolerances = np.array([t for t in TOLERANCES if integrator != "splitting" or t >= _LARGEST_FORCED_COST])
            points = [_point(cells_directory, tuned[target], integrator, float(t), cores) for t in tolerances]
            values, worst = np.array(points).T
            options = {"color": shade, "markersize": 3.5, "linewidth": 1.0}
            efficiency.plot(tolerances, values, style, label=integrator, **options)
            error.plot(tolerances, worst, style, **options)
            at = DEFAULT_TOLERANCES[integrator]
            efficiency.axvline(at, color=shade, linewidth=0.8, linestyle=":")
            error.axvline(at, color=shade, linewidth=0.8, linestyle=":")
        efficiency.set(xscale="log", title=target)
        plain_log_axis(efficiency)
        error.axhline(4.0, color="#c0392b", linewidth=0.8)
        error.set(xlabel="tolerance", ylim=(0.0, max(5.0, error.get_ylim()[1])))
    axes[0][0].set_ylabel("worst ESS per 10⁵ evaluations", fontsize=9)
    axes[1][0].set_ylabel("worst moment, |difference| / s.e.", fontsize=9)
    axes[0][0].legend(fontsize=8, frameon=False)
    caption = (
        f"Ten trajectories of {SAMPLE_INTERVAL * _draws(results[0].cell):,.0f} time units with S and λ as tuned by "
        "ISG. Above: the worst coordinate's ESS per 100 000 evaluations. Below: the largest difference of a mean or "
        "mean square from its exact value (BLR1: from the full run's), in Monte Carlo standard errors; red: 4. "
        "Dotted: the package's default tolerances."
    )
    return [Picture(save(figure, directory / "tolerance.png"), caption)]


def _draws(cell: Cell) -> int:
    return max(_DRAWS // cell.scale_down, _FEWEST_DRAWS)


def _point(directory: Path, tuned: CellResult, integrator: str, tolerance: float, cores: int) -> tuple[float, float]:
    """Worst ESS per 100 000 evaluations and worst moment in standard errors."""
    name = f"tolerance-untested-{integrator}-{tolerance:g}-from-{tuned.cell.file_name}"
    arrays = cached(directory / name, lambda: _run(tuned, integrator, tolerance, cores))
    return float(arrays["ess_per_1e5"]), float(arrays["worst_z"])


def _run(tuned: CellResult, integrator: str, tolerance: float, cores: int) -> dict[str, np.ndarray]:
    target = TARGETS[tuned.cell.target]
    result = sample(
        target.make(),
        scale=np.exp(np.log(tuned.scale).mean(axis=0)),
        draws=_draws(tuned.cell),
        tune=0,
        chains=TRAJECTORIES,
        cores=cores,
        seed=tuned.cell.seed,
        init=tuned.last,
        process=Continuous(
            cast(ContinuousIntegrator, integrator),
            tolerance,
            event_rate=float(np.exp(np.log(tuned.event_rate).mean())),
            sample_interval=SAMPLE_INTERVAL,
            warmup="paper",  # nothing is left to tune; but as in the tables, paths are not tested
        ),
        progress_bar=False,
        diagnose=False,
    )
    draws, n_evaluations = unconstrained_draws(result), int(evaluations(result).sum())
    ess = monitor_ess(draws)
    exact = None if target.exact is None else target.exact()
    means = (tuned.mean, tuned.mean_square) if exact is None else (exact.mean, exact.mean_square)
    own_error = (tuned.mean_error, tuned.mean_square_error) if exact is None else (0.0, 0.0)
    z = [
        (values.mean(axis=(0, 1)) - expected) / np.hypot(values.std(axis=(0, 1)) / np.sqrt(monitor_ess(values)), error)
        for values, expected, error in zip((draws, draws**2), means, own_error, strict=True)
    ]
    return {
        "ess": ess,
        "ess_per_1e5": np.array(1e5 * ess.min() / n_evaluations),
        "worst_z": np.array(np.max(np.abs(z))),
    }
