"""MCT with a user's settings: the stages that tune by crossing times, with those in the place of the published ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from grhmc.adaptation.paper_schedule import N_SAMPLES_FOR_MEDIAN
from grhmc.adaptation.stage import ScaleRule, Stage
from grhmc.adaptation.tuners.scale_from_moments import MCT as MCT_TUNER
from grhmc.settings import MCT


def with_crossing_time_settings(stages: Sequence[Stage], settings: MCT, *, is_paper: bool) -> list[Stage]:
    """The stages with MCT as `settings` have it.

    Raises
    ------
    ValueError
        If crossings would count before a median has five samples.
    """
    changed, run = [], 0
    for stage in stages:
        if stage.scale.tuner == MCT_TUNER:
            length = stage.n_draws * (stage.draw_spacing or 0.0)
            stage = replace(stage, scale=_rule(stage.scale, settings, run, length if is_paper else None))
            run += 1
        changed.append(stage)
    return changed


def _rule(rule: ScaleRule, settings: MCT, run: int, length: float | None) -> ScaleRule:
    """A rule as `settings` have it; `length` is the run's process time in the paper's warm-up, and None elsewhere."""
    own = replace(
        rule,
        target_crossing_time=settings.target_crossing_time,
        median_spacing=settings.median_spacing,
        gamma=settings.gamma,
        kappa=settings.kappa,
        k0=settings.k0,
    )
    if length is not None:
        own = replace(own, first_change=settings.burn_share * length)
        if run > 0:
            own = replace(own, gamma=settings.second_gamma, anchor_factor=settings.anchor_factor)
    if own.first_change < N_SAMPLES_FOR_MEDIAN * settings.median_spacing:
        raise ValueError(
            f"median_spacing is {settings.median_spacing:g}: a median has fewer than {N_SAMPLES_FOR_MEDIAN} samples "
            f"when crossing times begin to be tuned, after {own.first_change:g} time units; lower it"
        )
    return own
