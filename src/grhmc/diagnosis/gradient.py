"""Is the gradient that of the log density where the draws went, too? At the start it was checked; tails come later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from grhmc.density_pointer import FINE
from grhmc.diagnosis.report import NOTE, WARNING, Finding, listed
from grhmc.diagnosis.screening import all_finite, deviations
from grhmc.models.checks.gradient import error_at

if TYPE_CHECKING:
    from grhmc.models.log_density import LogDensity


def find_gradient_problems(
    model: LogDensity,
    draws: np.ndarray,
    log_density: np.ndarray,
    energy_error: np.ndarray,
    *,
    is_discrete: bool = False,
) -> list[Finding]:
    """Parameters that the density does not depend on, and a gradient that is wrong far out or where energy was lost.

    Checked at three draws: of the largest energy error, of the lowest log density, and the furthest from the mean.

    Parameters
    ----------
    model : LogDensity
    draws : ndarray, shape (chains, draws, dim)
        Unconstrained.
    log_density, energy_error : ndarray, shape (chains, draws)
    """
    if not draws.size or not all_finite(draws):
        return []
    n_draws = draws.shape[1]
    chosen = {
        int(np.argmax(np.abs(energy_error))): "the draw with the largest energy error",
        int(np.argmin(log_density)): "the draw with the lowest log density",
        _furthest(draws): "the draw furthest out",
    }
    findings = [] if (unused := _unused(model, draws[0, 0])) is None else [unused]
    for index, where in chosen.items():
        fault = _fault(model, draws[index // n_draws, index % n_draws], where, is_discrete)
        if fault is not None:
            return [fault, *findings]
    return findings


def gradient_at(model: LogDensity, point: np.ndarray) -> np.ndarray | None:
    """The gradient, or None where the model has none to give."""
    try:
        _, gradient, code = model.evaluate(point)
    except Exception:  # as below
        return None
    return gradient if code == FINE else None


def _furthest(draws: np.ndarray) -> int:
    """The draw with the largest deviation of any coordinate, in standard deviations."""
    spread, largest = deviations(draws)
    with np.errstate(divide="ignore", invalid="ignore"):
        coordinate = int(np.argmax(np.nan_to_num(largest / spread)))
    return int(np.argmax(np.abs(draws[:, :, coordinate] - draws[:, :, coordinate].mean())))


_ROUGHNESS = 0.01
# Far out a gradient of a solver, or a difference of its values, may be off by so much without harm.


def _fault(model: LogDensity, point: np.ndarray, where: str, is_discrete: bool) -> Finding | None:
    try:
        error = error_at(model, point)
    except Exception:  # the run is over: what the density does now is no longer its affair
        return None
    if error is None or not np.all(np.isfinite(error.gradient)):
        return None
    names = error.coordinates
    gradient, measured = _worst(error.gradient, error.finite_differences)
    if abs(gradient - measured) < _ROUGHNESS * max(abs(gradient), abs(measured)):
        return None
    consequence = (
        "The Metropolis test corrects for it, at the price of rejected trajectories"
        if is_discrete
        else "The splitting rejects paths for it only roughly, a Runge-Kutta-Nyström pair not at all: "
        "these draws may be biased"
    )
    message = (
        f"at {where} the gradient is not that of the log density in {listed(names)} (it says {gradient:.4g}, "
        f"finite differences {measured:.4g}), although it was right where the chains started. {consequence}. Look "
        "for a branch, a clipped value or a special case in the model that its gradient leaves out."
    )
    return Finding("wrong_gradient", NOTE if is_discrete else WARNING, message, names)


def _worst(gradient: np.ndarray, measured: np.ndarray) -> tuple[Any, Any]:
    worst = int(np.argmax(np.abs(gradient - measured)))
    return gradient[worst], measured[worst]


def _unused(model: LogDensity, point: np.ndarray) -> Finding | None:
    try:
        names = model.unused_coordinates(point)
    except Exception:  # as above
        return None
    if not names:
        return None
    message = (
        f"the log density does not depend on {listed(names)}: there the posterior is improper, and its draws wander "
        "off without bound. Give these parameters a prior, or remove them."
    )
    return Finding("unused_parameter", WARNING, message, names)
