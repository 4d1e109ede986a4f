"""The published warm-up of the continuous process, in process time."""

from __future__ import annotations

from dataclasses import dataclass

from grhmc.argument_checks import check_choice, check_number
from grhmc.settings.names import EVENT_RATE_RULES, WARMUPS, EventRateRuleName


@dataclass(frozen=True)
class PaperWarmup:
    """The tuning phases of Tran & Kleppe (2024), in process time.

    6000 units for centre and scale (MCT: 1000, then 5000), then 5000 for the event rate. Integrals run from the start
    of a phase; centre and scale start at 0 and 1 and change after the first 5 % of it.

    Attributes
    ----------
    event_rate : float
        λ while the scale is tuned.
    time_factor : float
        Multiplies the length of every phase.
    apply_at_crossing : bool
        MCT: change a scale at every crossing, as published, rather than at momentum refreshments.
    event_rate_rule : {"as_stated", "as_run"}
        What counts as the time to a U-turn, in the phase that tunes λ. As stated in the papers: the process time from a
        refreshment to its path's U-turn. As run for the published tables: where the U-turn lies beyond the next due
        refreshment, so much is added to the time of the next path, because the clock is not set back with the state.
        λ is then lower by a factor of 1.25 (many dimensions) to 1.34 (two); see docs/paper.md.
    """

    event_rate: float = 0.2
    time_factor: float = 1.0
    apply_at_crossing: bool = True
    event_rate_rule: EventRateRuleName = "as_stated"

    def __post_init__(self) -> None:
        check_number("event_rate", self.event_rate, above=0.0)
        check_number("time_factor", self.time_factor, above=0.0)
        check_choice("event_rate_rule", self.event_rate_rule, EVENT_RATE_RULES)

    @classmethod
    def parse(cls, warmup: str | PaperWarmup) -> PaperWarmup | None:
        """From a user's argument: None stands for the practical warm-up."""
        if isinstance(warmup, cls):
            return warmup
        if not isinstance(warmup, str):
            raise TypeError(f"warmup must be 'practical', 'paper' or a PaperWarmup, got {warmup!r}")
        check_choice("warmup", warmup, WARMUPS, " or a PaperWarmup")
        return cls() if warmup == "paper" else None
