"""What of a PyMC model is compiled only when somebody asks for it: starts by name, the pointwise log likelihood."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from grhmc.models.pymc.graph import PymcGraph, as_function_of_point, compile_outputs, data_inputs


def compile_log_likelihood(
    model: Any, graph: PymcGraph
) -> Callable[[np.ndarray, Sequence[np.ndarray]], list[np.ndarray]]:
    """``f(draws, data)`` -> for each observed variable an array with the draws along the first axis."""
    terms = model.logp(vars=list(dict.fromkeys(model.observed_RVs)), sum=False)
    return compile_outputs(terms, graph.values, graph.value_shapes, graph.shared)[0]


def compile_unconstrain(
    model: Any, graph: PymcGraph, names: Sequence[str]
) -> Callable[[Mapping[str, np.ndarray], np.ndarray, Sequence[np.ndarray]], np.ndarray]:
    """``f(values, point, data)`` -> the point where the named free variables have these values.

    One variable after the other, as a transform may depend on variables before (an upper bound that is one): with those
    given, or as they are at the point.
    """
    import pytensor.tensor as tensor
    from pymc.pytensorf import compile as compile_graph
    from pytensor.compile.mode import Mode
    from pytensor.graph.replace import graph_replace

    constrained: dict[Any, Any] = {}
    given, parts = {}, []
    for variable in model.free_RVs:
        value, transform = model.rvs_to_values[variable], model.rvs_to_transforms[variable]
        if variable.name in names:
            given[variable.name] = constrained[variable] = variable.type(variable.name)
            part = given[variable.name]
            if transform is not None:
                forward = transform.forward(part, *variable.owner.inputs)
                (part,) = graph_replace([forward], _without(constrained, variable), strict=False)
        else:
            part = constrained[variable] = value
            if transform is not None:
                backward = transform.backward(value, *variable.owner.inputs)
                (constrained[variable],) = graph_replace([backward], _without(constrained, variable), strict=False)
        parts.append(tensor.flatten(part))
    with_data, data = data_inputs([tensor.concatenate(parts)], graph.shared)
    point, outputs = as_function_of_point(with_data, graph.values, graph.value_shapes)
    function = compile_graph(
        [*given.values(), point, *data],
        outputs,
        mode=Mode(linker="py", optimizer="fast_compile"),
        on_unused_input="ignore",
    )

    def unconstrain(
        values: Mapping[str, np.ndarray], point: np.ndarray, values_of_data: Sequence[np.ndarray]
    ) -> np.ndarray:
        with np.errstate(all="ignore"):  # outside the support it is nan
            (result,) = function(*(values[name] for name in given), point, *values_of_data)
        return result

    return unconstrain


def _without(replacements: Mapping[Any, Any], variable: Any) -> dict[Any, Any]:
    return {old: new for old, new in replacements.items() if old is not variable}
