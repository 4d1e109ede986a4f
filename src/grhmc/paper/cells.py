"""A cell: one target under one method and one integrator, ten trajectories. What is run, and what is kept of it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from grhmc.comparison.paper_measures import (
    LARGEST_TOLERANCE_AT_CROSSINGS,
    PAPER_DRAWS,
    PAPER_SAMPLE_INTERVAL,
    PAPER_TOLERANCE,
    PAPER_TRAJECTORIES,
)
from grhmc.paper.targets import TARGETS
from grhmc.results.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from grhmc.settings import DEFAULT_TOLERANCES, EventRateRuleName

METHODS = ("vari", "isg", "mct")
LSODA = "lsoda"

TRAJECTORIES = PAPER_TRAJECTORIES
SAMPLE_INTERVAL = PAPER_SAMPLE_INTERVAL
FULL_DRAWS = PAPER_DRAWS
"""Per trajectory: 100 000 time units."""

_LARGEST_DIM_AT_CROSSINGS = 100
# d coordinates cross their medians d/π times per time unit, and each crossing cuts a step.

_VERSION = 2
# Of what a cell's file holds; a file of another version is run again.


def default_integrator(table: int) -> str:
    """The published tolerance's integrator, but the package's default for the regressions and the twelfth target.

    The regressions' gradients take ten times as long: at 1e-6 they alone would take a quarter of an hour on two cores.
    The twelfth target's take longer still.
    """
    return "splitting" if table >= 4 else "rkn64"


def default_tolerance(integrator: str) -> float:
    """The published 1e-6 for the integrators made for it, the package's own default for the others."""
    return PAPER_TOLERANCE if integrator in ("rkn64", LSODA) else DEFAULT_TOLERANCES[integrator]


@dataclass(frozen=True)
class Cell:
    """What to run.

    Attributes
    ----------
    target : str
        Name in `TARGETS`.
    method : str
        One of `METHODS`, or another scale that `grhmc.sample` knows.
    integrator : str
        ``"lsoda"``, or one of `grhmc.Continuous`.
    tolerance : float
        Absolute and, for LSODA, relative.
    scale_down : int
        The sampling phase is shorter by this factor; tuning is not.
    seed : int
    event_rate_rule : {"as_run", "as_stated"}
        How λ is tuned, see `grhmc.PaperWarmup`.
    """

    target: str
    method: str
    integrator: str
    tolerance: float
    scale_down: int = 1
    seed: int = 2024
    event_rate_rule: EventRateRuleName = "as_run"

    @property
    def draws(self) -> int:
        """Per trajectory."""
        return max(FULL_DRAWS // self.scale_down, 20)

    @property
    def length_factor(self) -> float:
        """What ESS and counts of evaluations are multiplied with to stand for the full length."""
        return FULL_DRAWS / self.draws

    @property
    def applies_at_crossing(self) -> bool:
        """Whether MCT changes S at every crossing, as published, rather than at momentum refreshments.

        Each crossing cuts a step on dense output, several times per time unit in many dimensions. At loose tolerances
        the error of these cuts adds up: on BLR2, m was off by a third of a standard deviation.
        """
        target = TARGETS.get(self.target)  # None: a model of the user's own
        few = target is None or target.dim <= _LARGEST_DIM_AT_CROSSINGS
        return few and self.tolerance <= LARGEST_TOLERANCE_AT_CROSSINGS

    @property
    def path(self) -> str:
        """The integrator in words, for headings."""
        event_rate = "" if self.event_rate_rule == "as_run" else ", event rate as stated"
        return f"{self.integrator}, tolerance {self.tolerance:g}{event_rate}"

    @property
    def file_name(self) -> str:
        """Of the cell's file; it names everything the numbers depend on."""
        event_rate = "" if self.event_rate_rule == "as_run" else f"-{self.event_rate_rule}"
        return (
            f"{self.target}-{self.method}-{self.integrator}-{self.tolerance:g}{event_rate}"
            f"-{self.draws}draws-seed{self.seed}.npz"
        )


@dataclass
class CellResult:
    """What is kept of a cell. Arrays over trajectories come first; `d` is the dimension.

    Attributes
    ----------
    cell : Cell
    names : tuple of str
        Of the coordinates.
    ess, ess_squared : ndarray, shape (d,)
        Effective sample sizes of the means of q and q², all trajectories together, as run (not scaled up).
    ess_trajectory : ndarray, shape (10, d)
        Of the mean of q, each trajectory alone.
    mean, mean_square, sd, sd_square : ndarray, shape (d,)
        Of the draws: means of q and q², standard deviations of q and q².
    probability, ess_probability : ndarray, shape (n, d)
        Share of draws below the exact 5, 50 and 95 % points, and its effective sample size; n = 0 without them.
    path_mean : ndarray, shape (10, d)
        Time average of q over each trajectory.
    scale, centre, last : ndarray, shape (10, d)
        Tuned S and m; the last draw.
    event_rate, time_to_u_turn : ndarray, shape (10,)
    n_tuning, n_sampling : ndarray of int, shape (10,)
        Evaluations of the gradient in tuning and in sampling.
    history_time : ndarray, shape (n,);  history_scale : ndarray, shape (10, n, d)
        S over tuning.
    tuning_seconds, sampling_seconds : float
        Seconds of one core, all trajectories together.
    """

    cell: Cell
    names: tuple[str, ...]
    ess: np.ndarray
    ess_squared: np.ndarray
    ess_trajectory: np.ndarray
    mean: np.ndarray
    mean_square: np.ndarray
    sd: np.ndarray
    sd_square: np.ndarray
    probability: np.ndarray
    ess_probability: np.ndarray
    path_mean: np.ndarray
    scale: np.ndarray
    centre: np.ndarray
    last: np.ndarray
    event_rate: np.ndarray
    time_to_u_turn: np.ndarray
    n_tuning: np.ndarray
    n_sampling: np.ndarray
    history_time: np.ndarray
    history_scale: np.ndarray
    tuning_seconds: float
    sampling_seconds: float

    @property
    def mean_error(self) -> np.ndarray:
        """Monte Carlo standard error of `mean`."""
        return self.sd / np.sqrt(self.ess)

    @property
    def mean_square_error(self) -> np.ndarray:
        """Monte Carlo standard error of `mean_square`."""
        return self.sd_square / np.sqrt(self.ess_squared)


def save_cell(directory: Path, result: CellResult) -> None:
    """Write a finished cell to its file, all or nothing."""
    values = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    metadata = {
        "version": _VERSION,
        "cell": dataclasses.asdict(result.cell),
        "names": result.names,
        "tuning_seconds": result.tuning_seconds,
        "sampling_seconds": result.sampling_seconds,
    }
    directory.mkdir(parents=True, exist_ok=True)
    save_checkpoint(directory / result.cell.file_name, arrays, metadata)


def load_cell(directory: Path, cell: Cell) -> CellResult | None:
    """A finished cell from its file, or None if there is none that can be used."""
    path = directory / cell.file_name
    if not path.exists():
        return None
    try:
        checkpoint = load_checkpoint(path)
    except CheckpointError:
        return None
    metadata = checkpoint.metadata
    if metadata.get("version") != _VERSION or metadata.get("cell") != dataclasses.asdict(cell):
        return None
    return CellResult(
        cell=cell,
        names=tuple(metadata["names"]),
        tuning_seconds=metadata["tuning_seconds"],
        sampling_seconds=metadata["sampling_seconds"],
        **checkpoint.arrays,  # pyright: ignore[reportArgumentType]
    )
