"""Reference posteriors as log densities in PyTorch; see `jax_models` for what each function returns."""

from __future__ import annotations

from typing import Any

import numpy as np

from jax_models import Model


def eight_schools(data: dict[str, Any]) -> Model:
    import torch
    from torch.distributions import HalfCauchy, Normal

    y, sigma, five = (torch.tensor(x, dtype=torch.float64) for x in (data["y"], data["sigma"], 5.0))

    def logp(p):
        tau = torch.exp(p["log_tau"])
        prior = Normal(0.0, 5.0).log_prob(p["mu"]) + HalfCauchy(five).log_prob(tau) + p["log_tau"]
        return (
            prior
            + Normal(0.0, 1.0).log_prob(p["eta"]).sum()
            + Normal(p["mu"] + tau * p["eta"], sigma).log_prob(y).sum()
        )

    def variables(p):
        tau = np.exp(p["log_tau"])
        return {"mu": p["mu"], "tau": tau, "theta": p["mu"][..., None] + tau[..., None] * p["eta"]}

    return logp, {"mu": torch.tensor(0.0), "log_tau": torch.tensor(0.0), "eta": torch.zeros(len(y))}, variables


def arK(data: dict[str, Any]) -> Model:
    import torch

    order, values = data["K"], np.asarray(data["y"])
    lagged = torch.tensor(np.stack([values[order - k - 1 : len(values) - k - 1] for k in range(order)], axis=1))
    y = torch.tensor(values[order:])

    def logp(p):
        sigma = torch.exp(p["log_sigma"])
        residuals = (y - p["alpha"] - lagged @ p["beta"]) / sigma
        prior = -0.5 * ((p["alpha"] / 10) ** 2 + torch.sum((p["beta"] / 10) ** 2)) - torch.log1p((sigma / 2.5) ** 2)
        return prior + (1 - len(y)) * p["log_sigma"] - 0.5 * torch.sum(residuals**2)

    def variables(p):
        return {"alpha": p["alpha"], "beta": p["beta"], "sigma": np.exp(p["log_sigma"])}

    return logp, {"alpha": torch.tensor(0.0), "beta": torch.zeros(order), "log_sigma": torch.tensor(0.0)}, variables
