"""What of a chain those need who describe it, save it, or say what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np

    from grhmc.adaptation.stage import Stage
    from grhmc.models.log_density import LogDensity
    from grhmc.outcomes import Outcome
    from grhmc.process.state import Process, Records
    from grhmc.settings import RunSettings


class ChainState(Protocol):
    """The attributes of `grhmc.run.chain.Chain` that other modules read; its docstrings say what they are."""

    model: LogDensity
    settings: RunSettings
    stages: list[Stage]
    index: int
    stage_index: int
    outcome: Outcome
    seconds: np.ndarray
    sampling_start: np.ndarray
    is_discrete: bool
    integrator: str
    is_agreed: bool
    noise: float
    n_moves: int
    n_warmup_rows: int
    warmup_draws_before: int
    n_stored: int
    is_whole: bool
    rows_at_once: int | None
    pauses_at: int
    places: np.ndarray
    n_places: int
    process: Process
    records: Records

    @property
    def stage(self) -> Stage:
        """The present stage."""
        ...

    @property
    def draws_done(self) -> int:
        """Draws of warm-up and sampling made so far."""
        ...

    @property
    def n_draws(self) -> int:
        """Draws of sampling made so far."""
        ...

    @property
    def trajectory_step(self) -> float:
        """The step of trajectories, in process time."""
        ...

    def use_integrator(self, integrator: str) -> None:
        """Change the integrator."""
        ...
