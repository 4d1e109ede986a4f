"""What every variable of a result's groups is, in words: their `description` attributes.

A name may mean different things of the two processes: what `sample_stats` counts are steps of the continuous one and
trajectories of the discrete one. `COMMON` has what holds for both, `BY_PROCESS` the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import xarray

CONTINUOUS, DISCRETE = "continuous", "discrete"
"""Of the attribute ``process`` of a result."""

COMMON = {
    "sample_stats": {
        "lp": "log density of the draw, unconstrained, up to a constant; -inf where it is not finite",
        "n_gradients": "gradients since the last draw",
    },
    "time_average": {
        "functions": "averages of the user's functions over the interval",
    },
    "tuning": {
        "scale": "diagonal scale S that was sampled with, unconstrained",
        "centre": "centre m that was sampled with, unconstrained",
        "metric_rank": "k, the number of directions that F² = I + U (Λ − I) Uᵀ stretches, on top of the scale",
        "metric_eigenvalues": "Λ, variances of the scaled parameters along each direction; nan beyond a chain's last",
        "metric_directions": "Uᵀ, the directions, of the parameters over their scales; nan beyond a chain's last",
        "agreed": "the chains agreed about the scale before the warm-up was used up",
        "n_moves": "times the chain was moved, during warm-up, from a place without mass to one of the others",
        "places": "where each window that is not hot ended (nan: left out); last where the log density was highest",
        "density_noise": "standard deviation of the log density's noise, as seen during warm-up; 0: none",
        "time_to_u_turn": "typical process time until a path turns around",
        "n_gradients": "gradients of the warm-up",
        "n_warmup_bounces": "n_bounces of the warm-up",
        "n_warmup_floored": "n_floored of the warm-up",
        "n_warmup_non_finite": "n_non_finite of the warm-up",
        "n_event_rate_gradients": "gradients spent on finding U-turns beyond the ends of paths, of the warm-up",
        "crossing_time": "mean process time between crossings of the centre, while sampling; of a coordinate after U",
        "warmup_seconds": "wall-clock time of the chain's warm-up",
        "sampling_seconds": "wall-clock time of the chain's sampling",
        "history_time": "process time; nan beyond a chain's last row",
        "history_scale": "diagonal scale S at that time; nan beyond a chain's last row",
        "history_centre": "centre m at that time; nan beyond a chain's last row",
        "history_metric_rank": "k at that time; -1 beyond a chain's last row",
        "history_smallest_eigenvalue": "the smallest of Λ and 1 at that time; nan beyond a chain's last row",
        "history_largest_eigenvalue": "the largest of Λ and 1 at that time; nan beyond a chain's last row",
        "history_n_gradients": "gradients since the chain began; -1 beyond a chain's last row",
    },
}

_RATE = "λ, momentum refreshments per process time or arc length"
_MEMORY_RATE = "1 / the momentum decorrelation time, or 1 / the mean length of trajectories with fresh momenta"

BY_PROCESS = {
    CONTINUOUS: {
        "sample_stats": {
            "energy": "H = -lp + |momentum|²/2 of the path at the draw, interpolated between the ends of the step",
            "energy_error": "change of H since the last refreshment, the largest in size since the last draw",
            "diverging": "the energy error of a path since the last draw passed the threshold",
            "n_steps": "accepted integrator steps since the last draw",
            "n_rejected": "integrator steps since the last draw that were rejected for their local error",
            "n_events": "momentum refreshments since the last draw",
            "step_size": "process time of the integrator step that is proposed next",
            "process_time": "process time since the chain began",
        },
        "time_average": {
            "position": "average over an interval of the path, unconstrained",
            "position_squared": "average of the squares over an interval of the path, unconstrained",
            "duration": "process time of the interval",
        },
        "tuning": {
            "event_rate": f"{_RATE}, that was sampled with",
            "step_size": "process time of the integrator step that is proposed next, at the end of the run",
            "n_bounces": "times the momentum was reversed where the log density is not finite, of the whole run",
            "n_non_finite": "steps cut short because the log density is not finite at their end, of the whole run",
            "n_floored": "steps accepted in spite of their local error, as the shortest allowed, of the whole run",
            "n_rejected_paths": "paths that the Metropolis test returned to their start, of the whole run",
            "history_event_rate": f"{_RATE}, at that time; nan beyond a chain's last row",
        },
    },
    DISCRETE: {
        "sample_stats": {
            "energy": "H = -lp + |momentum|²/2 at the draw",
            "energy_error": "H at the end of a trajectory, or where it was given up, less H at its start, the "
            "largest in size since the last draw; inf where it is not finite",
            "diverging": "the energy error of a trajectory since the last draw passed 1000 or is not finite",
            "n_steps": "integrator steps since the last draw, of all trajectories, with those of step-size retries",
            "n_rejected": "trajectories since the last draw that were rejected",
            "n_events": "trajectories since the last draw, each with a refreshment of the momentum",
            "step_size": "process time of the tuned integrator step, divided as in the step-size retry with the "
            "shortest steps since the last draw",
            "process_time": "process time of all trajectories since the chain began, rejected ones included",
            "acceptance_rate": "mean acceptance probability of the trajectories since the last draw",
        },
        "time_average": {
            "position": "average over the draws of the interval, unconstrained",
            "position_squared": "average of the squares over the draws of the interval, unconstrained",
            "duration": "number of draws of the interval",
        },
        "tuning": {
            "event_rate": f"{_MEMORY_RATE}, as the warm-up found it",
            "step_size": "process time of the tuned integrator step",
            "n_bounces": "times a continuous stage of the warm-up reversed the momentum where the log density is not "
            "finite",
            "n_non_finite": "trajectories that ran into a place where the log density is not finite, with steps of the "
            "warm-up's continuous stages cut short for that reason, of the whole run",
            "n_floored": "steps of the warm-up's continuous stages accepted in spite of their local error, as the "
            "shortest allowed",
            "n_rejected_paths": "paths of the warm-up's continuous stages that the Metropolis test returned to their "
            "start",
            "history_event_rate": f"{_MEMORY_RATE}, at that time; nan beyond a chain's last row",
        },
    },
}
"""By process, group and name."""


def describe_group(group: str, process: str | None) -> dict[str, str]:
    """The description of every variable of a group; of an unknown process, what holds for both."""
    return COMMON.get(group, {}) | BY_PROCESS.get(process or "", {}).get(group, {})


def is_discrete(result: xarray.DataTree) -> bool:
    """Whether a result was drawn by the discrete process.

    Raises
    ------
    ValueError
        If the result does not say by which process it was drawn.
    """
    process: Any = result.attrs.get("process")
    if process not in BY_PROCESS:
        raise ValueError(
            f"a result of grhmc has the attribute 'process', {CONTINUOUS!r} or {DISCRETE!r}; here it is {process!r}. "
            "Keep the attributes of results (result.attrs) when you make new ones of them"
        )
    return process == DISCRETE


def process_of(attrs: Mapping[Any, Any]) -> str | None:
    """The process that a result's attributes name, if they do."""
    process = attrs.get("process")
    return process if isinstance(process, str) else None
