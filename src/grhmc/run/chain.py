"""One chain: goes through the stages of its programme in blocks, and can be saved and restored between any two."""

from __future__ import annotations

import dataclasses
import math
import time
from typing import TYPE_CHECKING

import numpy as np

from grhmc.adaptation.stage import Stage
from grhmc.adaptation.tuners.draw_sample import begin_sample
from grhmc.adaptation.tuners.momentum_time import (
    MOMENTUM_TIME_RANGES,
    init_momentum_time_tuner,
    next_momentum_time,
    spacing_of_draws,
)
from grhmc.adaptation.tuners.step_size import init_step_tuner, tuned_step
from grhmc.density_pointer import EXCEPTION, FINE
from grhmc.dynamics.coefficients import TABLEAUS
from grhmc.dynamics.density_call import GO_ON, PAUSE, STOP, STOPPED
from grhmc.dynamics.time_averages import init_path_functions, reset_integrals
from grhmc.events.refreshment import draw_hot_momentum
from grhmc.outcomes import InitializationError, Outcome
from grhmc.process.advance import advance
from grhmc.process.path import place, start_path
from grhmc.process.state import Records, init_process, with_tableau
from grhmc.process.trajectory_plan import persistent_length
from grhmc.run.chain_record import (
    ChainCounts,
    chain_record,
    n_warmup_rows,
    present_values,
    records_of_run,
)
from grhmc.run.chain_state import ChainState
from grhmc.run.cost import look_for_noise
from grhmc.run.draw_rows import NO_LIMIT, draws_until_a_pause, make_room
from grhmc.run.highest_place import MOST_ESCAPES, go_to_highest, note_place, start_at_highest
from grhmc.run.intervals import draws_until_full, join_if_full
from grhmc.run.kernel_settings import BEFORE_THE_FIRST_STAGE, StageStart, kernel_settings, write_kernel_settings
from grhmc.run.rate_of_user import user_rate
from grhmc.run.saved_chain import chain_to_arrays, restore_chain, restore_state, state_to_arrays
from grhmc.run.stage_tuners import begin_event_rate_tuner, begin_scale_tuner, renew_rate_tuner

if TYPE_CHECKING:
    from grhmc.models.log_density import LogDensity
    from grhmc.results.record import ChainRecord
    from grhmc.settings import RunSettings

_FIRST_STEP = 0.1
# Process time; the step control finds the right size from there.

LONG_BLOCK_SECONDS = 0.15
"""Where the last block took longer, trajectories do: a chain may be stopped within one, and goes back to before it."""

_MOST_REPEATS, _LONG_ENOUGH = 2, 0.25
# A window after which chains pool, and that cost too much to come so far of its way, is begun again so many times.
# Those who have not reached the bulk by then do not count in pooling, and go on in the rounds, which have no limit.


class Chain(ChainState):
    """A chain and its programme.

    Parameters
    ----------
    model : LogDensity
    settings : RunSettings
    stages : list of Stage
        Warm-up stages and, last, the one that is sampled.
    index : int
        Which chain of the run.
    rng : Generator
        Its own, PCG64.
    start, centre, scale : ndarray, shape (dim,)
        Starting point, and the standardization to start with, in the units of the parameters.
    event_rate : float
        λ to start with.
    path_functions : tuple (address, user_data, n_functions)
        Users' functions to average over time.
    records : Records, optional
        Where to write, one of those that `records_of_run` makes.
    rows_at_once : int, optional
        Draws of sampling that are kept in memory until `hand_over` is called; by default all of them.

    Raises
    ------
    Exception
        Whatever the density raises at the start.
    InitializationError
        If it is not finite there.
    """

    def __init__(
        self,
        model: LogDensity,
        settings: RunSettings,
        stages: list[Stage],
        *,
        index: int,
        rng: np.random.Generator,
        start: np.ndarray,
        centre: np.ndarray,
        scale: np.ndarray,
        event_rate: float,
        path_functions: tuple[int, int, int] = (0, 0, 0),
        records: Records | None = None,
        rows_at_once: int | None = None,
    ) -> None:
        discrete = settings.discrete
        super().__init__(
            integrator=settings.first_integrator,
            u_turns_per_refreshment=discrete.u_turns_per_refreshment or MOMENTUM_TIME_RANGES[discrete.momentum].first,
            places=np.full((sum(stage.keeps_place for stage in stages), model.dim), np.nan),
        )
        self.model = model
        self.settings = settings
        self.stages = stages
        self.index = index
        self.start = start
        self.is_discrete = settings.is_discrete
        self.rows_at_once = rows_at_once
        self.pauses_at = NO_LIMIT  # draws of sampling, until it is told how to go on
        self.most_gradients = NO_LIMIT  # after which it stops, complete
        self.error: BaseException | None = None  # that its density raised on a worker
        self._block_seconds = math.inf  # that the last block took
        self.is_whole = True  # between two steps or trajectories: it can be saved
        self.process = init_process(
            dim=model.dim,
            address=model.address,
            user_data=model.user_data,
            functions=init_path_functions(*path_functions),
            tableau=TABLEAUS[self.integrator].to_arrays(),
            centre=centre,
            scale=scale,
            event_rate=event_rate,
            rng=rng,
            max_rank=settings.max_rank(model.dim),
            sample_capacity=settings.sample_capacity(model.dim),
            user_rate=user_rate(settings, model.dim),
        )
        self.n_warmup_rows = n_warmup_rows(settings, stages)
        if records is None:
            (records,) = records_of_run(settings, stages, model.dim, path_functions[2], 1, rows_at_once)
        self.records = records
        self._write_settings(BEFORE_THE_FIRST_STAGE, 1.0)
        is_tuned = settings.continuous.tunes_event_rate
        renew_rate_tuner(self.process, event_rate * settings.u_turn_factor if is_tuned else event_rate)
        self._check_start(place(self.process, start, _FIRST_STEP))
        advance(self.process, self.records, 0, 1)  # of a stage that has no length: compiles before any clock starts

    def _check_start(self, code: int) -> None:
        """Raise if the density, which was finite at the start when that was found, is not so now."""
        if code == FINE:
            return
        error = self.model.take_exception() if code == EXCEPTION else None
        if error is None:
            error = InitializationError(
                f"chain {self.index}: the log density was finite at the starting point, and is not when evaluated "
                f"there again (code {code}); it must depend on nothing but its argument"
            )
        raise error

    # ------------------------------------------------------------------ advancing

    def advance(self, n_gradients: int) -> Outcome:
        """Go on for about `n_gradients`; returns `Outcome.RUNNING`, or how the chain ended."""
        if self.outcome != Outcome.RUNNING:
            return self.outcome
        if self.stage_index < 0:
            self._begin_stage(0)
        began = time.perf_counter()
        n_left = self.most_gradients - int(self.process.counters[0].n_gradients)
        if n_left <= 0:
            self.outcome = Outcome.STOPPED
            return self.outcome
        most_draws = min(draws_until_a_pause(self), draws_until_full(self))
        can_go_back = self._block_seconds > LONG_BLOCK_SECONDS and not self.stage.is_warmup
        before = state_to_arrays(self) if can_go_back else None
        code = advance(self.process, self.records, min(n_gradients, n_left), most_draws)
        if before is not None and code == Outcome.DENSITY_RAISED and self.process.density.stop[0] == STOPPED:
            restore_state(self, before)  # the trajectory has no end; draws of this block are given up with it
            self.stop()
            code = int(Outcome.RUNNING)
        self._block_seconds = time.perf_counter() - began
        self.seconds[int(not self.stage.is_warmup)] += self._block_seconds
        join_if_full(self)
        self.outcome = Outcome(code)
        if self.outcome == Outcome.STUCK and self.stage.is_window and self.n_escapes < MOST_ESCAPES:
            self.n_escapes += 1
            start_at_highest(self)
            self._begin_stage(self.stage_index)
            self.outcome = Outcome.RUNNING
        self.is_whole = self.outcome in (Outcome.RUNNING, Outcome.STAGE_DONE)
        if self.outcome == Outcome.RUNNING and self.is_told_to_stop:
            self.outcome = Outcome.INTERRUPTED
        if self.outcome == Outcome.DENSITY_RAISED and self.process.density.stop[0] == STOPPED:
            self.outcome = Outcome.INTERRUPTED
        if self.outcome == Outcome.STAGE_DONE:
            if self._was_cut_short():
                self.n_repeats += 1
                self._begin_stage(self.stage_index)
                self.outcome = Outcome.RUNNING
            elif self.stage.waits:
                self.outcome = Outcome.WAITING
            else:
                self.go_on(self.stage_index + 1)
        return self.outcome

    def stop(self) -> None:
        """Have the chain stop at its next gradient, from whatever thread.

        It can be continued then only where it samples and its trajectories are long.
        """
        if not self.is_told_to_stop:
            self.process.density.stop[0] = STOP

    @property
    def is_told_to_stop(self) -> bool:
        """Whether `stop` was called."""
        return bool(self.process.density.stop[0] > GO_ON)

    def pause(self, wanted: bool) -> None:
        """Have `advance` return after the present step or trajectory, from whatever thread, or not any more."""
        if not self.is_told_to_stop:
            self.process.density.stop[0] = PAUSE if wanted else GO_ON

    @property
    def is_paused(self) -> bool:
        """Whether it has made the draws after which it is to be told how to go on."""
        return self.n_draws >= self.pauses_at

    def _was_cut_short(self) -> bool:
        """Whether the present stage must come a good way before chains pool, and has cost too much to do so."""
        path, cursors, end_time = self.process.path[0], self.process.cursors[0], self.process.settings.end_time[0]
        is_short = path.time - cursors.stage_start_time < _LONG_ENOUGH * (end_time - cursors.stage_start_time)
        is_limited = math.isfinite(self.stage.most_gradients_per_draw)
        return self.stage.pools and is_limited and is_short and self.n_repeats < _MOST_REPEATS

    def go_on(self, stage_index: int) -> None:
        """Begin a stage after the end of the present one; with none left the chain is done."""
        self.outcome = Outcome.STAGE_DONE
        if stage_index < len(self.stages):
            note_place(self)
            if self.stage.looks_back:
                go_to_highest(self)
            self.warmup_draws_before += int(self.process.cursors.draw_index[0])
            self.n_repeats = 0
            self._begin_stage(stage_index)
            self.outcome = Outcome.RUNNING

    def use_integrator(self, integrator: str) -> None:
        """From the next stage on: which integrator."""
        if integrator != self.integrator:
            self.integrator = integrator
            self.process = with_tableau(self.process, TABLEAUS[integrator].to_arrays())

    @property
    def stage(self) -> Stage:
        """The present stage."""
        stage = self.stages[max(self.stage_index, 0)]
        return stage.as_taken(agreed_early=self.agreed_early, integrator_stays=self.integrator_stays)

    @property
    def draws_done(self) -> int:
        """Draws of warm-up and sampling made so far."""
        # By way of the record: while an attribute of a recarray is set, another thread can see it as a plain number.
        return self.warmup_draws_before + int(self.process.cursors[0].draw_index)

    @property
    def n_draws(self) -> int:
        """Draws of sampling made so far."""
        return 0 if self.stage.is_warmup else int(self.process.cursors[0].draw_index)

    @property
    def counts(self) -> ChainCounts:
        """Totals so far."""
        counters = self.process.counters[0]
        return ChainCounts(**{item.name: int(counters[item.name]) for item in dataclasses.fields(ChainCounts)})

    def _begin_stage(self, stage_index: int) -> None:
        """Write a stage's rules into the kernel's settings and start its tuners and its first path."""
        has_tuned_momentum_time = self.stage_index >= 0 and self.stage.tune_momentum_time
        self.stage_index = stage_index
        stage, path, cursors, process = self.stage, self.process.path, self.process.cursors, self.process
        begin_scale_tuner(process, stage.scale)
        begin_sample(process.draw_sample, stage.n_draws)
        begin_event_rate_tuner(process, stage.event_rate)
        if stage.by_trajectories:
            look_for_noise(self)
        step = self.trajectory_step
        if self.is_discrete and stage.by_trajectories:
            self._begin_trajectories(step, has_tuned_momentum_time)
            if stage.tune_step:
                process.step_tuner = init_step_tuner(step)
        if stage.is_hot:
            self.hot_start = max(self.hot_start, float(path.log_density[0]))
        factor_before = process.settings.momentum_factor[0]
        self._write_settings(stage, step)
        cursors.stage_start_time = path.time[0]
        cursors.draw_index = cursors.interval_index = cursors.median_index = 0
        cursors.first_row = self.warmup_draws_before if stage.is_warmup else self.n_warmup_rows
        make_room(self)
        factor = process.settings.momentum_factor[0]
        if factor != factor_before:  # the temperature changes: stages are short, so that the momentum does at once
            draw_hot_momentum(int(process.settings.law[0]), factor, process.step.momentum, process.rng)
        process.n_crossings[:] = 0
        reset_integrals(process.integrals)
        if not stage.is_warmup:
            self.sampling_start[:] = [*present_values(process).values()]
        for counter in ("gradients", "steps", "rejected", "events", "diverging"):
            process.counters[f"drawn_{counter}"] = process.counters[f"n_{counter}"]
        start_path(process)

    def _begin_trajectories(self, step: float, has_tuned_momentum_time: bool) -> None:
        """Change how long momenta last to what the stage before has found, and start the trajectories' tuner."""
        process = self.process
        time_to_u_turn = math.exp(process.rate_tuner.log_process_time[0])
        if has_tuned_momentum_time:
            length = persistent_length(process.path[0].refreshment_time, self.u_turns_per_refreshment)
            self.u_turns_per_draw = spacing_of_draws(process.momentum_time_tuner, max(length, step) / time_to_u_turn)
            allowed = MOMENTUM_TIME_RANGES[self.settings.discrete.momentum]
            self.u_turns_per_refreshment = next_momentum_time(
                process.momentum_time_tuner, self.u_turns_per_refreshment, allowed
            )
        process.momentum_time_tuner = init_momentum_time_tuner(self.model.dim)
        process.path.refreshment_time = self.u_turns_per_refreshment * time_to_u_turn
        process.path.event_rate = 1.0 / (self.u_turns_per_refreshment * time_to_u_turn)
        process.path.trajectory_step = step

    def _write_settings(self, stage: Stage, trajectory_step: float) -> None:
        """Write the kernel's settings, all of them."""
        path, counters = self.process.path[0], self.process.counters[0]
        start = StageStart(
            dim=self.model.dim,
            integrator=self.integrator,
            time=float(path.time),
            n_gradients=int(counters.n_gradients - counters.n_draw_gradients),
            log_time_to_u_turn=float(self.process.rate_tuner.log_process_time[0]),
            u_turns_per_refreshment=self.u_turns_per_refreshment,
            u_turns_per_draw=self.u_turns_per_draw,
            trajectory_step=trajectory_step,
            hot_start=self.hot_start,
            noise=self.noise,
            keeps_warmup=self.n_warmup_rows > 0,
            n_draws_of_run=sum(each.n_draws for each in self.stages),
        )
        write_kernel_settings(self.process.settings, kernel_settings(self.settings, stage, start))

    @property
    def trajectory_step(self) -> float:
        """The tuned step of the discrete process; before there is one, what the continuous process steps by now."""
        path, counters = self.process.path[0], self.process.counters[0]
        first_step = float(path.step_size) if counters.n_steps > 0 else 1.0
        return tuned_step(self.process.step_tuner, first_step, self.process.rate_tuner.log_process_time[0])

    # ------------------------------------------------------------------ results

    def record(self) -> ChainRecord:
        """Everything recorded so far; draws and statistics are views of the chain's own arrays."""
        return chain_record(self)

    # ------------------------------------------------------------------ saving and restoring

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The chain's whole state, and what it keeps of its records in memory, as plain arrays by name."""
        return chain_to_arrays(self)

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Put a chain made with the same model, settings and stages into a state saved by `to_arrays`.

        Raises
        ------
        ValueError
            If an array is missing or has another shape: the state belongs to another run.
        """
        restore_chain(self, arrays)
