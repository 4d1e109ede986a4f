"""BlackJAX's adjusted microcanonical sampler (MAMS) on a compiled density, tuned by BlackJAX's own procedure."""

from __future__ import annotations

from typing import Any

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
from blackjax.mcmc import adjusted_mclmc_dynamic
from blackjax_nuts import as_jax_function
from counted_density import CountedDensity

TARGET_ACCEPTANCE = 0.9
"""With fractions 0.1, 0.1 and 0 of tuning and a diagonal scale, what BlackJAX's documentation recommends."""


def sample_mams(
    density: CountedDensity, starts: np.ndarray, seed: int, tuning_steps: int, draws: int
) -> tuple[np.ndarray, int, np.ndarray, int]:
    """Draw with randomized trajectory lengths, one chain after the other, each tuned by itself.

    Parameters
    ----------
    tuning_steps : int
        BlackJAX's `num_steps`, of which the tuning runs three tenths.

    Returns
    -------
    draws : ndarray, shape (chains, draws, dim)
    warmup_gradients : int
    steps : ndarray, shape (draws,)
        Integration steps of each draw, of all chains together; a step is two gradients.
    n_divergent : int
    """
    jax.config.update("jax_enable_x64", True)
    log_density = as_jax_function(density, starts.shape[1])
    kernel = adjusted_mclmc_dynamic.build_kernel(
        integration_steps_fn=adjusted_mclmc_dynamic.make_random_trajectory_length_fn(True)
    )

    @jax.jit
    def warm_up(key: Any, start: Any) -> Any:
        first, second = jax.random.split(key)
        state = adjusted_mclmc_dynamic.init(start, log_density, first)
        state, parameters, _ = blackjax.adjusted_mclmc_find_L_and_step_size(
            mclmc_kernel=kernel,
            logdensity_fn=log_density,
            num_steps=tuning_steps,
            state=state,
            rng_key=second,
            target=TARGET_ACCEPTANCE,
            frac_tune1=0.1,
            frac_tune2=0.1,
            frac_tune3=0.0,
            diagonal_preconditioning=True,
        )
        return state, parameters

    @jax.jit
    def run(key: Any, state: Any, parameters: Any) -> Any:
        def step(state: Any, key: Any) -> Any:
            state, info = kernel(
                rng_key=key,
                state=state,
                logdensity_fn=log_density,
                step_size=parameters.step_size,
                inverse_mass_matrix=parameters.inverse_mass_matrix,
                integration_steps_params=(parameters.L / parameters.step_size,),
            )
            return state, (state.position, info.num_integration_steps, info.is_divergent)

        return jax.lax.scan(step, state, jax.random.split(key, draws))[1]

    positions, warmup, steps, n_divergent = [], 0, np.zeros(draws), 0
    for key, start in zip(jax.random.split(jax.random.key(seed), len(starts)), starts, strict=True):
        first, second = jax.random.split(key)
        before = density.count
        state, parameters = jax.block_until_ready(warm_up(first, jnp.asarray(start)))
        warmup += density.count - before
        path, n_steps, diverging = jax.block_until_ready(run(second, state, parameters))
        positions.append(np.asarray(path))
        steps += np.asarray(n_steps)
        n_divergent += int(np.sum(diverging))
    return np.stack(positions), warmup, steps, n_divergent
