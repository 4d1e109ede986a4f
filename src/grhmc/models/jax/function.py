"""A JAX function as the sampler needs it: one float64 vector in, log density and gradient out.

JAX computes in single precision unless told otherwise. Everything here runs inside JAX's local switch for double
precision, which holds for one thread and one block of code, so that the user's own settings stay as they are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from grhmc.models.optional_packages import import_for
from grhmc.models.tree_names import Leaf

ValueAndGradient = Callable[[np.ndarray], tuple[float, np.ndarray]]

_LOW_PRECISION = ("float16", "bfloat16", "float32")


@functools.cache
def double_precision() -> Callable[[], Any]:
    """JAX's context manager for double precision, made anew at each call."""
    jax = import_for("from_jax", "jax", "jax")
    if hasattr(jax, "enable_x64"):
        return functools.partial(jax.enable_x64, True)
    from jax.experimental import enable_x64  # pyright: ignore[reportAttributeAccessIssue]  (before JAX 0.8)

    return enable_x64


def unflatten_parts(q: Any, leaves: Sequence[Leaf]) -> list[Any]:
    """Cut a vector, shape (dim,), into the leaves."""
    parts, start = [], 0
    for leaf in leaves:
        parts.append(q[start : start + leaf.size].reshape(leaf.shape))
        start += leaf.size
    return parts


def compile_value_and_gradient(log_density: Callable[[Any], Any], dim: int, name: str) -> ValueAndGradient:
    """Compile a function of a vector.

    Parameters
    ----------
    log_density : callable
        ``f(q) -> scalar``, of JAX.
    dim : int
    name : str
        For messages.

    Returns
    -------
    callable
        ``f(q) -> (log density, gradient)``, of NumPy. XLA compiles it at the first call.

    Raises
    ------
    TypeError
        If the result is not a float64 scalar, or something on the way is rounded to single precision.
    Exception
        Whatever `log_density` raises when JAX traces it.
    """
    jax = import_for("from_jax", "jax", "jax")
    x64 = double_precision()
    with x64():
        point = jax.ShapeDtypeStruct((dim,), np.float64)
        traced = jax.make_jaxpr(log_density)(point)
        _check_result(traced.out_avals, name)
        _check_precision(traced.jaxpr, name)

        def packed(q):
            # One array instead of two: reading each result costs several microseconds.
            value, gradient = jax.value_and_grad(log_density)(q)
            return jax.numpy.concatenate([value[None], gradient])

        compiled = jax.jit(packed)
        jax.eval_shape(packed, point)

    def evaluate(q: np.ndarray) -> tuple[float, np.ndarray]:
        with x64():
            result = np.asarray(compiled(q))
        return float(result[0]), result[1:]

    return evaluate


def compile_per_draw(function: Callable[[Any], Any]) -> Callable[[np.ndarray], Any]:
    """Compile a function of one draw, shape (dim,), into one of many, shape (n, dim).

    One draw after the other, so that memory does not grow with their number. Compiled once per power of 2.
    """
    jax = import_for("from_jax", "jax", "jax")
    x64 = double_precision()
    compiled = jax.jit(lambda draws: jax.lax.map(function, draws))

    def evaluate(draws: np.ndarray) -> Any:
        n_padded = 1 << max(len(draws) - 1, 0).bit_length()
        padded = np.concatenate([draws, np.repeat(draws[:1], n_padded - len(draws), axis=0)])
        with x64():
            result = compiled(padded)
        return jax.tree_util.tree_map(lambda array: np.asarray(array)[: len(draws)], result)

    return evaluate


def _check_result(results: Sequence[Any], name: str) -> None:
    shapes = [tuple(result.shape) for result in results]
    if shapes != [()]:
        raise TypeError(f"{name} must return the log density, a scalar, but it returns shapes {shapes}; sum over axes")
    if results[0].dtype != np.float64:
        raise TypeError(
            f"{name} must return a float64 log density, but it returns {results[0].dtype}; it gets float64 parameters, "
            "so something in it converts to another type: remove dtypes and astype()"
        )


def _check_precision(jaxpr: Any, name: str) -> None:
    for equation in _equations(jaxpr):
        if equation.primitive.name != "convert_element_type":
            continue
        before, after = (str(variables[0].aval.dtype) for variables in (equation.invars, equation.outvars))
        if before == "float64" and after in _LOW_PRECISION:
            raise TypeError(
                f"{name} converts a float64 value to {after} on the way to the log density, which would make the "
                "gradient too rough to follow; remove the dtype or astype() that does"
            )


def _equations(jaxpr: Any) -> Iterator[Any]:
    """All equations, those of loops, branches and inner functions included."""
    for equation in jaxpr.eqns:
        yield equation
        for value in equation.params.values():
            for part in value if isinstance(value, tuple | list) else (value,):
                inner = getattr(part, "jaxpr", part)
                if hasattr(inner, "eqns"):
                    yield from _equations(inner)
