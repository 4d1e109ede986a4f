"""Have the chains been everywhere as often as they should? Where draws and gradients give different spreads, not.

Chains that are long in one part of a curved posterior and seldom in its tails agree with each other, and the standard
errors that are computed from them are too small for the same reason that the draws are wrong. Gradients know better
where polynomials follow the posterior's shape (`grhmc.diagnosis.stein`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grhmc.diagnosis.gradient import gradient_at
from grhmc.diagnosis.report import WARNING, Finding, listed
from grhmc.diagnosis.screening import all_finite, blocks_of_coordinates
from grhmc.diagnosis.stein import GradientMoments, moments_by_gradients

if TYPE_CHECKING:
    from grhmc.models.log_density import LogDensity

SD_LIMIT = 0.15
"""Difference of the logarithms of two standard deviations, by draws and by gradients."""

MEAN_LIMIT = 0.25
"""Standard deviations between the two means."""

ERRORS, EXPLAINED = 5.0, 0.9
"""A difference counts if it is so many standard errors, and if control variates explain so much of the integrand."""

SUSPICIOUS_VARIANCE_ERROR = 0.08
"""Relative standard error of a variance, by means over tenths of chains. It is 0.04 where draws are nearly independent;
no gradients are spent where it is smaller than this for all coordinates."""

GRADIENT_SHARE = 0.03
"""Of the run's gradients: what this may cost, but for the fewest draws that say anything."""

FEWEST_JUDGED = 1000
"""Draws of all chains together: the spread of fewer may be off by chance, which their effective sample size tells."""

_FEWEST_DRAWS, _MOST_DRAWS = 400, 800
_N_PARTS = 10
_MOST_COORDINATES = 4
_ROUNDING = 1e-12


def find_uneven_exploration(
    model: LogDensity, draws: np.ndarray, names: np.ndarray, n_gradients: int = 50_000
) -> list[Finding]:
    """Coordinates whose mean or standard deviation is another one by the gradients at the draws.

    The coordinate whose variance is known worst is looked at, together with the three that depend on it most.

    Parameters
    ----------
    model : LogDensity
        Smooth on all of its unconstrained space: an edge that cuts the posterior off breaks the identity.
    draws : ndarray, shape (chains, draws, dim)
        Unconstrained.
    names : ndarray of str, shape (dim,)
    n_gradients : int
        Of the whole run.
    """
    n_chains, n_draws, _ = draws.shape
    n_wanted = int(np.clip(GRADIENT_SHARE * n_gradients, _FEWEST_DRAWS, _MOST_DRAWS))
    if n_chains * n_draws < max(n_wanted, FEWEST_JUDGED) or not all_finite(draws):
        return []
    errors = variance_errors(draws)
    if not errors.max(initial=0.0) > SUSPICIOUS_VARIANCE_ERROR:
        return []
    coordinates = _dependent_coordinates(draws, int(np.argmax(errors)))
    coordinates = coordinates[[bool(np.ptp(draws[:, :, index]) > 0.0) for index in coordinates]]
    chosen = draws[:, :, coordinates].reshape(-1, len(coordinates))
    mean, sd = chosen.mean(axis=0), chosen.std(axis=0)
    rows = np.linspace(0, n_chains * n_draws - 1, n_wanted).round().astype(int)
    gradients = [gradient_at(model, np.ascontiguousarray(draws[row // n_draws, row % n_draws])) for row in rows]
    if any(gradient is None or not np.all(np.isfinite(gradient)) for gradient in gradients):
        return []
    scores = np.array([np.asarray(gradient)[coordinates] for gradient in gradients]) * sd
    correlation = np.atleast_2d(np.corrcoef(chosen, rowvar=False))
    moments = moments_by_gradients((chosen[rows] - mean) / sd, scores, correlation)
    return [] if moments is None else _findings(moments, [str(names[index]) for index in coordinates])


def variance_errors(draws: np.ndarray) -> np.ndarray:
    """Relative standard error of each coordinate's variance, by its means over tenths of chains; shape (dim,)."""
    n_chains, n_draws, dim = draws.shape
    size = n_draws // _N_PARTS
    if size == 0:
        return np.zeros(dim)
    errors = np.zeros(dim)
    for columns, block in blocks_of_coordinates(draws[:, : size * _N_PARTS]):
        squares = (block - block.mean(axis=(0, 1))) ** 2
        parts = squares.reshape(n_chains * _N_PARTS, size, -1).mean(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = parts.std(axis=0, ddof=1) / np.sqrt(len(parts)) / parts.mean(axis=0)
        errors[columns] = np.nan_to_num(relative)
    return errors


def _dependent_coordinates(draws: np.ndarray, worst: int) -> np.ndarray:
    """`worst`, and the coordinates that it depends on most.

    The next is the one that the worst, or its square, is best predicted from by a parabola; then what that leaves.
    """
    coordinates = [worst]
    column = _standardized(draws[:, :, worst : worst + 1])[:, 0]
    square = column**2 - 1.0
    targets = np.stack([column, square / max(float(square.std()), _ROUNDING)])
    while len(coordinates) < min(_MOST_COORDINATES, draws.shape[2]):
        predicted = _predicted(draws, targets)
        predicted[:, coordinates] = -1.0
        which, coordinate = np.unravel_index(int(np.argmax(predicted)), predicted.shape)
        coordinates.append(int(coordinate))
        basis = _parabola(draws[:, :, coordinates[-1:]])[..., 0]
        targets = targets[which : which + 1]
        targets = targets - (targets @ basis.T) @ basis
    return np.array(coordinates)


def _predicted(draws: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Of each target, the sum of squares that a parabola in each coordinate predicts; shape (targets, dim)."""
    predicted = np.zeros((len(targets), draws.shape[2]))
    for columns, block in blocks_of_coordinates(draws):
        for values in _parabola(block):
            predicted[:, columns] += (targets @ values) ** 2
    return predicted


def _parabola(block: np.ndarray) -> np.ndarray:
    """Columns and their squares, centred, orthogonal to each other and of unit length; shape (2, n, entries)."""
    columns = _standardized(block)
    squares = columns**2
    squares = squares - squares.mean(axis=0)
    squares -= (squares * columns).mean(axis=0) * columns
    lengths = np.sqrt((squares**2).sum(axis=0))
    return np.stack([columns / np.sqrt(len(columns)), squares / np.where(lengths > 0.0, lengths, np.inf)])


def _standardized(block: np.ndarray) -> np.ndarray:
    """Columns of shape (n, entries) with mean 0 and standard deviation 1; 0 where nothing varies."""
    columns = block.reshape(-1, block.shape[2])
    columns = columns - columns.mean(axis=0)
    spread = columns.std(axis=0)
    return columns / np.where(spread > 0.0, spread, np.inf)


def _findings(moments: GradientMoments, names: list[str]) -> list[Finding]:
    sd_is_off = (np.abs(moments.log_sd) > np.maximum(SD_LIMIT, ERRORS * moments.log_sd_error)) & (
        moments.square_explained > EXPLAINED
    )
    mean_is_off = (np.abs(moments.mean) > np.maximum(MEAN_LIMIT, ERRORS * moments.mean_error)) & (
        moments.mean_explained > EXPLAINED
    )
    is_off = sd_is_off | mean_is_off
    if not is_off.any():
        return []
    worst = int(np.argmax(np.where(is_off, np.maximum(np.abs(moments.log_sd), np.abs(moments.mean)), -1.0)))
    concerned = (names[worst], *(name for name, off in zip(names, is_off, strict=True) if off and name != names[worst]))
    others = f" (also those of {listed(list(concerned[1:]))})" if len(concerned) > 1 else ""
    if sd_is_off[worst]:
        ratio, value, limit = float(np.exp(moments.log_sd[worst])), float(abs(moments.log_sd[worst])), SD_LIMIT
        what = f"is {ratio:.2f} times that of the draws, to within {moments.log_sd_error[worst]:.0%}"
        what = f"the standard deviation of {names[worst]}{others} {what}"
    else:
        value, limit = float(abs(moments.mean[worst])), MEAN_LIMIT
        what = f"the mean of {names[worst]}{others} is {moments.mean[worst]:+.2f} standard deviations from the draws'"
    message = (
        f"by the gradients of the log density at the draws {what}: the chains have been too seldom in some parts of "
        "the posterior, such as the ends of a curved ridge, and too often in others. Take many more draws; or "
        "reparameterize so that the ridge is straight."
    )
    return [Finding("uneven_exploration", WARNING, message, concerned, (), value, limit)]
