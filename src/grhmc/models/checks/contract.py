"""Whether a model keeps the contract of `LogDensity`: every promise that can be tested, one `Check` each."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from grhmc.density_pointer import EXCEPTION, FINE
from grhmc.models.checks.gradient import REPEATABLE, examine_gradient, find_unused_coordinates

if TYPE_CHECKING:
    from grhmc.models.protocol import Model

MAX_TRIES = 100
"""Draws of a starting point before none counts as finite; as many as the sampler makes."""

_ROUNDS_PER_THREAD = 20
_FAR_AWAY = (1e3, 1e10, 1e300)
_SHOWN_WIDTH = 18


class Check(NamedTuple):
    """One promise of `LogDensity`, and whether the model keeps it.

    Attributes
    ----------
    name : str
        Of the promise: "starting point", "gradient", "repeatable", "threads", "variables", "far away", "every
        coordinate", "pickling".
    status : {"ok", "note", "failed"}
        A note is no breach of the contract, but worth knowing.
    detail : str
    error : Exception or None
        What was raised, with its traceback.
    """

    name: str
    status: Literal["ok", "note", "failed"]
    detail: str
    error: BaseException | None = None


class ContractError(ValueError):
    """A model does not keep the contract of `LogDensity`."""


@dataclass(frozen=True)
class ContractReport:
    """What `LogDensity.check` found; prints as a table.

    Attributes
    ----------
    model : str
    checks : tuple of Check
    """

    model: str
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether no test failed."""
        return not self.failures

    @property
    def failures(self) -> tuple[Check, ...]:
        """Those that failed."""
        return tuple(check for check in self.checks if check.status == "failed")

    def raise_if_failed(self) -> None:
        """For a test suite.

        Raises
        ------
        ContractError
            With the whole report; its cause is the first exception that was caught.
        """
        if self.failures:
            raise ContractError(str(self)) from next((f.error for f in self.failures if f.error is not None), None)

    def __str__(self) -> str:
        lines = [self.model]
        for check in self.checks:
            first, *rest = check.detail.splitlines() or [""]
            lines.append(f"  {check.status:<7} {check.name:<{_SHOWN_WIDTH}} {first}")
            lines += [f"  {'':<7} {'':<{_SHOWN_WIDTH}} {line}" for line in rest]
        counts = [sum(f.status == status for f in self.checks) for status in ("ok", "note", "failed")]
        return "\n".join([*lines, "{} ok, {} notes, {} failed".format(*counts)])


def check_contract(
    model: Model, points: np.ndarray | None, *, n_points: int, n_threads: int, tolerance: float, seed: int
) -> ContractReport:
    """Run all tests; see `LogDensity.check`."""
    checks: list[Check] = []
    if points is None:
        try:
            check, points = _find_points(model, n_points, seed)
        except Exception as error:
            check, points = _failure("starting point", error), np.empty((0, model.dim))
        checks.append(check)
    if len(points):
        tests: tuple[tuple[str, Callable[[], Check]], ...] = (
            ("gradient", lambda: _test_gradient(model, points, tolerance, seed)),
            ("repeatable", lambda: _test_repeatable(model, points)),
            ("threads", lambda: _test_threads(model, points, n_threads)),
            ("variables", lambda: _test_variables(model, points)),
            ("far away", lambda: _test_far_away(model, points)),
            ("every coordinate", lambda: _test_unused(model, points)),
            ("pickling", lambda: _test_pickling(model, points)),
        )
        checks += [_run(name, test) for name, test in tests]
    return ContractReport(repr(model), tuple(checks))


def _run(name: str, test: Callable[[], Check]) -> Check:
    try:
        return test()
    except Exception as error:
        return _failure(name, error)


def _failure(name: str, error: Exception) -> Check:
    return Check(name, "failed", f"{type(error).__name__}: {error}", error)


def _find_points(model: Model, n_points: int, seed: int) -> tuple[Check, np.ndarray]:
    """Starting points where log density and gradient are finite, as many as were found."""
    name = "starting point"
    points: list[np.ndarray] = []
    n_tries = 0
    rng, again = np.random.default_rng(seed), np.random.default_rng(seed)
    while len(points) < n_points and n_tries < MAX_TRIES:
        n_tries += 1
        own, same = model.initial_point(rng), model.initial_point(again)
        point = rng.uniform(-2, 2, model.dim) if own is None else np.asarray(own)
        if point.shape != (model.dim,) or point.dtype.kind not in "iuf":
            problem = f"initial_point must give real numbers of shape ({model.dim},), got {own!r}"
            return Check(name, "failed", problem), np.empty((0, model.dim))
        if own is not None and (same is None or not np.array_equal(own, same, equal_nan=True)):
            problem = "initial_point gives two points for one state of rng; it must draw from rng only"
            return Check(name, "failed", problem), np.empty((0, model.dim))
        log_density, gradient, code = _evaluate(model, point)
        if code == FINE and np.isfinite(log_density) and np.all(np.isfinite(gradient)):
            points.append(np.asarray(point, dtype=np.float64))
    if points:
        return Check(name, "ok", f"finite at {len(points)} of {n_tries}"), np.array(points)
    message = model.take_message()
    problem = (
        f"log density and gradient are not both finite at any of {n_tries} starting points"
        f"{f' ({message})' if message else ''}; override initial_point, or pass points"
    )
    return Check(name, "failed", problem), np.empty((0, model.dim))


def _evaluate(model: Model, q: np.ndarray) -> tuple[float, np.ndarray, int]:
    """Evaluate; raise what the density raised."""
    log_density, gradient, code = model.evaluate(q)
    if code == EXCEPTION:
        raise model.take_exception() or RuntimeError("the log density reports code 3 but has no exception to show")
    return log_density, gradient, code


def _values(model: Model, points: np.ndarray) -> np.ndarray:
    """Log density and gradient at each point, shape (n, 1 + dim)."""
    rows = []
    for q in points:
        log_density, gradient, _ = _evaluate(model, q)
        rows.append(np.append(log_density, gradient))
    return np.array(rows)


def _largest_difference(values: np.ndarray, expected: np.ndarray) -> float:
    """Relative to each point's log density, and to its largest slope."""
    size = np.maximum(1e-300, np.abs(expected[:, :1]))
    largest_slope = np.maximum(1e-300, np.max(np.abs(expected[:, 1:]), axis=1, keepdims=True))
    size = np.hstack([size, np.broadcast_to(largest_slope, expected[:, 1:].shape)])
    difference = np.abs(values - expected)
    difference[(values == expected) | (np.isnan(values) & np.isnan(expected))] = 0
    return float(np.max(difference / size))


def _agreement(name: str, what: str, difference: float, remedy: str) -> Check:
    if difference == 0:
        return Check(name, "ok", f"{what} agree bit for bit")
    if difference <= REPEATABLE:
        return Check(name, "ok", f"{what} agree to {difference:.0e}")
    return Check(name, "failed", f"{what} differ by {difference:.0e} of their size; {remedy}")


def _test_gradient(model: Model, points: np.ndarray, tolerance: float, seed: int) -> Check:
    doubts = [examine_gradient(model, q, tolerance=tolerance, seed=seed) for q in points]
    if any(doubts):
        return Check("gradient", "note", next(filter(None, doubts)))
    return Check("gradient", "ok", f"agrees with finite differences at {len(points)} points")


def _test_repeatable(model: Model, points: np.ndarray) -> Check:
    first = _values(model, points)
    backwards = _values(model, points[::-1])[::-1]
    return _agreement(
        "repeatable",
        "evaluations in another order",
        _largest_difference(backwards, first),
        "the density must depend on q only: no random numbers, nothing remembered from call to call",
    )


def _test_threads(model: Model, points: np.ndarray, n_threads: int) -> Check:
    expected = _values(model, points)
    models = [model.for_thread() for _ in range(n_threads)]
    differences, errors = [0.0] * n_threads, []
    barrier = threading.Barrier(n_threads)

    def evaluate(index: int) -> None:
        try:
            order = np.random.default_rng(index).permutation(len(points))
            barrier.wait()
            for _ in range(_ROUNDS_PER_THREAD):
                values = _values(models[index], points[order])
                differences[index] = max(differences[index], _largest_difference(values, expected[order]))
        except Exception as error:
            errors.append(error)
            barrier.abort()

    threads = [threading.Thread(target=evaluate, args=(index,)) for index in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise next((e for e in errors if not isinstance(e, threading.BrokenBarrierError)), errors[0])
    return _agreement(
        "threads",
        f"evaluations in {n_threads} threads at once and one after the other",
        max(differences),
        "override for_thread() to give each thread a model of its own",
    )


def _test_variables(model: Model, points: np.ndarray) -> Check:
    draws = points.copy()
    values = model.constrain(draws)
    if not np.array_equal(draws, points):
        return Check("variables", "failed", "constrain() changes its argument; it must only read it")
    names = [variable.name for variable in model.variables]
    if list(values) != names:
        return Check("variables", "failed", f"constrain() gives {list(values)}, but variables are {names}")
    alone = [model.constrain(draw[np.newaxis]) for draw in points]
    none = model.constrain(points[:0])
    not_finite = []
    for name, shape, _ in model.variables:
        value = np.asarray(values[name])
        if value.shape != (len(points), *shape) or np.shape(none[name]) != (0, *shape):
            problem = (
                f"constrain() gives {name!r} shape {value.shape} for {len(points)} draws and {np.shape(none[name])} "
                f"for none; it must be the number of draws, then {shape}"
            )
            return Check("variables", "failed", problem)
        if value.dtype.kind not in "biuf":
            return Check("variables", "failed", f"constrain() gives {name!r} dtype {value.dtype}; it must be real")
        rows = np.concatenate([np.asarray(row[name]) for row in alone])
        if not np.allclose(rows, value, rtol=1e-10, atol=1e-12, equal_nan=True):
            return Check("variables", "failed", f"constrain() of one draw gives another {name!r} than of many")
        if not np.all(np.isfinite(value)):
            not_finite.append(name)
    if not_finite:
        return Check("variables", "note", f"not finite at points of the support: {', '.join(not_finite)}")
    return Check("variables", "ok", f"{len(names)}, with the shapes that were promised, for any number of draws")


def _test_far_away(model: Model, points: np.ndarray) -> Check:
    direction = np.where(np.arange(model.dim) % 2 == 0, 1.0, -1.0)
    for scale in (sign * size for size in _FAR_AWAY for sign in (1, -1)):
        try:
            with np.errstate(all="ignore"):  # overflow is to be expected there
                _evaluate(model, points[0] + scale * direction)
        except Exception as error:
            problem = f"raises {type(error).__name__} at {scale:.0e}, which would end the sampling; return -inf instead"
            return Check("far away", "note", problem, error)
    _evaluate(model, points[0])  # and back
    return Check("far away", "ok", f"no exception up to {_FAR_AWAY[-1]:.0e}")


def _test_unused(model: Model, points: np.ndarray) -> Check:
    unused = set.intersection(*(set(find_unused_coordinates(model, q)) for q in points))
    if unused:
        names = ", ".join(model.coordinate_names[j] for j in sorted(unused)[:8])
        return Check("every coordinate", "note", f"the log density does not depend on {names}: it is improper")
    return Check("every coordinate", "ok", "the log density depends on all of them")


def _test_pickling(model: Model, points: np.ndarray) -> Check:
    try:
        pickled = pickle.dumps(model)
    except Exception as error:
        return Check("pickling", "note", f"not possible: {error}", error)
    copy = pickle.loads(pickled)
    if copy.variables != model.variables or copy.coordinate_names != model.coordinate_names:
        return Check("pickling", "failed", "the rebuilt model has other variables or coordinates")
    return _agreement(
        "pickling",
        "the model and the one rebuilt from its pickle",
        _largest_difference(_values(copy, points), _values(model, points)),
        "rebuild must make an equal model",
    )
