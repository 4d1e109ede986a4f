"""Models from PyMC: compiled by PyTensor through Numba, evaluated without Python in between."""

from __future__ import annotations

import functools
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from grhmc._terminal import print_if_possible
from grhmc.models.from_numba import NumbaDensity
from grhmc.models.log_density import LogDensity
from grhmc.models.optional_packages import import_for
from grhmc.models.outputs import Outputs, describe
from grhmc.models.pymc.data import axis_names, constant_data, data_dims, observed_data
from grhmc.models.pymc.graph import PymcGraph, compile_model, read_shared
from grhmc.models.pymc.on_request import compile_log_likelihood, compile_unconstrain
from grhmc.models.variables import Variable, as_draws, name_coordinates

_REPEATABLE = "the same seed gives the same draws"
_REPEATABLE_BUT_FOR_ROUNDING = (
    "the same seed gives the same draws, but for the run that fills PyTensor's disk cache, which may round otherwise "
    "than later ones; PYTENSOR_FLAGS=numba__cache=False gives the same draws always"
)


class PymcDensity(NumbaDensity):
    """A PyMC model as a log density; made by `from_pymc`."""

    def __init__(self, model: Any, graph: PymcGraph, data: tuple[np.ndarray, ...]) -> None:
        self._model = model
        self._graph = graph
        self._compiled_starts: dict[tuple[str, ...], Callable[..., np.ndarray]] = {}
        start = _ravel(graph, graph.initial_point(0))
        examples = _examples(graph, start, data)
        dims = {name: axis_names(model, name) for name in graph.output_names}
        observed, constant = observed_data(model), constant_data(model)
        dims_of_data = data_dims(model, observed | constant)
        used = {axis for axes in [*dims.values(), *dims_of_data.values()] for axis in axes or ()}
        super().__init__(
            graph.log_density,
            graph.dim,
            [
                Variable(name, example.shape[1:], dims[name])
                for name, example in zip(graph.output_names, examples, strict=True)
            ],
            data,
            rebuild=None,
            coordinate_names=name_coordinates(
                [Variable(v.name, shape) for v, shape in zip(graph.values, graph.value_shapes, strict=True)]
            ),
            coords=_coords(model, used),
            observed_data=observed,
            constant_data=constant,
            data_dims=dims_of_data,
            exceptions_are_fatal=False,
        )

    def initial_point(self, rng: np.random.Generator) -> np.ndarray:
        """PyMC's initial point, jittered by uniform(-1, 1) as `pymc.sample` does."""
        return _ravel(self._graph, self._graph.initial_point(int(rng.integers(2**31))))

    def constrain(self, draws: np.ndarray) -> dict[str, np.ndarray]:
        """Free variables and deterministics of unconstrained draws, shape (n, dim).

        A deterministic that raises an exception is nan, and a warning counts it.
        """
        draws = as_draws(draws, self.dim)
        if len(draws) == 0:
            return {variable.name: np.zeros((0, *variable.shape)) for variable in self.variables}
        outputs = self.constrain_each(draws)
        if outputs.failed:
            warnings.warn(
                f"PyMC could not compute {', '.join(outputs.failed)} in {max(outputs.failed.values())} of {len(draws)} "
                f"draws, where they are nan now: {outputs.message}",
                RuntimeWarning,
                stacklevel=2,
            )
        return outputs.values

    def constrain_each(self, draws: np.ndarray) -> Outputs:
        """The same with counts in place of a warning."""
        names, graph = self._graph.output_names, self._graph
        try:
            return Outputs(dict(zip(names, graph.outputs(draws, self.data), strict=True)), {}, "")
        except Exception:
            pass  # a deterministic that raises in one draw: the others are computed one by one
        values = {v.name: np.full((len(draws), *v.shape), np.nan) for v in self.variables}
        n_failed, message = dict.fromkeys(names, 0), ""
        for row, draw in enumerate(draws):
            try:
                for name, value in zip(names, graph.outputs(draw[np.newaxis], self.data), strict=True):
                    values[name][row] = value[0]
                continue
            except Exception:
                pass
            for k, name in enumerate(names):
                try:
                    values[name][row] = graph.output_alone(k, draw, self.data)
                except Exception as error:
                    n_failed[name] += 1
                    message = describe(error)
        return Outputs(values, {name: count for name, count in n_failed.items() if count}, message)

    @property
    def start_variables(self) -> tuple[Variable, ...]:
        """The free random variables."""
        return self.variables[: len(self._model.free_RVs)]

    def unconstrain(self, values: Mapping[str, np.ndarray], point: np.ndarray) -> np.ndarray:
        """A point where some free variables have these values, by PyMC's own transforms."""
        names = tuple(values)
        if names not in self._compiled_starts:
            self._compiled_starts[names] = compile_unconstrain(self._model, self._graph, names)
        return self._compiled_starts[names](values, point, self.data)

    def describe_support(self, name: str) -> str:
        """The distribution and PyMC's transform of it, which tell."""
        variable = self._model[name]
        transform = self._model.rvs_to_transforms[variable]
        distribution = type(variable.owner.op).__name__.removesuffix("RV")
        return f"what {distribution} allows" + (f" (PyMC's transform: {transform.name})" if transform else "")

    @property
    def likelihood_terms(self) -> tuple[str, ...]:
        """The observed variables."""
        return tuple(dict.fromkeys(variable.name for variable in self._model.observed_RVs))

    def log_likelihood(self, draws: np.ndarray) -> dict[str, np.ndarray]:
        """Of each observation at unconstrained draws, shape (n, dim)."""
        return dict(zip(self.likelihood_terms, self._log_likelihood(draws, self.data), strict=True))

    @functools.cached_property
    def _log_likelihood(self) -> Callable[..., list[np.ndarray]]:
        return compile_log_likelihood(self._model, self._graph)

    def attributes(self) -> dict[str, str]:
        """How exactly the draws can be repeated."""
        return {"repeatable": _REPEATABLE_BUT_FOR_ROUNDING if self._graph.is_cached else _REPEATABLE}

    def take_message(self) -> str:
        """What went wrong at the last place where the compiled model raised, or an empty string."""
        error = self.take_exception()
        return "" if error is None else f"{type(error).__name__}: {error}"

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        cloudpickle = import_for("pickling a PyMC model", "cloudpickle", "cluster")
        return _from_bytes, (cloudpickle.dumps(self._model), self.data)


def from_pymc(model: Any) -> PymcDensity:
    """Make a model from a PyMC model.

    Parameters
    ----------
    model : pymc.Model
        All free parameters continuous.

    Returns
    -------
    PymcDensity
        Its variables are the free random variables and the deterministics, with PyMC's dims and coords.

    Raises
    ------
    TypeError
        If `model` is no PyMC model, or has discrete or single-precision parameters.
    ValueError
        If it has no free parameters.
    ImportError
        If PyMC is not installed.

    Notes
    -----
    The values of ``pymc.Data`` are those at the time of the call. After ``pymc.set_data`` call `from_pymc` (or
    `sample`) again: the model is not compiled again unless the shapes of its parameters have changed. Where the
    compiled model raises an exception is taken to be outside the support. PyTensor compiles a model in 10 to 20 s, and
    one like those in its disk cache in 2 to 5 s.
    """
    pymc = import_for("from_pymc", "pymc", "pymc")
    if not isinstance(model, pymc.Model):
        raise TypeError(f"model must be a pymc.Model, got {type(model).__name__}: {model!r:.200}")
    graph = _compiled(model)
    return PymcDensity(model, graph, read_shared(graph.shared))


_COMPILED: weakref.WeakKeyDictionary[Any, tuple[tuple[Any, ...], PymcGraph]] = weakref.WeakKeyDictionary()


def _compiled(model: Any) -> PymcGraph:
    """The compiled model, anew only if the model has changed in more than the values of its data."""
    parts = (
        tuple(model.free_RVs),
        tuple(model.value_vars),
        tuple(dict.fromkeys(model.observed_RVs)),  # sample_posterior_predictive of PyMC 5.28 repeats some
        tuple(model.potentials),
        tuple(model.deterministics),
        tuple(model.rvs_to_initial_values.values()),
    )
    key = tuple(tuple(id(part) for part in group) for group in parts)
    known = _COMPILED.get(model)
    if known is not None and known[0] == key:
        start = known[1].initial_point(0)
        if tuple(np.shape(start[variable.name]) for variable in known[1].values) == known[1].value_shapes:
            return known[1]
    print_if_possible("Compiling the PyMC model: 10 to 20 s the first time, less from the cache.", style="dim")
    graph = compile_model(model)
    _COMPILED[model] = (key, graph)
    return graph


def _from_bytes(pickled: bytes, data: tuple[np.ndarray, ...]) -> LogDensity:
    """Unpickle: in another process the model is compiled again."""
    import cloudpickle

    model = cloudpickle.loads(pickled)
    return PymcDensity(model, _compiled(model), data)


def _ravel(graph: PymcGraph, point: dict[str, np.ndarray]) -> np.ndarray:
    parts = [np.ravel(point[variable.name]) for variable in graph.values]
    return np.concatenate(parts).astype(np.float64)


def _examples(graph: PymcGraph, start: np.ndarray, data: tuple[np.ndarray, ...]) -> list[np.ndarray]:
    """Outputs at a starting point, for their shapes; at another one where a deterministic raises an exception."""
    seed = 0
    while True:
        try:
            return graph.outputs(start[np.newaxis], data)
        except Exception:
            seed += 1
            if seed > _MOST_STARTS:
                raise
            start = _ravel(graph, graph.initial_point(seed))


_MOST_STARTS = 20


def _coords(model: Any, used: set[str]) -> dict[str, Sequence[Any]]:
    """Labels of the axes in use; those that PyMC knows by their length only need none."""
    return {dim: labels for dim, labels in model.coords.items() if dim in used and labels is not None}
