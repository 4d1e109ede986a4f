"""BlackJAX's NUTS on a compiled density, which XLA calls by its pointer."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
from counted_density import CountedDensity, compiled_for_xla

_CUSTOM_CALL = "grhmc_counted_density"
_STATUS_RETURNING = 2  # XLA's version of custom calls that take pointers; the newer one needs XLA's headers


@functools.cache
def _register() -> None:
    """Make the density's custom call known to XLA: a call back into Python would take half a millisecond."""
    new_capsule = ctypes.pythonapi.PyCapsule_New
    new_capsule.restype, new_capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    capsule = new_capsule(compiled_for_xla().address, b"xla._CUSTOM_CALL_TARGET", None)
    jax.ffi.register_ffi_target(_CUSTOM_CALL, capsule, platform="cpu", api_version=0)


def as_jax_function(density: CountedDensity, dim: int) -> Any:
    """A log density for JAX; value and gradient come from one call. `density` must outlive it."""
    _register()
    shapes = (jax.ShapeDtypeStruct((), jnp.float64), jax.ShapeDtypeStruct((dim,), jnp.float64))
    custom_call = jax.ffi.ffi_call(_CUSTOM_CALL, shapes, custom_call_api_version=_STATUS_RETURNING)
    numbers = np.array([dim, density.user_data])

    def call(q: Any) -> Any:
        return tuple(custom_call(q, jnp.asarray(numbers)))

    @jax.custom_vjp
    def log_density(q: Any) -> Any:
        return call(q)[0]

    log_density.defvjp(call, lambda gradient, cotangent: (cotangent * gradient,))
    return log_density


def sample_nuts(
    density: CountedDensity, starts: np.ndarray, seed: int, tune: int, draws: int
) -> tuple[np.ndarray, int, int]:
    """Draw with default settings, one chain after the other.

    Returns
    -------
    draws : ndarray, shape (chains, draws, dim)
    warmup_gradients, n_divergent : int
    """
    jax.config.update("jax_enable_x64", True)
    log_density = as_jax_function(density, starts.shape[1])
    adaptation = blackjax.window_adaptation(blackjax.nuts, log_density)

    @jax.jit
    def warm_up(key: Any, start: Any) -> Any:
        (state, parameters), _ = adaptation.run(key, start, num_steps=tune)
        return state, parameters

    @jax.jit
    def run(key: Any, state: Any, parameters: Any) -> Any:
        kernel = blackjax.nuts(log_density, **parameters).step

        def step(state: Any, key: Any) -> Any:
            state, info = kernel(key, state)
            return state, (state.position, info.is_divergent)

        return jax.lax.scan(step, state, jax.random.split(key, draws))[1]

    positions, warmup, n_divergent = [], 0, 0
    for key, start in zip(jax.random.split(jax.random.key(seed), len(starts)), starts, strict=True):
        first, second = jax.random.split(key)
        before = density.count
        state, parameters = jax.block_until_ready(warm_up(first, jnp.asarray(start)))
        warmup += density.count - before
        path, diverging = jax.block_until_ready(run(second, state, parameters))
        positions.append(np.asarray(path))
        n_divergent += int(np.sum(diverging))
    return np.stack(positions), warmup, n_divergent
