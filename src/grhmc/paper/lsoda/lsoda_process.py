"""The same process on SciPy's LSODA, the integrator of the published experiments: the slow oracle.

Steps go past an event; its time is found on dense output and the integrator restarts there, as LSODAR does.

References
----------
Tran & Kleppe (2024), "Tuning diagonal scale matrices for HMC", sections 3 and 4.
Kleppe (2022), "Connecting the Dots: Numerical Randomized Hamiltonian Monte Carlo with State-Dependent Event Rates".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from grhmc.adaptation.stage import HISTORY_ROWS_PER_STAGE
from grhmc.adaptation.tuners.event_rate import (
    init_event_rate_tuner,
    note_overshoot,
    observe_u_turn,
    tuned_event_rate,
)
from grhmc.adaptation.tuners.mct import (
    CrossingTimeTuner,
    init_crossing_time_tuner,
    observe_crossing,
    start_observing,
    write_medians,
)
from grhmc.adaptation.tuners.p_square import observe_sample
from grhmc.adaptation.tuners.scale_from_moments import FIXED, GEO, ISG, MCT, VARI, clamp_scale, scale_from_moments
from grhmc.paper.lsoda.lsoda_dynamics import FORCE_SQUARE, POSITION, SQUARE, LsodaDynamics
from grhmc.paper.lsoda.path_moments import PathMoments

if TYPE_CHECKING:
    from scipy.integrate import LSODA

    from grhmc.adaptation.stage import Stage
    from grhmc.models.log_density import LogDensity

_INTEGRALS = {
    FIXED: (POSITION,),
    VARI: (POSITION, SQUARE),
    ISG: (POSITION, FORCE_SQUARE),
    GEO: (POSITION, SQUARE, FORCE_SQUARE),
    MCT: (),
}
"""What each tuner needs of the path, and no more."""

_NEVER = math.inf
_ROOT_ITERATIONS = 60


class LsodaProcess:
    """One trajectory. Random numbers are drawn in the order in which the compiled process draws them.

    Parameters
    ----------
    model : LogDensity
        Positive everywhere.
    start : ndarray, shape (dim,)
    rng : Generator
    centre, scale : ndarray, shape (dim,)
        To start with.
    event_rate : float
        λ, constant per process time.
    tolerance : float

    Attributes
    ----------
    time : float
        Process time.
    position, momentum : ndarray, shape (dim,)
        Standardized.
    event_rate : float
    moments : PathMoments
        Of the present stage.
    history : list of tuple (time, scale)
    """

    def __init__(
        self,
        model: LogDensity,
        *,
        start: np.ndarray,
        rng: np.random.Generator,
        centre: np.ndarray,
        scale: np.ndarray,
        event_rate: float,
        tolerance: float,
    ) -> None:
        self.dynamics = LsodaDynamics(model, tolerance)
        self.dynamics.centre, self.dynamics.scale = centre.copy(), scale.copy()
        self.rng = rng
        self.time = 0.0
        self.position = (start - centre) / scale
        self.momentum = rng.standard_normal(model.dim)
        self.event_rate = event_rate
        self.rate_tuner = init_event_rate_tuner(event_rate)
        self.moments = PathMoments(model.dim)
        self.history: list[tuple[float, np.ndarray]] = []
        self._crossing: CrossingTimeTuner | None = None
        self._solver: LSODA
        self._start_path()

    # ------------------------------------------------------------------ stages

    def run_stage(
        self,
        stage: Stage,
        draws: np.ndarray | None = None,
        integrals: tuple[str, ...] | None = None,
        *,
        integrals_run_on: bool = False,
    ) -> None:
        """Go through one stage; `draws`, shape (n_draws, dim), is filled if given.

        `integrals` are those of the path in the state; by default what the stage's tuner needs. They start from 0 at
        every event, or run on.

        Raises
        ------
        ValueError
            If the stage has no fixed length in process time.
        """
        spacing = stage.draw_spacing
        if spacing is None:
            raise ValueError(f"stage {stage.name!r} needs a draw_spacing: the LSODA process counts in process time")
        self._stage, self._draws = stage, draws
        self._stage_start = self.time
        self._end = self.time + stage.n_draws * spacing
        self._next_draw, self._n_draws = self.time + spacing, 0
        self._next_history = self.time if stage.is_warmup else _NEVER
        self.moments.forget()
        self._begin_rules()
        if integrals is not None:
            self.dynamics.begin_integrals(integrals, run_on=integrals_run_on)
        self._start_path()
        while self.time < self._end:
            self._advance()
        self._close_stretch()

    def _begin_rules(self) -> None:
        rule, rate = self._stage.scale, self._stage.event_rate
        self.dynamics.begin_integrals(_INTEGRALS[rule.tuner])
        self._first_change = self.time + rule.first_change
        self._next_median = _NEVER
        self._start_crossings = _NEVER
        self._crossing = None
        if rule.tuner == MCT:
            log_scale = np.log(self.dynamics.scale)
            self._crossing = init_crossing_time_tuner(
                self.dynamics.scale,
                gamma=rule.gamma,
                anchor=np.asarray(rule.anchor_factor) * log_scale,
                target_time=rule.target_crossing_time,
            )
            self._observing = False
            self._next_median = self.time + rule.median_spacing
            self._start_crossings = self._first_change
        if rate.start is not None:
            self.event_rate = rate.start
            if rate.tune:
                self.rate_tuner = init_event_rate_tuner(rate.start)
        if rate.tune:
            self.rate_tuner.n_observed[:] = 0

    # ------------------------------------------------------------------ one step

    def _advance(self) -> None:
        """Take a step and go to its end, or to the earliest event in it, handle that and restart there."""
        self._solver.step()
        if self._solver.status == "failed":
            raise RuntimeError(f"LSODA failed at process time {self.time:.6g}: reduce the tolerance")
        interpolate = _Interpolant(self._solver)
        until, handle = self._solver.t, None
        for time, handler in (
            (self._due, self._refresh),
            (self._end, self._restart),
            (self._start_crossings, self._begin_crossings),
        ):
            if time < until:
                until, handle = time, handler
        coordinate, crossing_time = self._earliest_crossing(interpolate, until)
        if coordinate >= 0:
            until = crossing_time
        state = self._solver.y if until == self._solver.t else interpolate(until)
        self._observe(interpolate, until, state)
        self._set_state(until, state)
        if coordinate >= 0:
            self._cross(coordinate)
        elif handle is not None:
            handle()

    def _set_state(self, time: float, state: np.ndarray) -> None:
        dim = self.dynamics.dim
        self.time = time
        self._state = state.copy()
        self.position, self.momentum = self._state[:dim], self._state[dim : 2 * dim]

    def _observe(self, interpolate: _Interpolant, until: float, state: np.ndarray) -> None:
        """Read draws, median samples, the U-turn and the history off the step up to `until`."""
        dim, dynamics = self.dynamics.dim, self.dynamics
        while self._next_draw <= until and self._n_draws < self._stage.n_draws:
            if self._draws is not None:
                point = interpolate(self._next_draw)[:dim]
                self._draws[self._n_draws] = dynamics.centre + dynamics.scale * point
            self._n_draws += 1
            self._next_draw = self._stage_start + (self._n_draws + 1) * (self._stage.draw_spacing or 0.0)
        while self._next_median <= until and self._crossing is not None:
            point = interpolate(self._next_median)[:dim]
            observe_sample(self._crossing.medians, dynamics.centre + dynamics.scale * point)
            self._next_median += self._stage.scale.median_spacing
        if self._searching:
            self._look_for_u_turn(interpolate, self.time, until, state)
        if self._crossing is not None and self._observing:
            side = self._crossing.side
            shifted = (self.position * side < 0.0) & (state[:dim] * side < 0.0)
            side[shifted] *= -1.0
        if until >= self._next_history:
            self.history.append((until, dynamics.scale.copy()))
            self._next_history += (self._end - self._stage_start) / HISTORY_ROWS_PER_STAGE

    # ------------------------------------------------------------------ paths and events

    def _start_path(self) -> None:
        """Draw when the next event falls due, note where the path begins, and restart the integrator."""
        self._due = self.time + self.rng.standard_exponential() / self.event_rate
        self._path_start = self.position.copy()
        self._path_start_time = self.time
        self._searching = hasattr(self, "_stage") and self._stage.event_rate.tune
        self._restart_solver()

    def _restart_solver(self) -> None:
        self._solver = self.dynamics.solver(self.time, self.position, self.momentum)
        self._state = self._solver.y.copy()
        self._stretch_start = self.time

    def _close_stretch(self) -> None:
        """Add the integrals since the last restart to the moments."""
        dynamics = self.dynamics
        self.moments.add(
            self.time - self._stretch_start, dynamics.split_integrals(self._state), dynamics.centre, dynamics.scale
        )
        self._stretch_start = self.time
        if dynamics.integrals_run_on:
            dynamics.integrals_at_restart = self._state[2 * dynamics.dim :].copy()
        self._state[2 * dynamics.dim :] = dynamics.integrals_at_restart

    def _restart(self) -> None:
        """Go on from here with a fresh integrator."""
        self._close_stretch()
        self._restart_solver()

    def _refresh(self) -> None:
        """A due event: tune, refresh the momentum, start a new path."""
        self._close_stretch()
        rule = self._stage.event_rate
        if rule.tune:
            if self._searching:
                self._follow_to_u_turn()
            self.event_rate = float(tuned_event_rate(self.rate_tuner, rule.u_turn_factor))
        if self._stage.scale.tuner not in (FIXED, MCT) and self.time >= self._first_change:
            self._change_scale_by_moments()
        self.momentum = self.rng.standard_normal(self.dynamics.dim)
        self._start_path()

    def _change_scale_by_moments(self) -> None:
        moments, rule = self.moments, self._stage.scale
        scale = np.array(
            [
                scale_from_moments(rule.tuner, spread / moments.time, squared_gradient / moments.time)
                for spread, squared_gradient in zip(moments.spread, moments.squared_gradient, strict=True)
            ]
        )
        clamp_scale(self.dynamics.scale, rule.largest_change, scale)
        self._restandardize(moments.mean.copy(), scale)

    def _restandardize(self, centre: np.ndarray, scale: np.ndarray) -> None:
        """Change m and S with q and p̄ where they are."""
        dynamics = self.dynamics
        self.position = (dynamics.centre - centre + dynamics.scale * self.position) / scale
        dynamics.centre, dynamics.scale = centre, scale

    # ------------------------------------------------------------------ U-turns

    def _outward_speed(self, state: np.ndarray) -> float:
        dim = self.dynamics.dim
        return float((state[:dim] - self._path_start) @ state[dim : 2 * dim])

    def _look_for_u_turn(self, interpolate: _Interpolant, since: float, until: float, state: np.ndarray) -> None:
        rule = self._stage.event_rate
        if self._outward_speed(state) <= 0.0:
            low = since if since > self._path_start_time else since + 1e-3 * (until - since)
            turn = _bisect(lambda time: self._outward_speed(interpolate(time)), low, until)
            elapsed = turn - self._path_start_time
            observe_u_turn(self.rate_tuner, rule.smoothing, rule.prior_count, elapsed, elapsed)
            overshoot = max(0.0, turn - self._due)
            if rule.counts_overshoot:
                note_overshoot(self.rate_tuner, overshoot, overshoot)
            self._searching = False
        elif until - self._path_start_time > rule.search_time:
            self.rate_tuner.n_given_up[0] += 1
            self._searching = False

    def _follow_to_u_turn(self) -> None:
        """Let the integrator go on past the due event until the path has turned around; the state stays as it is."""
        n_before = self.dynamics.n_evaluations
        self._look_for_u_turn(_Interpolant(self._solver), self.time, self._solver.t, self._solver.y)
        while self._searching:
            since = self._solver.t
            self._solver.step()
            self._look_for_u_turn(_Interpolant(self._solver), since, self._solver.t, self._solver.y)
        self.rate_tuner.n_gradients[0] += self.dynamics.n_evaluations - n_before

    # ------------------------------------------------------------------ median crossings

    def _begin_crossings(self) -> None:
        """Once the medians have settled, centre on them and begin to observe crossings."""
        self._close_stretch()
        tuner = self._require_crossing()
        centre = np.zeros(self.dynamics.dim)
        write_medians(tuner, centre)
        self._restandardize(centre, self.dynamics.scale)
        start_observing(tuner, self.position)
        self._observing, self._start_crossings = True, _NEVER
        self._restart_solver()

    def _earliest_crossing(self, interpolate: _Interpolant, until: float) -> tuple[int, float]:
        """The coordinate that crosses its median first before `until`, and when; (-1, until) if none does."""
        if self._crossing is None or not self._observing:
            return -1, until
        dim, side = self.dynamics.dim, self._crossing.side
        coordinate, earliest = -1, until
        end = self._solver.y if until == self._solver.t else interpolate(until)
        for j in np.flatnonzero((self.position * side >= 0.0) & (end[:dim] * side < 0.0)):
            crossing = _bisect(lambda time, j=j: float(interpolate(time)[j] * side[j]), self.time, until)
            if crossing < earliest:
                coordinate, earliest = int(j), crossing
        return coordinate, earliest

    def _cross(self, coordinate: int) -> None:
        """Take in a crossing and apply what follows from it at once, as published."""
        tuner = self._require_crossing()
        self._close_stretch()
        observe_crossing(tuner, coordinate, self.time, tuner.target_time[coordinate])
        if np.any(tuner.n_crossings >= 2):
            scale = self.dynamics.scale.copy()
            if tuner.n_crossings[coordinate] >= 2:
                scale[coordinate] = np.exp(tuner.averaging.log_value_average[coordinate])
            centre = np.zeros(self.dynamics.dim)
            write_medians(tuner, centre)
            self._restandardize(centre, scale)
        self._restart_solver()

    def _require_crossing(self) -> CrossingTimeTuner:
        if self._crossing is None:
            raise RuntimeError("crossings are observed only in a stage that tunes by crossing times")
        return self._crossing


class _Interpolant:
    """Dense output of a solver's last step, made when first wanted."""

    def __init__(self, solver: LSODA) -> None:
        self._solver = solver
        self._output: Callable[[float], np.ndarray] | None = None

    def __call__(self, time: float) -> np.ndarray:
        if self._output is None:
            self._output = self._solver.dense_output()
        return self._output(time)


def _bisect(function: Callable[[float], float], low: float, high: float) -> float:
    """The time at which a function that is positive at `low` and not at `high` stops being so; never one before.

    SciPy's `brentq` may end on either side of the root. Before it the coordinate has not crossed yet, and the next
    crossing would not be found.
    """
    for _ in range(_ROOT_ITERATIONS):
        middle = 0.5 * (low + high)
        if high - low <= 1e-12 * (1.0 + abs(high)):
            break
        if function(middle) > 0.0:
            low = middle
        else:
            high = middle
    return high
