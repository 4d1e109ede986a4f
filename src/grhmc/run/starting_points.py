"""Where chains start: the user's point, the model's own, or uniform(-2, 2), until the density is finite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from grhmc.argument_checks import as_real_array, as_vector
from grhmc.models.checks.slope_probe import raise_stored
from grhmc.models.log_density import LogDensity
from grhmc.outcomes import InitializationError
from grhmc.run.given_values import GivenValues, parse_values
from grhmc.run.start_search import BUDGET, LARGEST, search_start

Init = Sequence[float] | np.ndarray | Mapping[str, Any] | Sequence[Mapping[str, Any] | None] | None
"""A user's argument: see `parse_init`."""

MAX_TRIES = 100
_HALF_WIDTH = 2.0

_TRIES_TO_PLACE = 10
# Random points that are tried with a user's values before these are taken to be outside the support: the values may be
# bounds of what was drawn.

LARGEST_LOG_DENSITY = 1e10
"""In size, of a random start that is taken at once: of larger ones fewer than six digits are left after the point."""


def parse_init(init: Init, model: LogDensity, chains: int) -> list[np.ndarray | GivenValues | None]:
    """A starting point per chain, or what is known of it, from a user's argument.

    Parameters
    ----------
    init : None, array of shape (dim,) or (chains, dim), mapping, or sequence of mappings
        Arrays are unconstrained. A mapping gives values of variables by name; a sequence one mapping, or None, per
        chain.

    Raises
    ------
    TypeError, ValueError
        If it is something else; if a name is unknown, or a value has the wrong shape.
    """
    if init is None:
        return [None] * chains
    if isinstance(init, Mapping):
        return [parse_values("init", init, model)] * chains
    if isinstance(init, Sequence) and any(isinstance(entry, Mapping) for entry in init):
        return _one_per_chain(init, model, chains)
    array = as_real_array("init", init, f"an array of {model.dim} real numbers, or one such row per chain")
    if array.ndim == 2:
        if len(array) != chains:
            raise ValueError(
                f"init has {len(array)} rows for {chains} chains; give shape ({model.dim},) for one common start "
                f"or ({chains}, {model.dim}) for one per chain"
            )
        return [as_vector(f"init[{chain}]", row, model.dim) for chain, row in enumerate(array)]
    return [as_vector("init", array, model.dim)] * chains


def _one_per_chain(init: Sequence[Any], model: LogDensity, chains: int) -> list[np.ndarray | GivenValues | None]:
    if len(init) != chains:
        raise ValueError(f"init has {len(init)} mappings for {chains} chains; give one for all, or one per chain")
    wrong = [entry for entry in init if not isinstance(entry, Mapping | None)]
    if wrong:
        raise TypeError(
            f"init must be mappings of names to values, or None, one per chain; got {wrong[0]!r} among them"
        )
    return [None if entry is None else parse_values(f"init[{k}]", entry, model) for k, entry in enumerate(init)]


def find_start(
    model: LogDensity,
    rng: np.random.Generator,
    init: np.ndarray | GivenValues | None,
    partner: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """A point where log density and gradient are finite, and the gradient there.

    A random start is opposite to that of `partner`, another chain, if it can be: chains of a posterior with modes on
    both sides of 0 then start on both sides. Four independent ones would all be on one side in one run of eight, and
    agree on half a posterior.

    A random point whose log density is larger in size than `LARGEST_LOG_DENSITY` is taken only if no better one is
    found: in an ARMA model whose errors grow from observation to observation it is -1e100, and no step leads out.

    Raises
    ------
    ValueError
        If a value that the user gives is outside the support.
    InitializationError
        If the user's point is not finite, or none of `MAX_TRIES` random ones, nor of those of `search_start`, is.
    Exception
        Whatever the density raised.
    """
    if isinstance(init, GivenValues) and init.is_complete:
        init = init.place(np.zeros(model.dim))
    if isinstance(init, np.ndarray):
        _, gradient, problem = _Tries(model).try_point(init)
        if gradient is None:
            raise InitializationError(
                f"at init, {problem}. Give a point inside the model's support. {_describe(model, init)}"
            )
        return init.copy(), gradient
    tries = _Tries(model)
    best: tuple[float, np.ndarray, np.ndarray] | None = None
    for number in range(MAX_TRIES):
        own = model.initial_point(rng)
        point = rng.uniform(-_HALF_WIDTH, _HALF_WIDTH, model.dim) if own is None else own
        if own is None and partner is not None and number == 0:
            point = -partner
        if init is not None:
            placed = init.place_if_possible(point, is_last=number + 1 == _TRIES_TO_PLACE and tries.n == 0)
            if placed is None:
                continue
            point = placed
        log_density, gradient, _ = tries.try_point(point)
        if gradient is None:
            continue
        if abs(log_density) <= LARGEST_LOG_DENSITY:
            return point, gradient
        if best is None or log_density > best[0]:
            best = log_density, point, gradient
    if best is not None:
        return best[1], best[2]
    usual = tries.describe()
    if init is not None:
        raise InitializationError(
            f"none of {MAX_TRIES} starting points with the given {', '.join(init.values)} has a finite log density and "
            f"gradient: {usual}. Give other values, or more of them, as init"
        )
    try:
        found = search_start(lambda point: tries.try_point(point)[1], rng, model.dim)
    except Exception as error:
        error.add_note(f"This was while a start was looked for farther away, up to {LARGEST:g}, because {usual}.")
        raise
    if found is not None:
        return found
    raise InitializationError(
        f"none of {MAX_TRIES} random starting points has a finite log density and gradient, nor has one of {BUDGET} "
        f"more at sizes up to {LARGEST:g}, in random orthants: {tries.describe()}. Give a point inside the model's "
        "support as init"
    )


class _Tries:
    """Tries points, and counts what is wrong at them."""

    def __init__(self, model: LogDensity) -> None:
        self.model = model
        self.n = 0
        self.n_infinite = self.n_nan = self.n_other = self.n_gradient = 0
        self.bad_coordinates: set[int] = set()
        self.last, self.last_problem = np.zeros(model.dim), ""

    def try_point(self, point: np.ndarray) -> tuple[float, np.ndarray | None, str]:
        """The log density and the gradient at a point, or what is wrong there in words."""
        log_density, gradient, problem, bad = _evaluate(self.model, point)
        message = self.model.take_message()
        self.n += 1
        if gradient is None:
            problem = f"{problem} ({message})" if message else problem
            self.last, self.last_problem = point, problem
            self.n_infinite += bool(log_density == -np.inf)
            self.n_nan += bool(np.isnan(log_density))
            self.n_gradient += len(bad) > 0
            self.n_other += bool(not np.isnan(log_density) and log_density != -np.inf and len(bad) == 0)
            self.bad_coordinates.update(int(j) for j in bad)
        return log_density, gradient, problem

    def describe(self) -> str:
        """How often what was wrong, and what was at the last point."""
        counts = [
            (self.n_infinite, "the log density is -inf at", ""),
            (self.n_nan, "the log density is NaN at", ""),
            (self.n_gradient, "the gradient is not finite at", f" (in {self._names()})"),
            (self.n_other, "the log density is +inf or has an error code at", ""),
        ]
        said = ", ".join(f"{what} {count}{where}" for count, what, where in counts if count)
        return f"{said}; at the last one, {self.last_problem}. {_describe(self.model, self.last)}"

    def _names(self) -> str:
        names = [self.model.coordinate_names[j] for j in sorted(self.bad_coordinates)]
        return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")


def _evaluate(model: LogDensity, point: np.ndarray) -> tuple[float, np.ndarray | None, str, np.ndarray]:
    nowhere = np.zeros(0, dtype=np.int64)
    log_density, gradient, code = model.evaluate(point)
    raise_stored(model, code)
    if not np.isfinite(log_density):
        return log_density, None, f"the log density is {log_density}", nowhere
    bad = np.flatnonzero(~np.isfinite(gradient))
    if len(bad):
        names = ", ".join(model.coordinate_names[j] for j in bad[:5])
        return log_density, None, f"the gradient is not finite in {names}" + (", ..." if len(bad) > 5 else ""), bad
    if code != 0:
        return log_density, None, f"the log density reports code {code}", nowhere
    return log_density, gradient, "", nowhere


def _describe(model: LogDensity, point: np.ndarray) -> str:
    shown = ", ".join(
        f"{name} = {value:.4g}" for name, value in list(zip(model.coordinate_names, point, strict=True))[:8]
    )
    return f"The point: {shown}" + (", ..." if model.dim > 8 else "")
