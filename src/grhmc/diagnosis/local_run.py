"""A short chain from a given place, which tells whether chains stay there and how wide it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grhmc.density_pointer import FINE

if TYPE_CHECKING:
    from grhmc.models.log_density import LogDensity

_SEED = 20240229
# The same look at the same run gives the same answer.
_FIRST_STEP, _MOST_HALVINGS = 0.5, 20
_LENGTH, _MOST_STEPS = 3.0, 20
# Most process time of a trajectory, and most steps: a narrow place is wide in its own steps. The length is random: one
# of half a period would keep a chain at its distance from the centre.
_LARGEST_ERROR = 2.0
# Of the energy, on a trajectory by steps that are short enough.


class LocalRun(NamedTuple):
    """A chain's states after each trajectory, its start not among them; in the units of the parameters."""

    positions: np.ndarray
    log_density: np.ndarray
    gradients: np.ndarray


class _State(NamedTuple):
    position: np.ndarray
    log_density: float
    gradient: np.ndarray


def run_from(model: LogDensity, start: np.ndarray, scale: np.ndarray, most_gradients: int) -> LocalRun | None:
    """Hamiltonian Monte Carlo from `start` by leapfrog steps in units of `scale`, halved until they are short enough.

    Returns None if there is no log density at the start, or not so much as one trajectory.
    """
    rng = np.random.default_rng(_SEED)
    state = _evaluate(model, start)
    if state is None:
        return None
    states, step, n_halvings, n_left = [], _FIRST_STEP, 0, most_gradients - 1
    while n_left > 0:
        n_steps = min(int(rng.integers(1, min(_MOST_STEPS, round(_LENGTH / step)) + 1)), n_left)
        end, error, n_used = _trajectory(model, state, scale, step, n_steps, rng)
        n_left -= n_used
        if error > _LARGEST_ERROR and n_halvings < _MOST_HALVINGS:
            step, n_halvings = 0.5 * step, n_halvings + 1
            continue
        if end is not None and np.log(rng.random()) < -error:
            state = end
        states.append(state)
    if not states:
        return None
    return LocalRun(*(np.array(values) for values in zip(*states, strict=True)))


def value_at(model: LogDensity, point: np.ndarray) -> float:
    """The log density, or -inf where it cannot be had."""
    state = _evaluate(model, point)
    return -np.inf if state is None else state.log_density


def _trajectory(
    model: LogDensity, start: _State, scale: np.ndarray, step: float, n_steps: int, rng: np.random.Generator
) -> tuple[_State | None, float, int]:
    """The end of a trajectory from a fresh momentum, its energy error, and the gradients it took."""
    momentum = rng.standard_normal(len(scale))
    energy = 0.5 * float(momentum @ momentum) - start.log_density
    state = start
    for number in range(n_steps):
        momentum = momentum + 0.5 * step * scale * state.gradient
        end = _evaluate(model, state.position + step * scale * momentum)
        if end is None:
            return None, np.inf, number + 1
        momentum, state = momentum + 0.5 * step * scale * end.gradient, end
    with np.errstate(over="ignore", invalid="ignore"):
        error = 0.5 * float(momentum @ momentum) - state.log_density - energy
    return (state, error, n_steps) if np.isfinite(error) else (None, np.inf, n_steps)


def _evaluate(model: LogDensity, point: np.ndarray) -> _State | None:
    """None where log density or gradient cannot be had."""
    point = np.ascontiguousarray(point)
    if not np.all(np.isfinite(point)):
        return None
    try:
        value, gradient, code = model.evaluate(point)
    except Exception:  # the run is over: what the density does now is no longer its affair
        return None
    if code != FINE:
        model.take_exception()
        return None
    return _State(point, float(value), gradient) if np.isfinite(value) and np.all(np.isfinite(gradient)) else None
