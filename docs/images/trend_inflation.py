"""Draws trend_inflation.png: the series, its trend and volatilities, from a run of `benchmarks/trend_inflation`."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np

from grhmc.datasets import us_inflation

matplotlib.use("Agg")

import matplotlib.pyplot as plt

HERE = Path(__file__).parent
RUN = HERE.parents[1] / "benchmarks" / "trend_inflation" / "runs" / "grhmc_default-1.npz"


def main() -> None:
    y = us_inflation()
    n = len(y)
    low, middle, high = np.load(RUN)["quantiles"]
    quarters = np.arange(n)
    figure, (above, below) = plt.subplots(2, 1, figsize=(8.0, 5.6), sharex=True, layout="constrained")
    above.plot(quarters, y, color="#999999", linewidth=0.8, label="inflation, per cent a quarter")
    above.fill_between(quarters, low[-n:], high[-n:], color="#33658a", alpha=0.25, linewidth=0)
    above.plot(quarters, middle[-n:], color="#33658a", linewidth=1.4, label="trend: median and 90 % interval")
    above.legend(frameon=False, fontsize=9)
    for part, shade, words in (
        (slice(n, 2 * n), "#d9822b", "around the trend"),
        (slice(1, n), "#2a9d6f", "of the trend's steps"),
    ):
        time = quarters if part.stop == 2 * n else quarters[1:]
        below.fill_between(
            time, np.exp(0.5 * low[part]), np.exp(0.5 * high[part]), color=shade, alpha=0.25, linewidth=0
        )
        below.plot(time, np.exp(0.5 * middle[part]), color=shade, linewidth=1.4, label=f"standard deviation {words}")
    below.legend(frameon=False, fontsize=9)
    below.set_xlabel("quarter")
    for axis in (above, below):
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(HERE / "trend_inflation.png", dpi=120)


if __name__ == "__main__":
    main()
