"""Three of the reference posteriors as PyMC models, from the data of the Stan programs."""

from __future__ import annotations

from typing import Any

import numpy as np


def eight_schools(data: dict[str, Any]) -> Any:
    import pymc

    with pymc.Model(coords={"school": [f"school {j + 1}" for j in range(data["J"])]}) as model:
        mu = pymc.Normal("mu", 0, 5)
        tau = pymc.HalfCauchy("tau", 5)
        eta = pymc.Normal("eta", dims="school")
        theta = pymc.Deterministic("theta", mu + tau * eta, dims="school")
        sigma = pymc.Data("sigma", np.asarray(data["sigma"], dtype=float), dims="school")
        pymc.Normal("y", theta, sigma, observed=data["y"], dims="school")
    return model


def arK(data: dict[str, Any]) -> Any:
    import pymc

    order, y = data["K"], np.asarray(data["y"])
    lagged = np.stack([y[order - k - 1 : len(y) - k - 1] for k in range(order)], axis=1)
    with pymc.Model() as model:
        alpha = pymc.Normal("alpha", 0, 10)
        beta = pymc.Normal("beta", 0, 10, shape=order)
        sigma = pymc.HalfCauchy("sigma", 2.5)
        pymc.Normal("y", alpha + pymc.math.dot(lagged, beta), sigma, observed=y[order:])
    return model


def gauss_mix(data: dict[str, Any]) -> Any:
    import pymc

    with pymc.Model() as model:
        ordered = pymc.distributions.transforms.ordered
        mu = pymc.Normal("mu", 0, 2, shape=2, transform=ordered, initval=np.array([-1.0, 1.0]))
        sigma = pymc.HalfNormal("sigma", 2, shape=2)
        theta = pymc.Beta("theta", 5, 5)
        weights = pymc.math.stack([theta, 1 - theta])
        pymc.NormalMixture("y", weights, mu, sigma, observed=data["y"])
    return model


def gp_poisson(data: dict[str, Any]) -> Any:
    import pymc
    from pytensor.tensor.slinalg import cholesky

    x = np.asarray(data["x"], dtype=float)
    with pymc.Model() as model:
        rho = pymc.Gamma("rho", alpha=25, beta=4)
        alpha = pymc.HalfNormal("alpha", 2)
        f_tilde = pymc.Normal("f_tilde", shape=len(x))
        squares = (x[:, None] - x[None, :]) ** 2
        covariance = alpha**2 * pymc.math.exp(-squares / (2 * rho**2)) + 1e-10 * np.eye(len(x))
        f = pymc.Deterministic("f", cholesky(covariance) @ f_tilde)
        pymc.Poisson("k", pymc.math.exp(f), observed=data["k"])
    return model
