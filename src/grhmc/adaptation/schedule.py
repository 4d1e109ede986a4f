"""The practical warm-up: which stages a chain goes through before its draws are kept, and how long each is.

    window 1   2*   3   4*   5   6   7 | MCT only:      | round 1   2   ...   n | settling | sampling
    2 %        2    3   4    5   5   7 | crossing times | 8 % each, the rest    | 6 %      | `draws`
    ---------------------------------- | -------------- | --------------------- | -------- | --------
    continuous process                 | 20 %           | the process that samples, from here on
    scale by GEO, changed at every refreshment          | scale by the tuner    | scale fixed
    time to a U-turn tuned in 6, 7     |                | in round 1            | tuned
                                       |                | step, momentum decorrelation time | step
    a chain goes back to a far higher log density that it has seen after 5 and 6
    chains pool ----------------------^ after 7        ^ after it    ^ after each round     ^ after it
    and after 3, 4, 5, 6, if all draws together show directions that are far off; directions change where chains pool

`*` hot windows (from `FEWEST_DRAWS_TO_HEAT` draws of warm-up on). Once chains agree after 5 or 6, they pool and the
windows left are skipped. So are the rounds left once the chains agree and an integrator is chosen, after two at the
earliest if the tuner is not GEO. Where chains agree at the end of the windows, the first two rounds have 3 %, and
settling tunes the momentum decorrelation time, too (GEO only: all windows use its scale; another tuner has only its
rounds). Elsewhere settling has 2 % if the integrator of the last round stays. With too few draws for windows there is
one round and nothing else.

Percentages are of `tune`. If the tuner is GEO and there are four chains or more, windows 5 to 7 are two fifths as
long, rounds and settling two thirds, but windows and rounds not shorter than it takes to tell directions, nor anything
shorter than with 400 draws. With 1000 draws and few dimensions the windows have 20, 20*, 30, 40*, 20, 20 and 28, the
rounds 56 and the settling 40: there are more and shorter rounds, and a run that has found what it needs is sooner done.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

from grhmc.adaptation.stage import FORGET, SHIFT, EventRateRule, ScaleRule, Stage
from grhmc.adaptation.tuners.mct import FIRST_RUN_GAMMA
from grhmc.adaptation.tuners.scale_from_moments import FIXED, GEO, MCT

_WINDOW_SHARES = (0.02, 0.02, 0.03, 0.04, 0.05, 0.05, 0.07)
_HOT_WINDOWS = (1, 3)
_FIRST_TO_COOL = max(_HOT_WINDOWS) + 1
_FIRST_WITH_DIRECTIONS = 2
FEWEST_DRAWS_TO_HEAT = 400
_ROUND_SHARE, _SETTLING_SHARE = 0.08, 0.06
_CROSSING_TIMES_SHARE = 0.2
_SHORTEST_ROUND = 40
_SHORT_ROUNDS, _SHORT_ROUND_SHARE, _SHORTEST_SHORT_ROUND = 2, 0.03, 30
_BRIEF_SETTLING_SHARE, _SHORTEST_BRIEF_SETTLING = 0.02, 20
_WINDOW_SPACING = 0.12
_WINDOW_GRADIENTS = 8.0
# Windows are short and grow slowly, so that what was seen on the way into the bulk is soon forgotten; their draws are
# 0.12 U-turns apart. Rounds share the rest; then the scale is fixed, and the event rate or the step tuned to it.
# Two windows are hot, so that chains come from one mode to another, if there is time to cool afterwards: five
# refreshments or so. GEO's scale is that of the target at any temperature where coordinates are normal.
# MCT needs a hundred crossings of each coordinate; with more draws than a fifth it would cost more than it gains.
_FEWEST_FOR_SHORTER, _FOR_SHORTER_WINDOWS, _FOR_SHORTER_ROUNDS, _ENOUGH_CHAINS = 400, 0.4, 0.67, 4
# With GEO windows after the hot ones have two fifths of these shares, rounds and settling two thirds, but no fewer
# draws than with 400 of warm-up: what four chains see there is enough. Fewer chains take longer to see as much.


def _shorter(n_tune: int, tuner: int, n_chains: int, share: float) -> int:
    """The draws that lengths of stages are shares of."""
    if tuner != GEO:
        return n_tune
    of_all = min(share * max(_ENOUGH_CHAINS / n_chains, 1.0), 1.0)
    return max(min(n_tune, _FEWEST_FOR_SHORTER), round(of_all * n_tune))


class StageLengths(NamedTuple):
    """Draws in each window, in MCT's own window, in each round, and in settling; 0 and none: left out."""

    windows: list[int]
    crossing_times: int
    rounds: list[int]
    settling: int


def _stage_lengths(n_tune: int, tuner: int, n_chains: int, draws_for_directions: int) -> StageLengths:
    """How `n_tune` draws are shared out; one round if they are too few."""
    for_directions = -(-draws_for_directions // n_chains)

    def length(share: float, of: int) -> int:
        """A share; more if that is too little for directions, up to the same share of all draws."""
        return max(1, round(share * of), min(for_directions, round(share * n_tune)))

    of_windows, of_rounds = (
        _shorter(n_tune, tuner, n_chains, share) for share in (_FOR_SHORTER_WINDOWS, _FOR_SHORTER_ROUNDS)
    )
    windows = [
        length(share, of_windows if number >= _FIRST_TO_COOL else n_tune) for number, share in enumerate(_WINDOW_SHARES)
    ]
    crossing_times = max(1, round(_CROSSING_TIMES_SHARE * n_tune)) if tuner == MCT else 0
    settling = max(1, round(_SETTLING_SHARE * of_rounds))
    rest = n_tune - sum(windows) - crossing_times - settling
    if rest <= 0:
        return StageLengths([], 0, [n_tune], 0)
    n_rounds = max(1, round(rest / max(length(_ROUND_SHARE, of_rounds), _SHORTEST_ROUND)))
    rounds = [rest // n_rounds + (number < rest % n_rounds) for number in range(n_rounds)]
    return StageLengths(windows, crossing_times, rounds, settling)


def _with_shorter(stages: list[Stage], n_tune: int) -> list[Stage]:
    """Shorter rounds where chains agree before them, which then have only to find the integrator that goes further.

    For how long momenta last and how far draws are apart such a round has too few draws: the settling finds these.
    """
    *before, settling = stages
    n_draws, last_round = max(round(_SHORT_ROUND_SHARE * n_tune), _SHORTEST_SHORT_ROUND), before[-1]
    if n_draws >= last_round.n_draws:
        return stages
    return [
        *(replace(at, shorter=replace(at, n_draws=n_draws)) if 0 < at.round <= _SHORT_ROUNDS else at for at in before),
        replace(settling, shorter=replace(settling, tune_momentum_time=last_round.tune_momentum_time)),
    ]


def _with_brief(settling: Stage, n_tune: int) -> Stage:
    """A shorter settling where it has only to carry on with a step that the last round has tuned."""
    n_draws = max(round(_BRIEF_SETTLING_SHARE * n_tune), _SHORTEST_BRIEF_SETTLING)
    return replace(settling, brief=replace(settling, n_draws=n_draws)) if n_draws < settling.n_draws else settling


@dataclass(frozen=True, kw_only=True)
class PracticalWarmup:
    """Warm-up from an arbitrary start: growing windows, then rounds until the chains agree, then settling.

    Windows are by the continuous process, whatever is sampled: steps that adapt lead into the bulk from any start. MCT,
    whose crossing times are those of the exact dynamics, has one long window of its own after the others, and its scale
    is fixed from then on.

    Where the event rate is tuned, paths are followed beyond due refreshments to their U-turns, which costs gradients:
    only some stages do it.

    Attributes
    ----------
    n_tune : int
        Draws of warm-up.
    tuner : int
    tune_event_rate, tune_momentum_time : bool
    u_turn_factor : float
        Event rate times the time to a U-turn, one over it.
    draw_spacing : float or None
        Process time per draw; None: by `u_turns_per_draw`.
    u_turns_per_draw : float
    draws_for_directions : int
        Those of all chains from which directions can be told; 0: they are not looked for.
    n_chains : int
    """

    n_tune: int
    tuner: int
    tune_event_rate: bool
    u_turn_factor: float
    draw_spacing: float | None
    u_turns_per_draw: float
    tune_momentum_time: bool = False
    draws_for_directions: int = 0
    n_chains: int = 4

    def stages(self) -> list[Stage]:
        """In their order; none without draws."""
        if self.n_tune == 0:
            return []
        lengths = _stage_lengths(self.n_tune, self.tuner, self.n_chains, self.draws_for_directions)
        if not lengths.windows:
            return [self._only_stage(lengths.rounds[0])]
        stages = self._windows(lengths.windows)
        if lengths.crossing_times > 0:
            stages.append(self._crossing_times(lengths.crossing_times))
        stages += [*self._rounds(lengths.rounds), self._settling(lengths.settling)]
        return _with_shorter(stages, self.n_tune) if self.tuner == GEO else stages

    @property
    def _finds_directions(self) -> bool:
        return self.draws_for_directions > 0

    def _event_rate(self, is_tuned: bool) -> EventRateRule:
        return EventRateRule(tune=self.tune_event_rate and is_tuned, u_turn_factor=self.u_turn_factor)

    def _stage(self, name: str, length: int) -> Stage:
        """One whose draws are as far apart as those that are kept."""
        return Stage(name, length, draw_spacing=self.draw_spacing, u_turns_per_draw=self.u_turns_per_draw)

    def _windows(self, lengths: list[int]) -> list[Stage]:
        def has_cooled(number: int) -> bool:
            """Of a window before the last: it follows both hot ones."""
            return _FIRST_TO_COOL <= number < len(lengths) - 1

        return [
            Stage(
                f"window {number + 1}",
                length,
                draw_spacing=self.draw_spacing,
                u_turns_per_draw=_WINDOW_SPACING,
                most_gradients_per_draw=math.inf if self.tuner == FIXED else _WINDOW_GRADIENTS,
                is_hot=number in _HOT_WINDOWS and self.n_tune >= FEWEST_DRAWS_TO_HEAT,
                keeps_place=number not in _HOT_WINDOWS,
                looks_back=has_cooled(number),
                pools=number == len(lengths) - 1,
                may_end_windows=has_cooled(number) and self.tuner != FIXED,
                scale=_window_rule(number, self.tuner, self._finds_directions),
                event_rate=self._event_rate(number >= len(lengths) - 2),
            )
            for number, length in enumerate(lengths)
        ]

    def _crossing_times(self, length: int) -> Stage:
        return replace(
            self._stage("crossing times", length),
            pools=True,
            scale=_crossing_time_rule(),
            event_rate=self._event_rate(False),
        )

    def _rounds(self, lengths: list[int]) -> list[Stage]:
        return [
            replace(
                self._stage(f"round {number + 1}", length),
                by_trajectories=True,
                tune_step=True,
                tune_momentum_time=self.tune_momentum_time,
                pools=True,
                round=number + 1,
                may_end_rounds=number > 0 or self.tuner == GEO,
                scale=_round_rule(number, self.tuner, self._finds_directions),
                event_rate=self._event_rate(number == 0),
            )
            for number, length in enumerate(lengths)
        ]

    def _settling(self, length: int) -> Stage:
        stage = replace(
            self._stage("settling", length),
            by_trajectories=True,
            tune_step=True,
            pools=True,
            event_rate=self._event_rate(True),
        )
        return _with_brief(stage, self.n_tune)

    def _only_stage(self, length: int) -> Stage:
        """Where there are too few draws for windows: the scale and the rest at once, each chain for itself."""
        by_trajectories = self.tuner != MCT
        return replace(
            self._stage("only stage", length),
            by_trajectories=by_trajectories,
            tune_step=by_trajectories,
            tune_momentum_time=self.tune_momentum_time and by_trajectories,
            scale=_only_rule(self.tuner),
            event_rate=self._event_rate(True),
        )


_FIRST_CHANGE_TIME = 5.0
_LAST_WINDOW_CHANGE_TIME = 20.0
# Process times before a window that starts with nothing has seen enough to change the scale: two paths to begin with,
# more where the scale is good already.


def _window_rule(number: int, tuner: int, finds_directions: bool) -> ScaleRule:
    """The scale rule of one of the windows. All use GEO.

    A start far out in a tail of a normal inflates Var(q) and E[g²] by the same factor, so that GEO is right all the
    same: from a millionth of the scale to a million times it. VARI and ISG would follow the start's energy, as ISG does
    where a residual sd starts at a tenth of its value: its squared gradient is then a million times the stationary one.
    """
    if tuner == FIXED:
        return ScaleRule()
    if number == 0:
        return ScaleRule(tuner=GEO, window=FORGET, first_change=_FIRST_CHANGE_TIME)
    return ScaleRule(tuner=GEO, window=SHIFT, finds_directions=finds_directions and number >= _FIRST_WITH_DIRECTIONS)


def _round_rule(number: int, tuner: int, finds_directions: bool) -> ScaleRule:
    """The scale rule of a round. The first begins with nothing, and keeps GEO's scale until it has seen enough."""
    if tuner in (FIXED, MCT):
        return ScaleRule()
    if number > 0 or tuner == GEO:
        return ScaleRule(tuner=tuner, window=SHIFT, finds_directions=finds_directions)
    return ScaleRule(
        tuner=tuner,
        window=FORGET,
        first_change=_LAST_WINDOW_CHANGE_TIME,
        finds_directions=finds_directions,
    )


def _only_rule(tuner: int) -> ScaleRule:
    """The scale rule of a warm-up with one stage."""
    if tuner == FIXED:
        return ScaleRule()
    return ScaleRule(tuner=GEO if tuner == MCT else tuner, first_change=_FIRST_CHANGE_TIME)


def _crossing_time_rule() -> ScaleRule:
    """MCT from the scale that GEO has found, which dual averaging is drawn to."""
    return ScaleRule(tuner=MCT, first_change=_LAST_WINDOW_CHANGE_TIME, gamma=FIRST_RUN_GAMMA, anchor_factor=1.0)
