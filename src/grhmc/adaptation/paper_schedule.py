"""The published warm-up: the tuning phases of Tran & Kleppe (2024), in process time."""

from __future__ import annotations

import math

from grhmc.adaptation.stage import EventRateRule, ScaleRule, Stage
from grhmc.adaptation.tuners.mct import (
    FIRST_RUN_GAMMA,
    SECOND_RUN_ANCHOR_FACTOR,
    SECOND_RUN_GAMMA,
)
from grhmc.adaptation.tuners.scale_from_moments import FIXED, MCT
from grhmc.settings import EventRateRuleName

N_SAMPLES_FOR_MEDIAN = 5
"""P² needs five samples before it has an estimate."""


PAPER_EVENT_RATE = 0.2
PAPER_MOMENT_TIME = 6000
PAPER_CROSSING_TIMES = (1000, 5000)
PAPER_EVENT_RATE_TIME = 5000
PAPER_BURN_SHARE = 0.05
PAPER_SMOOTHING = 0.99


def paper_stages(
    tuner: int,
    *,
    tune_event_rate: bool = True,
    event_rate: float = PAPER_EVENT_RATE,
    time_factor: float = 1.0,
    apply_at_crossing: bool = True,
    event_rate_rule: EventRateRuleName = "as_stated",
) -> list[Stage]:
    """The tuning phases of Tran & Kleppe (2024), in process time.

    Parameters
    ----------
    tuner : int
        One of `SCALE_TUNERS`, or `FIXED` for none.
    tune_event_rate : bool
        Add the phase that tunes λ with centre and scale fixed (Kleppe 2022, section 4.3.2).
    event_rate : float
        λ while the scale is tuned.
    time_factor : float
        Multiplies all lengths.
    apply_at_crossing : bool
        MCT: change the scale at every crossing.
    event_rate_rule : {"as_stated", "as_run"}
        See `grhmc.PaperWarmup`.

    Raises
    ------
    ValueError
        If MCT would start with fewer than five median samples.
    """
    start = EventRateRule(start=event_rate)
    stages = []
    if tuner == MCT:
        for run, full_time in enumerate(PAPER_CROSSING_TIMES):
            time = full_time * time_factor
            burn = PAPER_BURN_SHARE * time
            if burn < N_SAMPLES_FOR_MEDIAN:
                raise ValueError(
                    f"time_factor is {time_factor}: only {int(burn)} median samples before crossing times are "
                    f"tuned. At least {N_SAMPLES_FOR_MEDIAN} are needed; raise it to "
                    f"{N_SAMPLES_FOR_MEDIAN / (PAPER_BURN_SHARE * PAPER_CROSSING_TIMES[0]):g} or more."
                )
            rule = ScaleRule(
                tuner=MCT,
                first_change=burn,
                apply_at_crossing=apply_at_crossing,
                gamma=SECOND_RUN_GAMMA if run else FIRST_RUN_GAMMA,
                anchor_factor=SECOND_RUN_ANCHOR_FACTOR if run else 0.0,
            )
            stages.append(_timed_stage(f"crossing times {run + 1}", time, rule, start))
    elif tuner != FIXED:
        time = PAPER_MOMENT_TIME * time_factor
        rule = ScaleRule(tuner=tuner, first_change=PAPER_BURN_SHARE * time, centred_gradient=False)
        stages.append(_timed_stage("moments", time, rule, start))
    if tune_event_rate:
        rate_rule = EventRateRule(
            tune=True,
            start=event_rate,
            smoothing=PAPER_SMOOTHING,
            prior_count=math.inf,
            counts_overshoot=event_rate_rule == "as_run",
        )
        stages.append(_timed_stage("event rate", PAPER_EVENT_RATE_TIME * time_factor, ScaleRule(), rate_rule))
    return stages


def _timed_stage(name: str, time: float, scale: ScaleRule, event_rate: EventRateRule) -> Stage:
    """A tuning stage of a given process time, one draw per unit of time."""
    n_draws = max(1, round(time))
    return Stage(name, n_draws, draw_spacing=time / n_draws, scale=scale, event_rate=event_rate)
