"""What of a chain those need who describe it, save it, or say what it costs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from grhmc.run.carried_state import CarriedState

if TYPE_CHECKING:
    from grhmc.adaptation.stage import Stage
    from grhmc.models.log_density import LogDensity
    from grhmc.process.state import Process, Records
    from grhmc.settings import RunSettings


class ChainState(CarriedState, ABC):
    """What other modules read of a `grhmc.run.chain.Chain`, whose docstrings say what it is."""

    model: LogDensity
    settings: RunSettings
    stages: list[Stage]
    index: int
    is_discrete: bool
    n_warmup_rows: int
    is_whole: bool
    rows_at_once: int | None
    pauses_at: int
    process: Process
    records: Records

    @property
    @abstractmethod
    def stage(self) -> Stage:
        """The present stage."""

    @property
    @abstractmethod
    def draws_done(self) -> int:
        """Draws of warm-up and sampling made so far."""

    @property
    @abstractmethod
    def n_draws(self) -> int:
        """Draws of sampling made so far."""

    @property
    @abstractmethod
    def trajectory_step(self) -> float:
        """The step of trajectories, in process time."""

    @abstractmethod
    def use_integrator(self, integrator: str) -> None:
        """Change the integrator."""
