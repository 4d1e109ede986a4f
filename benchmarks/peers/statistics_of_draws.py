"""One judge for all samplers: effective sample sizes by ArviZ, errors in posterior sds and in standard errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from arviz_stats.base import array_stats
from targets import Target

TAIL = (0.05, 0.95)
MEASURES = ("bulk", "tail", "q2")


class Judgement(NamedTuple):
    """The worst over a target's parameters; a field's `_of` names the parameter.

    Attributes
    ----------
    ess_bulk, ess_tail, ess_q2 : float
        Effective sample sizes; q2: bulk of (x - mean)².
    r_hat : float
        The largest.
    mean_error : float
        |mean - truth| in posterior sds, and `mean_z` in standard errors (of the run and the truth together).
    sd_error : float
        |sd / truth - 1|, and `sd_z` in standard errors.
    """

    ess_bulk: float
    ess_bulk_of: str
    ess_tail: float
    ess_tail_of: str
    ess_q2: float
    ess_q2_of: str
    r_hat: float
    mean_error: float
    mean_error_of: str
    mean_z: float
    mean_z_of: str
    sd_error: float
    sd_error_of: str
    sd_z: float
    sd_z_of: str


def judge(target: Target, draws: np.ndarray) -> Judgement:
    """Judge unconstrained draws of shape (chains, n, dim)."""
    return judge_parameters(target, target.select(draws))


def judge_parameters(target: Target, values: np.ndarray) -> Judgement:
    """Judge draws of the target's parameters, shape (chains, n, len(parameters))."""
    if not np.all(np.isfinite(values)):
        raise ValueError(f"{target.name}: some draws are not finite")
    truth = target.truth
    mean, sd = values.mean(axis=(0, 1)), values.std(axis=(0, 1))
    squares = (values - mean) ** 2
    bulk, tail, q2 = _sizes(values)
    mean_error = sd / np.sqrt(_ess(values, "mean"))
    with np.errstate(divide="ignore", invalid="ignore"):
        sd_error = squares.std(axis=(0, 1)) / np.sqrt(_ess(squares, "mean")) / (2 * sd)  # delta method
        errors = {
            "mean_error": np.abs(mean - truth.mean) / truth.sd,
            "mean_z": np.abs(mean - truth.mean) / np.hypot(mean_error, truth.mean_error),
            "sd_error": np.abs(sd / truth.sd - 1),
            "sd_z": np.abs(sd - truth.sd) / np.hypot(sd_error, truth.sd_error),
        }
    found: dict[str, float | str] = {"r_hat": float(np.max(_r_hat(values)))}
    for name, sizes in (("ess_bulk", bulk), ("ess_tail", tail), ("ess_q2", q2)):
        _worst(found, name, sizes, int(np.argmin(sizes)), target)
    for name, error in errors.items():
        known = np.where(np.isfinite(error), error, -1.0)
        _worst(found, name, error, int(np.argmax(known)), target)
    return Judgement(**found)  # pyright: ignore[reportArgumentType]


def effective_sizes(values: np.ndarray) -> np.ndarray:
    """Bulk, tail and q² effective sample sizes of draws (chains, n, parameters): shape (3, parameters).

    0 where they are not defined, as of a parameter that never moved.
    """
    return np.nan_to_num(np.array(_sizes(values)))


def _sizes(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    squares = (values - values.mean(axis=(0, 1))) ** 2
    return _ess(values, "bulk"), _ess(values, "tail"), _ess(squares, "bulk")


def _worst(found: dict[str, float | str], name: str, values: np.ndarray, index: int, target: Target) -> None:
    found[name] = float(values[index])
    found[f"{name}_of"] = target.parameters[index]


def _ess(values: np.ndarray, method: str) -> np.ndarray:
    probability = TAIL if method == "tail" else None
    columns = np.ascontiguousarray(np.moveaxis(values, 2, 0))
    return np.array([float(array_stats.ess(column, method=method, prob=probability)) for column in columns])


def _r_hat(values: np.ndarray) -> np.ndarray:
    return np.array([float(array_stats.rhat(column)) for column in np.ascontiguousarray(np.moveaxis(values, 2, 0))])
