"""The loop: advance a chain until its stage ends, a budget of gradients is used, or a number of draws is made."""

from __future__ import annotations

from grhmc._jit import kernel
from grhmc.dynamics.density_call import GO_ON
from grhmc.outcomes import Outcome
from grhmc.process.continuous import advance_one_step
from grhmc.process.discrete import advance_one_trajectory
from grhmc.process.state import DISCRETE, Process, Records

RUNNING = int(Outcome.RUNNING)
STAGE_DONE = int(Outcome.STAGE_DONE)
RAISED = int(Outcome.DENSITY_RAISED)
STEP_BUDGET_USED = int(Outcome.STEP_BUDGET_USED)


@kernel
def advance(process: Process, records: Records, n_gradients: int, n_draws: int) -> int:
    """Advance until the stage's end, for about `n_gradients`, or until the stage has `n_draws`, whichever is first.

    Updates `process` and `records`. A step of the continuous process may make more draws than are left to `n_draws`.
    It also ends where another thread has written to `density.stop`.

    A block always ends between two steps, or trajectories, and nothing is recomputed at its start, so the draws do not
    depend on how a run is cut into blocks.

    Returns
    -------
    int
        An `Outcome`: `RUNNING` where the stage goes on in the next block, `STAGE_DONE` at its end, or an error.
    """
    path, counters, cursors, settings = process.path[0], process.counters[0], process.cursors[0], process.settings[0]
    stop = counters.n_gradients + n_gradients
    while cursors.draw_index < n_draws and process.density.stop[0] == GO_ON:
        if settings.process == DISCRETE:
            if cursors.draw_index >= settings.n_draws:
                return STAGE_DONE
            outcome = advance_one_trajectory(process, records)
        else:
            if (
                path.time >= settings.end_time
                or counters.n_gradients - counters.n_draw_gradients >= settings.end_gradients
            ):
                return STAGE_DONE
            outcome = advance_one_step(process, records)
            if process.user_rate.failure[0] != 0:
                return RAISED
        if outcome != RUNNING:
            return outcome
        since_draw = counters.n_gradients - counters.drawn_gradients
        if since_draw > settings.max_gradients_per_draw or counters.n_gradients > settings.most_gradients:
            return STEP_BUDGET_USED
        if counters.n_gradients >= stop:
            return RUNNING
    return RUNNING
