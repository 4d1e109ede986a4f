"""Where a chain is: what progress is shown from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ChainSnapshot:
    """Where one chain is.

    Attributes
    ----------
    chain : int
    stage : str
        Name of the present stage, or that it waits for the other chains.
    warmup_done, warmup_total : int
        Draws of the warm-up; it may end before the total, which is lower then.
    draws_done, draws_total : int
        Draws that are kept, and how many were asked for.
    n_gradients : int
        Since the chain began.
    seconds : float
        Wall clock that the chain has run.
    is_discrete : bool
        The chain draws by the discrete process.
    event_rate : float or None
        λ per process time; the discrete process has none.
    step_size : float
        Process time: of the integrator's next step, or of a trajectory's steps.
    rejected_fraction : float or None
        Of the present stage: of its trajectories, or of the steps tried by the continuous process. None before there
        are any, and in warm-up windows before the discrete process.
    n_diverging : int
        Paths or trajectories whose energy error passed the threshold.
    finished : bool
        The chain will not go on.
    hint : str
        Why the chain costs far more than others of its kind, or nothing.
    """

    chain: int
    stage: str
    warmup_done: int
    warmup_total: int
    draws_done: int
    draws_total: int
    n_gradients: int
    seconds: float
    is_discrete: bool
    event_rate: float | None
    step_size: float
    rejected_fraction: float | None
    n_diverging: int
    finished: bool
    hint: str = ""

    @property
    def done(self) -> int:
        """Draws made, warm-up included."""
        return self.warmup_done + self.draws_done

    @property
    def total(self) -> int:
        """Draws to make, warm-up included; those made if the chain will not go on."""
        return self.done if self.finished else self.warmup_total + self.draws_total
