"""What the variables of each group of a result are, in words: their `description` attributes."""

from __future__ import annotations

DESCRIPTIONS = {
    "sample_stats": {
        "lp": "log density of the draw, unconstrained, up to a constant; -inf where it is not finite",
        "energy": "H = -lp + |momentum|²/2, of the continuous process interpolated between the ends of the step",
        "energy_error": "largest change of H along a path between events since the last draw",
        "diverging": "a path since the last draw had an energy error above the threshold",
        "n_gradients": "gradients since the last draw, with the one that a draw within a step takes",
        "n_steps": "accepted integrator steps since the last draw",
        "n_rejected": "rejected integrator steps, or trajectories of the discrete process, since the last draw",
        "n_events": "momentum refreshments since the last draw",
        "step_size": "integrator step, in process time",
        "process_time": "process time since the chain began",
        "acceptance_rate": "mean acceptance probability of the trajectories since the last draw",
    },
    "time_average": {
        "position": "average over an interval of the path, unconstrained",
        "position_squared": "average of the squares over an interval of the path, unconstrained",
        "functions": "averages of the user's functions over an interval of the path",
        "duration": "process time of the interval",
    },
    "tuning": {
        "scale": "diagonal scale S that was sampled with, unconstrained",
        "centre": "centre m that was sampled with, unconstrained",
        "event_rate": "momentum refreshments per process time or arc length; 1 / the time a persistent momentum lasts",
        "time_to_u_turn": "typical process time until a path turns around",
        "n_gradients": "gradients of the warm-up",
        "agreed": "the chains agreed about the scale before the warm-up was used up",
        "n_moves": "times the chain was moved, during warm-up, from a place without mass to one of the others",
        "places": "where each warm-up window that explores ended, and last where the highest log density was seen",
        "n_bounces": "momenta reversed where the log density is not finite",
        "n_refused": "steps, or trajectories of the discrete process, that ended where the log density is not finite",
        "density_noise": "standard deviation of the log density's noise, as seen during warm-up; 0: none",
        "crossing_time": "mean process time between crossings of the centre",
        "warmup_seconds": "wall-clock time of the chain's warm-up",
        "sampling_seconds": "wall-clock time of the chain's sampling",
        "history_time": "process time; nan beyond a chain's last row",
        "history_n_gradients": "gradients since the chain began; -1 beyond a chain's last row",
    },
}
