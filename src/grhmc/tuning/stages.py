"""The programme of a run: stages of tuning, then sampling. The practical one, and the paper's exactly.

A stage is a stretch of the process under one set of rules. Its length is counted in draws, each `draw_spacing` long.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from grhmc.tuning.scale_crossing_time import (
    FIRST_RUN_GAMMA,
    SECOND_RUN_ANCHOR_FACTOR,
    SECOND_RUN_GAMMA,
)
from grhmc.tuning.scale_from_moments import FIXED, GEO, ISG, MCT, VARI

SCALE_TUNERS = {"vari": VARI, "isg": ISG, "geo": GEO, "mct": MCT}
"""Tuners by the name a user gives."""

FORGET, SHIFT = "forget", "shift"
"""What becomes of the moments at a stage's start: dropped, or kept as the previous window."""

TARGET_CROSSING_TIME = math.pi
"""T̃: half a period of a standard normal coordinate."""

INITIAL_EVENT_RATE = 1.0 / math.pi
"""The tuned rate of a standard normal in many dimensions: where a practical run starts."""

N_SAMPLES_FOR_MEDIAN = 5
"""P² needs five samples before it has an estimate."""


@dataclass(frozen=True)
class ScaleRule:
    """How the scale is tuned in a stage.

    Attributes
    ----------
    tuner : int
        One of `SCALE_TUNERS`, or `FIXED`.
    window : str
        `FORGET` or `SHIFT`, for the tuners based on moments.
    first_change : float
        Process time from the stage's start during which centre and scale stay as they are.
    largest_change : float
        Of a scale at once, as a factor; for the tuners based on moments.
    centred_gradient : bool
        Subtract the mean gradient (see `propose_from_moments`).
    apply_at_crossing : bool
        MCT: change the scale at every crossing, as published, rather than at refreshments.
    target_crossing_time, median_spacing : float
        MCT: process times.
    gamma : float
        MCT: dual averaging's γ.
    anchor_factor : float
        MCT: dual averaging's μ as a multiple of log S at the stage's start.
    """

    tuner: int = FIXED
    window: str = FORGET
    first_change: float = 0.0
    largest_change: float = 2.0
    centred_gradient: bool = True
    apply_at_crossing: bool = False
    target_crossing_time: float = TARGET_CROSSING_TIME
    median_spacing: float = 1.0
    gamma: float = FIRST_RUN_GAMMA
    anchor_factor: float = 0.0


@dataclass(frozen=True)
class EventRateRule:
    """How the event rate is tuned in a stage.

    Attributes
    ----------
    tune : bool
    start : float or None
        λ at the stage's start; None keeps the present one.
    smoothing, prior_count : float
        See `observe_u_turn`.
    u_turn_factor : float
        c in λ = 1/(c τ).
    search_time : float
        Process time after which a search for a U-turn is given up.
    """

    tune: bool = False
    start: float | None = None
    smoothing: float = 1.0
    prior_count: float = 5.0
    u_turn_factor: float = 1.0
    search_time: float = 100.0


@dataclass(frozen=True)
class Stage:
    """A stretch of the process under one set of rules.

    Attributes
    ----------
    name : str
        Shown in the progress line.
    n_draws : int
        Length.
    draw_spacing : float or None
        Process time per draw; None: the present U-turn time times `u_turns_per_draw`.
    u_turns_per_draw : float
    is_warmup : bool
    is_discrete : bool
        By Metropolized trajectories of equal steps, one per draw, instead of the continuous process.
    tune_step, tune_length : bool
        Tune the step of the discrete process, and the length of its trajectories, which changes at the stage's end.
    """

    name: str
    n_draws: int
    draw_spacing: float | None = None
    u_turns_per_draw: float = 0.5
    is_warmup: bool = True
    is_discrete: bool = False
    tune_step: bool = False
    tune_length: bool = False
    scale: ScaleRule = field(default_factory=ScaleRule)
    event_rate: EventRateRule = field(default_factory=EventRateRule)


def sampling_stage(
    n_draws: int, draw_spacing: float | None, u_turns_per_draw: float, *, is_discrete: bool = False
) -> Stage:
    """Draw with everything fixed."""
    return Stage(
        "sampling",
        n_draws,
        draw_spacing=draw_spacing,
        u_turns_per_draw=u_turns_per_draw,
        is_warmup=False,
        is_discrete=is_discrete,
    )


_WINDOW_SHARES = (0.04, 0.08, 0.16)
_SETTLING_SHARE = 0.15
# Each window is about twice the one before, so that what was seen on the way into the bulk is soon forgotten. The
# remaining 57 % are one long window; then the scale is fixed and the event rate tuned to it.


def practical_stages(
    n_tune: int,
    tuner: int,
    *,
    tune_event_rate: bool,
    u_turn_factor: float,
    draw_spacing: float | None,
    u_turns_per_draw: float,
    is_discrete: bool = False,
    tune_length: bool = False,
) -> list[Stage]:
    """Warm-up in growing windows, scale and event rate together, from an arbitrary start.

    The windows in which the event rate is tuned look beyond due refreshments for U-turns, which costs gradients; the
    long window does without.

    For the discrete process the first two windows are continuous all the same: steps that adapt find the way in from
    any start, and a step of one size is tuned only where one size can do. So are all windows of MCT, whose crossing
    times are those of the exact dynamics.
    """
    if n_tune == 0:
        return []
    lengths = [max(1, round(share * n_tune)) for share in _WINDOW_SHARES]
    settling = max(1, round(_SETTLING_SHARE * n_tune))
    if sum(lengths) + settling >= n_tune:
        lengths, settling = [], 0
    lengths.append(n_tune - sum(lengths) - settling)
    stages = []
    for number, length in enumerate(lengths):
        is_last = number == len(lengths) - 1
        rule = _window_rule(number, is_last, tuner)
        by_trajectories = is_discrete and tuner != MCT and (number >= _N_CONTINUOUS_WINDOWS or is_last)
        tunes_rate = tune_event_rate and (number in (1, 2) or (is_last and settling == 0))
        stages.append(
            Stage(
                f"window {number + 1}",
                length,
                draw_spacing=draw_spacing,
                u_turns_per_draw=_SHORT_DRAW if is_discrete and not by_trajectories else u_turns_per_draw,
                is_discrete=by_trajectories,
                tune_step=by_trajectories,
                tune_length=by_trajectories and tune_length,
                scale=rule,
                event_rate=EventRateRule(tune=tunes_rate, u_turn_factor=u_turn_factor),
            )
        )
    if settling:
        stages.append(
            Stage(
                "settling",
                settling,
                draw_spacing=draw_spacing,
                u_turns_per_draw=u_turns_per_draw,
                is_discrete=is_discrete,
                tune_step=is_discrete,
                event_rate=EventRateRule(tune=tune_event_rate, u_turn_factor=u_turn_factor),
            )
        )
    return stages


_N_CONTINUOUS_WINDOWS, _SHORT_DRAW = 2, 0.2
# Of a discrete run: its continuous windows are shorter, in U-turns per draw, since a unit of time costs twice as much.

_FIRST_CHANGE_TIME = 5.0
_LAST_WINDOW_CHANGE_TIME = 20.0
# Process times before a window that starts with nothing has seen enough to change the scale: two paths to begin with,
# more where the scale is good already.


def _window_rule(number: int, is_last: bool, tuner: int) -> ScaleRule:
    """The scale rule of one practical window. All but the last of several (MCT: the last two) use GEO.

    A start far out in a tail of a normal inflates Var(q) and E[g²] by the same factor, so that GEO is right all the
    same: from a millionth of the scale to a million times it. VARI and ISG would follow the start's energy, as ISG does
    where a residual sd starts at a tenth of its value: its squared gradient is then a million times the stationary one.
    The last window therefore begins with nothing, and keeps GEO's scale until it has seen enough.
    """
    if tuner == FIXED:
        return ScaleRule()
    is_first = number == 0
    if is_first and is_last:
        return ScaleRule(tuner=GEO if tuner == MCT else tuner, first_change=_FIRST_CHANGE_TIME)
    if tuner == MCT and (is_last or number == len(_WINDOW_SHARES) - 1):
        gamma = SECOND_RUN_GAMMA if is_last else FIRST_RUN_GAMMA
        return ScaleRule(tuner=MCT, first_change=_LAST_WINDOW_CHANGE_TIME, gamma=gamma, anchor_factor=1.0)
    if not is_last:
        return ScaleRule(
            tuner=GEO,
            window=FORGET if is_first else SHIFT,
            first_change=_FIRST_CHANGE_TIME if is_first else 0.0,
        )
    if tuner == GEO:
        return ScaleRule(tuner=GEO, window=SHIFT)
    return ScaleRule(tuner=tuner, window=FORGET, first_change=_LAST_WINDOW_CHANGE_TIME)


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
    u_turn_factor: float = 1.0,
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
    u_turn_factor : float
        c in λ = 1/(c τ).

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
            u_turn_factor=u_turn_factor,
        )
        stages.append(_timed_stage("event rate", PAPER_EVENT_RATE_TIME * time_factor, ScaleRule(), rate_rule))
    return stages


def _timed_stage(name: str, time: float, scale: ScaleRule, event_rate: EventRateRule) -> Stage:
    """A tuning stage of a given process time, one draw per unit of time."""
    n_draws = max(1, round(time))
    return Stage(name, n_draws, draw_spacing=time / n_draws, scale=scale, event_rate=event_rate)
