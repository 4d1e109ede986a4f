"""The programme of a run: stages of tuning, then sampling. The practical one, and the paper's exactly.

A stage is a stretch of the process under one set of rules. Its length is counted in draws, each `draw_spacing` long.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from grhmc.adaptation.tuners.scale_crossing_time import (
    FIRST_RUN_GAMMA,
    SECOND_RUN_ANCHOR_FACTOR,
    SECOND_RUN_GAMMA,
)
from grhmc.adaptation.tuners.scale_from_moments import FIXED, GEO, ISG, MCT, VARI

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
    is_hot : bool
        Momenta are refreshed as those of a target at `hot_temperature`, to cross from one mode to another.
    explores : bool
        The place that it leads to is remembered (`Chain.places`).
    most_gradients_per_draw : float
        The stage ends sooner once it has cost so many on average. One at whose end chains meet is begun again instead.
    by_trajectories : bool
        Where the process is discrete: by Metropolized trajectories of equal steps, one per draw. False: by the
        continuous process all the same.
    tune_step, tune_length : bool
        Tune the step of the discrete process, and the length of its trajectories, which changes at the stage's end.
    meets : bool
        At its end chains wait for one another and put together what they have found (`grhmc.run.meeting`).
    round : int
        Rounds count from 1, and those that are left are skipped once the chains agree; 0: no round.
    """

    name: str
    n_draws: int
    draw_spacing: float | None = None
    u_turns_per_draw: float = 0.5
    is_warmup: bool = True
    is_hot: bool = False
    explores: bool = False
    most_gradients_per_draw: float = math.inf
    by_trajectories: bool = False
    tune_step: bool = False
    tune_length: bool = False
    meets: bool = False
    round: int = 0
    scale: ScaleRule = field(default_factory=ScaleRule)
    event_rate: EventRateRule = field(default_factory=EventRateRule)


_HOT_ENERGY = 12.0


def hot_temperature(dim: int) -> float:
    """Of hot windows: their momenta have 12 √dim more energy on average, 17 times its standard deviation.

    Walls between modes are as high in many dimensions as in few, and the way back to the bulk is longer.
    """
    return 1.0 + 2.0 * _HOT_ENERGY / math.sqrt(dim)


def sampling_stage(n_draws: int, draw_spacing: float | None, u_turns_per_draw: float) -> Stage:
    """Draw with everything fixed."""
    return Stage(
        "sampling",
        n_draws,
        draw_spacing=draw_spacing,
        u_turns_per_draw=u_turns_per_draw,
        is_warmup=False,
        by_trajectories=True,
    )


_WINDOW_SHARES = (0.02, 0.02, 0.03, 0.04, 0.05, 0.05, 0.07)
_HOT_WINDOWS = (1, 3)
FEWEST_DRAWS_TO_HEAT = 400
_ROUND_SHARE, _SETTLING_SHARE = 0.08, 0.06
_CROSSING_TIMES_SHARE = 0.2
_SHORTEST_ROUND = 40
_WINDOW_SPACING = 0.12
_WINDOW_GRADIENTS = 8.0
# Windows are short and grow slowly, so that what was seen on the way into the bulk is soon forgotten; their draws are
# 0.12 U-turns apart. Rounds share the rest; then the scale is fixed, and the event rate or the step tuned to it.
# Two windows are hot, so that chains come from one mode to another, if there is time to cool afterwards: five
# refreshments or so. GEO's scale is that of the target at any temperature where coordinates are normal.
# MCT needs a hundred crossings of each coordinate; with more draws than a fifth it would cost more than it gains.


def _stage_lengths(n_tune: int, tuner: int) -> tuple[list[int], int, list[int], int]:
    """Draws in each window, in MCT's own window, in each round, and in settling; one round if there are too few."""
    windows = [max(1, round(share * n_tune)) for share in _WINDOW_SHARES]
    crossing_times = max(1, round(_CROSSING_TIMES_SHARE * n_tune)) if tuner == MCT else 0
    settling = max(1, round(_SETTLING_SHARE * n_tune))
    rest = n_tune - sum(windows) - crossing_times - settling
    if rest <= 0:
        return [], 0, [n_tune], 0
    n_rounds = max(1, round(rest / max(_ROUND_SHARE * n_tune, _SHORTEST_ROUND)))
    rounds = [rest // n_rounds + (number < rest % n_rounds) for number in range(n_rounds)]
    return windows, crossing_times, rounds, settling


def practical_stages(
    n_tune: int,
    tuner: int,
    *,
    tune_event_rate: bool,
    u_turn_factor: float,
    draw_spacing: float | None,
    u_turns_per_draw: float,
    tune_length: bool = False,
) -> list[Stage]:
    """Warm-up from an arbitrary start: growing windows, then rounds until the chains agree, then settling.

    Windows are by the continuous process, whatever is sampled: steps that adapt find the way in from any start, and
    their sizes tell whether one size would do. MCT, whose crossing times are those of the exact dynamics, has one long
    window of its own after the others, and its scale is fixed from then on.

    Where the event rate is tuned, paths are followed beyond due refreshments to their U-turns, which costs gradients:
    only some stages do it.
    """
    if n_tune == 0:
        return []
    windows, crossing_times, rounds, settling = _stage_lengths(n_tune, tuner)
    has_windows, has_crossing_times = bool(windows), crossing_times > 0
    by_trajectories = has_windows or tuner != MCT

    def event_rate(is_tuned: bool) -> EventRateRule:
        return EventRateRule(tune=tune_event_rate and is_tuned, u_turn_factor=u_turn_factor)

    stages = [
        Stage(
            f"window {number + 1}",
            length,
            draw_spacing=draw_spacing,
            u_turns_per_draw=_WINDOW_SPACING,
            most_gradients_per_draw=math.inf if tuner == FIXED else _WINDOW_GRADIENTS,
            is_hot=number in _HOT_WINDOWS and n_tune >= FEWEST_DRAWS_TO_HEAT,
            explores=number not in _HOT_WINDOWS,
            meets=number == len(windows) - 1,
            scale=_window_rule(number, tuner),
            event_rate=event_rate(number >= len(windows) - 2),
        )
        for number, length in enumerate(windows)
    ]
    if has_crossing_times:
        stages.append(
            Stage(
                "crossing times",
                crossing_times,
                draw_spacing=draw_spacing,
                u_turns_per_draw=u_turns_per_draw,
                meets=True,
                scale=_crossing_time_rule(),
                event_rate=event_rate(False),
            )
        )
    stages += [
        Stage(
            f"round {number + 1}" if has_windows else "window 1",
            length,
            draw_spacing=draw_spacing,
            u_turns_per_draw=u_turns_per_draw,
            by_trajectories=by_trajectories,
            tune_step=by_trajectories,
            tune_length=tune_length and by_trajectories,
            meets=has_windows,
            round=number + 1 if has_windows else 0,
            scale=_round_rule(number, tuner, is_first_stage=not has_windows),
            event_rate=event_rate(number == 0),
        )
        for number, length in enumerate(rounds)
    ]
    if settling:
        stages.append(
            Stage(
                "settling",
                settling,
                draw_spacing=draw_spacing,
                u_turns_per_draw=u_turns_per_draw,
                by_trajectories=True,
                tune_step=True,
                meets=True,
                event_rate=event_rate(True),
            )
        )
    return stages


_FIRST_CHANGE_TIME = 5.0
_LAST_WINDOW_CHANGE_TIME = 20.0
# Process times before a window that starts with nothing has seen enough to change the scale: two paths to begin with,
# more where the scale is good already.


def _window_rule(number: int, tuner: int) -> ScaleRule:
    """The scale rule of one of the windows. All use GEO.

    A start far out in a tail of a normal inflates Var(q) and E[g²] by the same factor, so that GEO is right all the
    same: from a millionth of the scale to a million times it. VARI and ISG would follow the start's energy, as ISG does
    where a residual sd starts at a tenth of its value: its squared gradient is then a million times the stationary one.
    """
    if tuner == FIXED:
        return ScaleRule()
    if number == 0:
        return ScaleRule(tuner=GEO, window=FORGET, first_change=_FIRST_CHANGE_TIME)
    return ScaleRule(tuner=GEO, window=SHIFT)


def _round_rule(number: int, tuner: int, *, is_first_stage: bool) -> ScaleRule:
    """The scale rule of a round. The first begins with nothing, and keeps GEO's scale until it has seen enough."""
    if tuner == FIXED or (tuner == MCT and not is_first_stage):
        return ScaleRule()
    if is_first_stage:
        return ScaleRule(tuner=GEO if tuner == MCT else tuner, first_change=_FIRST_CHANGE_TIME)
    if number > 0 or tuner == GEO:
        return ScaleRule(tuner=tuner, window=SHIFT)
    return ScaleRule(tuner=tuner, window=FORGET, first_change=_LAST_WINDOW_CHANGE_TIME)


def _crossing_time_rule() -> ScaleRule:
    """MCT from the scale that GEO has found, which dual averaging is drawn to."""
    return ScaleRule(tuner=MCT, first_change=_LAST_WINDOW_CHANGE_TIME, gamma=FIRST_RUN_GAMMA, anchor_factor=1.0)


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
