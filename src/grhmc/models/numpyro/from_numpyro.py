"""Models from NumPyro programs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from grhmc.argument_checks import reject_masked
from grhmc.models.from_python import PythonDensity
from grhmc.models.jax.function import compile_per_draw, compile_value_and_gradient
from grhmc.models.numpyro.model import NumpyroModel, read_model
from grhmc.models.optional_packages import bind_submodules, import_for
from grhmc.models.tree_names import parse_dims, with_dims
from grhmc.models.variables import Variable, as_draws, name_coordinates

_OPTIONS = ("init_strategy", "dims", "coords")


class NumpyroDensity(PythonDensity):
    """A NumPyro model as a log density; made by `from_numpyro`."""

    def __init__(
        self,
        model: NumpyroModel,
        dims: Mapping[str, Sequence[str]],
        coords: Mapping[str, Sequence[Any]],
        rebuild: tuple[Callable[..., Any], tuple[Any, ...]],
    ) -> None:
        self._model = model
        self.leaves = model.leaves
        self._constrain = compile_per_draw(model.constrain)
        self._log_likelihood = compile_per_draw(model.log_likelihood)
        dims_of_data = {name: parse_dims(name, dims[name]) for name in model.observed_data if name in dims}
        super().__init__(
            compile_value_and_gradient(model.log_density, model.dim, "the NumPyro model"),
            model.dim,
            with_dims(model.variables, {name: dims[name] for name in dims if name not in model.observed_data}),
            rebuild,
            coordinate_names=name_coordinates([Variable(leaf.name, leaf.shape) for leaf in model.leaves]),
            coords=coords,
            observed_data=model.observed_data,
            data_dims=model.data_dims | dims_of_data,
        )

    def initial_point(self, rng: np.random.Generator) -> np.ndarray:
        """A point by the starting strategy."""
        return self._model.initial_point(int(rng.integers(2**31)))

    @property
    def start_variables(self) -> tuple[Variable, ...]:
        """The latent sites."""
        return self._model.starts

    def unconstrain(self, values: Mapping[str, np.ndarray], point: np.ndarray) -> np.ndarray:
        """A point where some latent sites have these values, by NumPyro's own transforms."""
        return self._model.unconstrain(values, point)

    def describe_support(self, name: str) -> str:
        """NumPyro's constraint of a site."""
        return self._model.supports[name]

    @property
    def likelihood_terms(self) -> tuple[str, ...]:
        """The observed sites."""
        return tuple(self._model.observed_data)

    def log_likelihood(self, draws: np.ndarray) -> dict[str, np.ndarray]:
        """Of each value of the observed sites at unconstrained draws, shape (n, dim)."""
        return self._log_likelihood(draws)

    def constrain(self, draws: np.ndarray) -> dict[str, np.ndarray]:
        """Latent and deterministic sites of unconstrained draws, shape (n, dim)."""
        draws = as_draws(draws, self.dim)
        if len(draws) == 0:
            return {variable.name: np.zeros((0, *variable.shape)) for variable in self.variables}
        values = self._constrain(draws)
        return {variable.name: values[variable.name] for variable in self.variables}


def from_numpyro(
    model: Callable[..., Any],
    /,
    *args: Any,
    init_strategy: Any = None,
    dims: Mapping[str, Sequence[str]] | None = None,
    coords: Mapping[str, Sequence[Any]] | None = None,
    **kwargs: Any,
) -> NumpyroDensity:
    """Make a model from a NumPyro program.

    Parameters
    ----------
    model : callable
        With `numpyro.sample` statements; all latent sites continuous.
    *args, **kwargs
        Arguments of `model`, such as its data: everything but the three options below.
    init_strategy : callable, optional
        Where chains start, such as ``numpyro.infer.init_to_median``; by default NumPyro's ``init_to_uniform``.
    dims : mapping of str to sequence of str, optional
        Names of the axes, by site. By default an axis that belongs to a plate has the plate's name.
    coords : mapping of str to sequence, optional
        Labels along the axes, plates included.

    Returns
    -------
    NumpyroDensity
        Its variables are the latent and the deterministic sites. Each evaluation is a call
        through Python, of 20 to 30 µs beyond the model itself.

    Raises
    ------
    TypeError
        If `model` is not callable or has discrete latent sites, or it rounds to single precision. If it has an argument
        with the name of an option, which then could mean either: bind it first, ``functools.partial(model, dims=3)``.
    ValueError
        If there are no latent sites, plates take subsamples, or names, dims and coords do not fit.
    ImportError
        If NumPyro is not installed.
    Exception
        Whatever the model raises.

    Notes
    -----
    The model runs in double precision whatever ``numpyro.enable_x64`` says, and that setting is not changed. Arguments
    that are JAX arrays are converted; arrays that the model refers to otherwise keep their type.
    """
    import_for("from_numpyro", "numpyro", "jax")
    if not callable(model):
        raise TypeError(f"model must be a function with numpyro.sample statements, got {model!r:.200}")
    _check_signature(model)
    for name, value in [*((f"args[{i}]", value) for i, value in enumerate(args)), *kwargs.items()]:
        reject_masked(name, value)
    if init_strategy is None:
        from numpyro.infer import init_to_uniform

        init_strategy = init_to_uniform
    return _make(model, args, kwargs, init_strategy, dict(dims or {}), dict(coords or {}))


def _make(
    model: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    init_strategy: Any,
    dims: Mapping[str, Sequence[str]],
    coords: Mapping[str, Sequence[Any]],
) -> NumpyroDensity:
    bind_submodules("numpyro")
    rebuild = (_make, (model, args, kwargs, init_strategy, dims, coords))
    return NumpyroDensity(read_model(model, args, kwargs, init_strategy), dims, coords, rebuild)


def _check_signature(model: Callable[..., Any]) -> None:
    try:
        parameters = inspect.signature(model).parameters
    except (TypeError, ValueError):  # a callable that does not tell
        return
    bound = model.keywords if isinstance(model, functools.partial) else {}
    ambiguous = [name for name in _OPTIONS if name in parameters and name not in bound]
    if ambiguous:
        name = ambiguous[0]
        raise TypeError(
            f"the model has an argument {name!r}, which is also an option of from_numpyro; bind it first: "
            f"functools.partial(model, {name}=...)"
        )
