"""Make eight_schools.csv: its moments and quantiles to six digits, by quadrature over tau alone.

python benchmarks/peers/truths/make_quadrature.py

Given tau, everything else is normal: y_j ~ N(mu, sigma_j² + tau²) with mu ~ N(0, 5²), and theta_j given mu, tau and y.
So every marginal is a mixture of normals over tau.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from targets import POSTERIORS, published_truth  # noqa: E402

PRIOR_SD, CAUCHY_SCALE = 5.0, 5.0
N_NODES = 4000
FIELDS = ("target", "parameter", "mean", "mean_error", "sd", "sd_error", "q05", "q95", "tail_error")


def main() -> None:
    data = json.loads((POSTERIORS / "eight_schools" / "data.json").read_text())
    y, sigma = np.array(data["y"], dtype=float), np.array(data["sigma"], dtype=float)
    # tau = exp(u), midpoint rule in u: the integrand falls off at both ends, so it converges fast.
    u = np.linspace(np.log(1e-6), np.log(1e4), N_NODES)
    tau = np.exp(u)[:, None]
    variance = sigma**2 + tau**2
    precision = 1 / PRIOR_SD**2 + (1 / variance).sum(axis=1, keepdims=True)
    mu = (y / variance).sum(axis=1, keepdims=True) / precision
    log_weight = -0.5 * (np.log(variance).sum(axis=1) + np.log(precision[:, 0]))
    log_weight += -0.5 * ((y**2 / variance).sum(axis=1) - precision[:, 0] * mu[:, 0] ** 2)
    log_weight += u - np.log1p((tau[:, 0] / CAUCHY_SCALE) ** 2)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    share = tau**2 / variance  # of y_j in theta_j's mean, the rest is mu's
    theta_mean = share * y + (1 - share) * mu
    theta_sd = np.sqrt(sigma**2 * share + (1 - share) ** 2 / precision)
    components = {f"theta[{j + 1}]": (theta_mean[:, j], theta_sd[:, j]) for j in range(len(y))}
    components["mu"] = (mu[:, 0], np.sqrt(1 / precision[:, 0]))
    components["tau"] = (tau[:, 0], np.zeros(N_NODES))
    cumulative = np.cumsum(weight) - 0.5 * weight
    rows = []
    for parameter in published_truth("eight_schools")[0]:
        means, sds = components[parameter]
        mean = weight @ means
        sd = np.sqrt(weight @ (sds**2 + (means - mean) ** 2))
        if parameter == "tau":
            quantiles = [float(np.exp(np.interp(p, cumulative, u))) for p in (0.05, 0.95)]
        else:

            def excess(x: float, p: float, means: np.ndarray = means, sds: np.ndarray = sds) -> float:
                return float(weight @ norm.cdf(x, means, sds)) - p

            quantiles = [brentq(excess, mean - 20 * sd, mean + 20 * sd, args=(p,)) for p in (0.05, 0.95)]
        rows.append(["eight_schools", parameter, *(f"{v:.8g}" for v in (mean, 0.0, sd, 0.0, *quantiles, 0.0))])
    with (HERE / "eight_schools.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        writer.writerows(rows)


if __name__ == "__main__":
    main()
