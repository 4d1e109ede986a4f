"""What a PyMC model computes, as compiled functions: log density with gradient, outputs, initial points."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numba
import numpy as np

# PyMC and PyTensor are imported by the functions: `import grhmc` must not need them.


class PymcGraph(NamedTuple):
    """A PyMC model with its data taken out: valid for other data of the same shapes of parameters.

    Attributes
    ----------
    log_density : callable
        Jitted: ``f(q, gradient, *data) -> log density``.
    outputs : callable
        ``f(draws, data)`` -> list of arrays, one per name in `output_names`, with the draws along the first axis.
    output_alone : callable
        ``f(k, draw, data)`` -> output k of one draw; for draws where `outputs` raises.
    output_names : tuple of str
    values : tuple
        Model variables of the unconstrained parameters, in the order of the coordinates.
    value_shapes : tuple of tuple of int
    shared : tuple
        The model's shared variables, whose values are the data.
    initial_point : callable
        ``f(seed)`` -> dict from names of value variables to arrays.
    is_cached : bool
        Whether PyTensor may have taken compiled parts from its disk cache, or keeps them there.
    """

    log_density: Callable[..., Any]
    outputs: Callable[[np.ndarray, Sequence[np.ndarray]], list[np.ndarray]]
    output_alone: Callable[[int, np.ndarray, Sequence[np.ndarray]], np.ndarray]
    output_names: tuple[str, ...]
    values: tuple[Any, ...]
    value_shapes: tuple[tuple[int, ...], ...]
    shared: tuple[Any, ...]
    initial_point: Callable[[int], dict[str, np.ndarray]]
    is_cached: bool

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return sum(int(np.prod(shape)) for shape in self.value_shapes)


def read_shared(shared: Sequence[Any]) -> tuple[np.ndarray, ...]:
    """Copies of the values of shared variables, C-contiguous, also those without axes."""
    return tuple(np.array(variable.get_value(borrow=True), order="C", copy=True) for variable in shared)


def compile_model(model: Any) -> PymcGraph:
    """Compile a PyMC model.

    Raises
    ------
    TypeError, ValueError
        If the model has discrete or no free parameters, or parameters that are not float64.
    """
    from pymc.initial_point import make_initial_point_fn
    from pymc.pytensorf import rewrite_pregrad
    from pytensor import config, grad

    values = tuple(model.value_vars)
    _check_values(model, values)
    initial_point = make_initial_point_fn(model=model, jitter_rvs=set(model.free_RVs), return_transformed=True)
    start = initial_point(0)
    shapes = tuple(np.shape(start[variable.name]) for variable in values)
    outputs = [*model.free_RVs, *model.deterministics]
    log_density = rewrite_pregrad(model.logp())
    gradients = grad(log_density, list(values), disconnected_inputs="ignore")
    constrained = model.replace_rvs_by_values(outputs)
    shared = _shared_inputs([log_density, *constrained])
    return PymcGraph(
        _compile_log_density(log_density, gradients, values, shapes, shared),
        *compile_outputs(constrained, values, shapes, shared),
        tuple(variable.name for variable in outputs),
        values,
        shapes,
        shared,
        initial_point,
        bool(getattr(config, "numba__cache", False)),
    )


def _check_values(model: Any, values: Sequence[Any]) -> None:
    if not values:
        raise ValueError("the PyMC model has no free parameters, so there is nothing to sample")
    discrete = [variable.name for variable in model.discrete_value_vars]
    if discrete:
        raise TypeError(
            f"the PyMC model has discrete parameters, {', '.join(discrete)}, which have no gradient; marginalize them "
            "out of the model"
        )
    single = [variable.name for variable in values if variable.dtype != "float64"]
    if single:
        raise TypeError(
            f"the parameters {', '.join(single)} are {values[0].dtype}, but sampling needs float64; build the model "
            "with pytensor.config.floatX = 'float64'"
        )


def _shared_inputs(outputs: Sequence[Any]) -> tuple[Any, ...]:
    """Shared arrays that the outputs depend on; the model's data, in an order that does not depend on chance."""
    from pytensor.compile.sharedvalue import SharedVariable
    from pytensor.graph.traversal import graph_inputs
    from pytensor.tensor.type import TensorType

    return tuple(
        dict.fromkeys(
            variable
            for variable in graph_inputs(list(outputs))
            if isinstance(variable, SharedVariable) and isinstance(variable.type, TensorType)
        )
    )


def data_inputs(outputs: Sequence[Any], shared: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The outputs as functions of plain inputs in place of the shared variables."""
    from pytensor.graph.replace import graph_replace

    inputs = [variable.type(name=variable.name) for variable in shared]
    replacements = dict(zip(shared, inputs, strict=True))
    return graph_replace(list(outputs), replacements, strict=False), inputs


def _compile_log_density(
    log_density: Any,
    gradients: Sequence[Any],
    values: Sequence[Any],
    shapes: Sequence[tuple[int, ...]],
    shared: Sequence[Any],
) -> Any:
    import pytensor.tensor as tensor
    from pymc.pytensorf import compile as compile_graph

    joined = tensor.concatenate([tensor.flatten(gradient) for gradient in gradients])
    outputs, data = data_inputs([log_density, joined], shared)
    point, outputs = as_function_of_point(outputs, values, shapes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the compiler's own doings
        function = compile_graph([point, *data], outputs, mode="NUMBA", on_unused_input="ignore", trust_input=True)
    if len(function.maker.fgraph.inputs) != 1 + len(data):
        raise TypeError(
            "the PyMC model's log density depends on random numbers or on shared variables that are not arrays, as "
            "with pm.Minibatch, which HMC cannot use: give the whole data"
        )
    value_and_gradient = function.vm.jit_fn

    @numba.njit(nogil=True)
    def evaluate(q, gradient, *data):
        value, slope = value_and_gradient(q, *data)
        # Not `gradient[:] = slope`: the message of its error, for other lengths, takes five seconds to compile.
        for k in range(gradient.shape[0]):
            gradient[k] = slope[k]
        return value.item()

    return evaluate


def as_function_of_point(
    outputs: Sequence[Any], values: Sequence[Any], shapes: Sequence[tuple[int, ...]]
) -> tuple[Any, list[Any]]:
    """The outputs as functions of one vector that holds all value variables."""
    import pytensor.tensor as tensor
    from pytensor.graph.replace import graph_replace

    sizes = [int(np.prod(shape)) for shape in shapes]
    point = tensor.vector("point", shape=(sum(sizes),), dtype="float64")
    replacements = {}
    start = 0
    for variable, shape, size in zip(values, shapes, sizes, strict=True):
        part = point[start : start + size].reshape(shape)
        replacements[variable] = variable.type.filter_variable(part, allow_convert=True)
        start += size
    return point, graph_replace(list(outputs), replacements, strict=False)


def compile_outputs(
    outputs: Sequence[Any], values: Sequence[Any], shapes: Sequence[tuple[int, ...]], shared: Sequence[Any]
) -> tuple[Callable[..., list[np.ndarray]], Callable[..., np.ndarray]]:
    """All outputs of many draws, and one output of one draw."""
    from pymc.pytensorf import compile as compile_graph
    from pytensor.compile.mode import Mode

    with_data, data = data_inputs(outputs, shared)
    point, with_point = as_function_of_point(with_data, values, shapes)

    def compiled(wanted: Any) -> Callable[..., Any]:
        # Evaluated once per draw at most: compiling would take longer than it saves.
        mode = Mode(linker="py", optimizer="fast_compile")
        return compile_graph([point, *data], wanted, mode=mode, on_unused_input="ignore")

    function = compiled(with_point)

    def evaluate(draws: np.ndarray, values_of_data: Sequence[np.ndarray]) -> list[np.ndarray]:
        rows = [function(draw, *values_of_data) for draw in draws]
        return [np.stack([np.asarray(row[k]) for row in rows]) for k in range(len(outputs))]

    @functools.cache
    def function_alone(k: int) -> Callable[..., Any]:
        return compiled(with_point[k])

    def evaluate_alone(k: int, draw: np.ndarray, values_of_data: Sequence[np.ndarray]) -> np.ndarray:
        return np.asarray(function_alone(k)(draw, *values_of_data))

    return evaluate, evaluate_alone
