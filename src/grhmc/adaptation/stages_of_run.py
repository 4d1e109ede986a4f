"""From a run's settings to the stages that its chains go through."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grhmc.adaptation.crossing_time_settings import with_crossing_time_settings
from grhmc.adaptation.paper_schedule import paper_stages
from grhmc.adaptation.schedule import PracticalWarmup
from grhmc.adaptation.spectrum import FULL_BASIS_DRAWS
from grhmc.adaptation.stage import Stage, sampling_stage
from grhmc.adaptation.tuners.scale_from_moments import FIXED, SCALE_TUNERS
from grhmc.settings import PaperWarmup

if TYPE_CHECKING:
    from grhmc.settings import RunSettings


def warmup_stages(settings: RunSettings, dim: int) -> list[Stage]:
    """The warm-up these settings ask for, practical or published."""
    stages = _warmup_stages(settings, dim)
    if settings.scale.mct is None:
        return stages
    return with_crossing_time_settings(stages, settings.scale.mct, is_paper=settings.warmup is not None)


def _warmup_stages(settings: RunSettings, dim: int) -> list[Stage]:
    tuner = SCALE_TUNERS.get(settings.scale.tuner, FIXED)
    warmup = settings.warmup
    if isinstance(warmup, PaperWarmup):
        rate = settings.continuous.event_rate
        return paper_stages(
            tuner,
            tune_event_rate=settings.continuous.tunes_event_rate,
            event_rate=warmup.event_rate if isinstance(rate, str) else float(rate),
            time_factor=warmup.time_factor,
            apply_at_crossing=warmup.apply_at_crossing,
            event_rate_rule=warmup.event_rate_rule,
        )
    return PracticalWarmup(
        n_tune=settings.tune,
        tuner=tuner,
        tune_event_rate=settings.continuous.tunes_event_rate,
        u_turn_factor=settings.u_turn_factor,
        draw_spacing=settings.sample_interval,
        u_turns_per_draw=settings.u_turns_per_draw,
        draws_for_directions=FULL_BASIS_DRAWS * dim if settings.max_rank(dim) > 0 else 0,
        n_chains=settings.chains,
        tune_momentum_time=settings.discrete.u_turns_per_refreshment is None,
    ).stages()


def stages_of_run(settings: RunSettings, dim: int) -> list[Stage]:
    """The warm-up, and then the stage whose draws are kept."""
    return [*warmup_stages(settings, dim), final_stage(settings)]


def final_stage(settings: RunSettings) -> Stage:
    """The stage whose draws are kept."""
    return sampling_stage(settings.draws, settings.sample_interval, settings.u_turns_per_draw)
