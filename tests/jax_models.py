"""Reference posteriors as log densities in JAX, and the variables that the reference lists.

Each function takes the data of the Stan program and returns a log density of a dict, an example of that dict, and what
turns draws of it, with any leading axes, into the reference's variables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Model = tuple[Callable[[Any], Any], dict[str, Any], Callable[[Any], dict[str, np.ndarray]]]


def eight_schools(data: dict[str, Any]) -> Model:
    import jax.numpy as jnp

    y, sigma = np.asarray(data["y"]), np.asarray(data["sigma"])

    def logp(p):
        tau = jnp.exp(p["log_tau"])
        theta = p["mu"] + tau * p["eta"]
        prior = -0.5 * (p["mu"] / 5) ** 2 - jnp.log1p((tau / 5) ** 2) + p["log_tau"] - 0.5 * jnp.sum(p["eta"] ** 2)
        return prior - 0.5 * jnp.sum(((y - theta) / sigma) ** 2)

    def variables(p):
        tau = np.exp(p["log_tau"])
        return {"mu": p["mu"], "tau": tau, "theta": p["mu"][..., None] + tau[..., None] * p["eta"]}

    return logp, {"mu": 0.0, "log_tau": 0.0, "eta": np.zeros(len(y))}, variables


def garch11(data: dict[str, Any]) -> Model:
    import jax
    import jax.numpy as jnp

    y, first = np.asarray(data["y"]), float(data["sigma1"])

    def logp(p):
        alpha0, alpha1 = jnp.exp(p["a0"]), jax.nn.sigmoid(p["a1"])
        beta1 = (1 - alpha1) * jax.nn.sigmoid(p["b1"])

        def step(variance, residual):
            return alpha0 + alpha1 * residual**2 + beta1 * variance, variance

        residuals = y - p["mu"]
        _, variances = jax.lax.scan(step, first**2 + 0.0 * alpha0, residuals)
        jacobian = p["a0"] + jnp.log(alpha1) + 2 * jnp.log1p(-alpha1)
        jacobian += jax.nn.log_sigmoid(p["b1"]) + jax.nn.log_sigmoid(-p["b1"])
        return jacobian - 0.5 * jnp.sum(jnp.log(variances) + residuals**2 / variances)

    def variables(p):
        alpha1 = 1 / (1 + np.exp(-p["a1"]))
        beta1 = (1 - alpha1) / (1 + np.exp(-p["b1"]))
        return {"mu": p["mu"], "alpha0": np.exp(p["a0"]), "alpha1": alpha1, "beta1": beta1}

    return logp, {"mu": 0.0, "a0": 0.0, "a1": 0.0, "b1": 0.0}, variables
