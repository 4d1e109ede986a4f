"""Trend inflation with stochastic volatility, 756 dimensions on US data: a target that a diagonal scale can sample."""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import numpy as np

from grhmc.models import trend_inflation_densities
from grhmc.models.analytic_densities import compile_density
from grhmc.models.log_density import LogDensity
from grhmc.models.variables import Variable, as_draws

Parameterization = Literal["rescaled", "noncentred", "centred"]


class TrendInflation(LogDensity):
    """The model of `trend_inflation`; `constrain` gives the trend and the log variances at draws."""

    def __init__(self, y: np.ndarray, parameterization: Parameterization) -> None:
        n = len(y)
        compiled = compile_density(getattr(trend_inflation_densities, parameterization))
        self.y, self.parameterization = y, parameterization
        suffix = "" if parameterization == "centred" else "_bar"
        lengths = {"log_precision": 0, "trend_log_variance": n - 1, "log_variance": n, "trend": n}
        super().__init__(
            3 * n,
            compiled.address,
            user_data=y.ctypes.data,
            variables=[Variable(name, (length,) if length else ()) for name, length in lengths.items()],
            coordinate_names=[
                f"{name}{suffix}[{t}]" if length else f"{name}{suffix}"
                for name, length in lengths.items()
                for t in range(length or 1)
            ],
            observed_data={"inflation": y},
            keep_alive=(compiled, y),
            rebuild=(trend_inflation, (y, parameterization)),
        )

    def constrain(self, draws: np.ndarray) -> dict[str, np.ndarray]:
        """Turn draws of the coordinates, shape (n, dim), into l, z, x and τ by their names."""
        draws = as_draws(draws, self.dim)
        n = len(self.y)
        parts = draws[:, 0], draws[:, 1:n], draws[:, n : 2 * n], draws[:, 2 * n :]
        if self.parameterization == "rescaled":
            parts = _from_rescaled(*parts, self.y)
        elif self.parameterization == "noncentred":
            parts = _from_increments(*parts)
        return dict(zip((variable.name for variable in self.variables), parts, strict=True))


def trend_inflation(y: Any, parameterization: Parameterization = "rescaled") -> TrendInflation:
    """Make the model of trend inflation with stochastic volatility.

    The observations are y_t ~ N(τ_t, e^{x_t}) around a trend τ_t ~ N(τ_{t−1}, e^{z_{t−1}}). The log variances walk at
    random, x_t ~ N(x_{t−1}, e^{−l}) and z_t ~ N(z_{t−1}, e^{−l}); e^l ~ Gamma(5, 1/2), shape and rate. First values
    have flat priors.

    Parameters
    ----------
    y : array_like, shape (T,)
        Inflation, T at least 4; `grhmc.datasets.us_inflation()` has 252 quarters.
    parameterization : {"rescaled", "noncentred", "centred"}
        The coordinates. "rescaled": l √(T + 7/2) and the three vectors, each whitened by the Cholesky factor of an
        approximate precision of it (τ's is exact). "noncentred": first values and standard normal increments.
        "centred": as the model stands.

    Returns
    -------
    TrendInflation
        With 3 T coordinates and the variables ``log_precision`` (l), ``trend_log_variance`` (z, T − 1 values),
        ``log_variance`` (x) and ``trend`` (τ).

    Raises
    ------
    ValueError
        If `y` is not a vector of at least four finite numbers, or there is no such parameterization.

    References
    ----------
    Stock & Watson (2007), "Why has U.S. inflation become harder to forecast?", for the model. Tran & Kleppe (2024),
    the programs that go with the paper, for the prior and the rescaling.
    """
    values = np.array(y, dtype=np.float64, order="C")
    if values.ndim != 1 or len(values) < 4 or not np.all(np.isfinite(values)):
        raise ValueError(f"y must be a vector of at least four finite numbers, got shape {values.shape}")
    if parameterization not in get_args(Parameterization):
        accepted = ", ".join(get_args(Parameterization))
        raise ValueError(f"parameterization must be one of {accepted}, got {parameterization!r}")
    return TrendInflation(values, parameterization)


def _from_increments(
    log_precision: np.ndarray, z: np.ndarray, x: np.ndarray, tau: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Sum up increments; the first column holds first values."""
    scale = np.exp(-0.5 * log_precision)[:, np.newaxis]
    z = np.cumsum(np.hstack([z[:, :1], scale * z[:, 1:]]), axis=1)
    x = np.cumsum(np.hstack([x[:, :1], scale * x[:, 1:]]), axis=1)
    tau = np.cumsum(np.hstack([tau[:, :1], np.exp(0.5 * z) * tau[:, 1:]]), axis=1)
    return log_precision, z, x, tau


def _from_rescaled(
    log_precision: np.ndarray, z: np.ndarray, x: np.ndarray, tau: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Undo the whitening, all draws at once."""
    log_precision = log_precision / math.sqrt(len(y) + 3.5)
    z, x = _unwhiten_walk(log_precision, z), _unwhiten_walk(log_precision, x)
    return log_precision, z, x, _unwhiten_trend(z, x, tau, y)


def _unwhiten_walk(log_precision: np.ndarray, whitened: np.ndarray) -> np.ndarray:
    """L⁻ᵀ times the rows, L Lᵀ = e^l D'D + I/2."""
    p = np.exp(log_precision)
    n = whitened.shape[1]
    pivots = np.empty_like(whitened)
    u = np.full(len(p), 0.5)
    for t in range(n - 1):
        pivots[:, t] = p + u
        u = 0.5 + p * u / pivots[:, t]
    pivots[:, n - 1] = u
    values = whitened / np.sqrt(pivots)
    for t in range(n - 2, -1, -1):
        values[:, t] += p / pivots[:, t] * values[:, t + 1]
    return values


def _unwhiten_trend(z: np.ndarray, x: np.ndarray, whitened: np.ndarray, y: np.ndarray) -> np.ndarray:
    """τ's mean given z, x and y, and L⁻ᵀ τ̄, where L Lᵀ is its precision."""
    weight, precision = np.exp(-z), np.exp(-x)
    information, filtered = precision.copy(), np.broadcast_to(y, x.shape).copy()
    n = len(y)
    for t in range(n - 1):
        predicted = weight[:, t] * information[:, t] / (weight[:, t] + information[:, t])
        information[:, t + 1] += predicted
        filtered[:, t + 1] += predicted / information[:, t + 1] * (filtered[:, t] - y[t + 1])
    tau = filtered
    tau[:, n - 1] += whitened[:, n - 1] / np.sqrt(information[:, n - 1])
    for t in range(n - 2, -1, -1):
        pivot = weight[:, t] + information[:, t]
        tau[:, t] += weight[:, t] / pivot * (tau[:, t + 1] - tau[:, t]) + whitened[:, t] / np.sqrt(pivot)
    return tau
