"""A JAX function as the sampler needs it: one float64 vector in, log density and gradient out.

JAX computes in single precision unless told otherwise. Everything here runs inside JAX's local switch for double
precision, which holds for one thread and one block of code, so that the user's own settings stay as they are.
"""

from __future__ import annotations

import functools
import gc
import weakref
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
        ``f(q) -> (log density, gradient)``, of NumPy.

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
        del traced

        def packed(q):
            # One array instead of two: reading each result costs several microseconds.
            value, gradient = jax.value_and_grad(log_density)(q)
            return jax.numpy.concatenate([value[None], gradient])

        compiled = compile_ahead(packed, point)

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

    @functools.cache
    def compiled(shape: tuple[int, ...]) -> Callable[..., Any]:
        def all_draws(draws):
            return jax.lax.map(function, draws)

        return compile_ahead(all_draws, jax.ShapeDtypeStruct(shape, np.float64))

    def evaluate(draws: np.ndarray) -> Any:
        n_padded = 1 << max(len(draws) - 1, 0).bit_length()
        padded = np.concatenate([draws, np.repeat(draws[:1], n_padded - len(draws), axis=0)])
        with x64():
            result = compiled(padded.shape)(padded)
        return jax.tree_util.tree_map(lambda array: np.asarray(array)[: len(draws)], result)

    return evaluate


def compile_ahead(function: Callable[..., Any], *examples: Any) -> Callable[..., Any]:
    """Compile a function for arguments of these shapes and types, and leave no trace of the arrays that it refers to.

    JAX remembers a NumPy array that a traced function refers to, with the precision of that time, for as long as the
    trace lives. The user's own ``jnp.ones(8) * s``, in single precision, then gets the array in double precision, and
    fails (seen in JAX 0.10). So only the compiled code is kept, not the trace; and where a function of the user's keeps
    one (``jax.jit`` around a part of the model), JAX's caches are cleared.
    """
    jax = import_for("from_jax", "jax", "jax")
    traced = jax.jit(function).trace(*examples)
    remembered = [weakref.ref(array) for array in _constants(traced.jaxpr) if isinstance(array, np.ndarray)]
    compiled = traced.lower().compile()
    del traced
    if any(reference() is not None for reference in remembered):
        gc.collect()
    if any(reference() is not None for reference in remembered):
        jax.clear_caches()
    return compiled


def _constants(closed: Any) -> Iterator[Any]:
    """Of a traced function and of those inside it."""
    yield from closed.consts
    for equation in _equations(closed.jaxpr):
        for inner in _inner(equation):
            yield from getattr(inner, "consts", ())


def _check_result(results: Sequence[Any], name: str) -> None:
    shapes = [tuple(result.shape) for result in results]
    if shapes != [()]:
        raise TypeError(f"{name} must return the log density, a scalar, but it returns shapes {shapes}; sum over axes")
    if results[0].dtype != np.float64:
        raise TypeError(
            f"{name} must return a float64 log density, but it returns {results[0].dtype}; it gets float64 parameters, "
            "so something in it converts to another type: remove dtypes and astype()"
        )


def _check_precision(jaxpr: Any, name: str, parameters: Sequence[Any] | None = None) -> None:
    """Raise where a value that depends on the parameters is rounded; data may be of single precision.

    Inside loops and branches everything counts as dependent once something that goes in is.
    """
    dependent = set(map(id, jaxpr.invars if parameters is None else parameters))
    for equation in jaxpr.eqns:
        inputs = [id(variable) in dependent for variable in equation.invars]
        if not any(inputs):
            continue
        dependent.update(map(id, equation.outvars))
        for part in _inner(equation):
            inner = getattr(part, "jaxpr", part)
            if len(inner.invars) == len(inputs) and equation.primitive.name in _CALLS:
                parameters = [variable for variable, is_one in zip(inner.invars, inputs, strict=True) if is_one]
            else:
                parameters = inner.invars
            _check_precision(inner, name, parameters)
        if equation.primitive.name != "convert_element_type":
            continue
        before, after = (str(variables[0].aval.dtype) for variables in (equation.invars, equation.outvars))
        if before == "float64" and after in _LOW_PRECISION:
            raise TypeError(
                f"{name} converts a float64 value to {after} on the way to the log density, which would make the "
                "gradient too rough to follow; remove the dtype or astype() that does"
            )


_CALLS = ("jit", "pjit", "closed_call", "core_call", "custom_jvp_call", "checkpoint", "remat2")
# Whose inner function has the arguments of the call.


def _equations(jaxpr: Any) -> Iterator[Any]:
    """All equations, those of loops, branches and inner functions included."""
    for equation in jaxpr.eqns:
        yield equation
        for part in _inner(equation):
            yield from _equations(getattr(part, "jaxpr", part))


def _inner(equation: Any) -> Iterator[Any]:
    """Functions inside an equation."""
    for value in equation.params.values():
        for part in value if isinstance(value, tuple | list) else (value,):
            if hasattr(getattr(part, "jaxpr", part), "eqns"):
                yield part
