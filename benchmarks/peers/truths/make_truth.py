"""Make LR25.csv: posterior means and sds of the synthetic logistic regression, by importance sampling.

python benchmarks/peers/truths/make_truth.py      # some minutes
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[2] / "tests" / "data")]

from make_references import by_importance_sampling  # noqa: E402
from targets import synthetic_regression  # noqa: E402


def main() -> None:
    rows, response = synthetic_regression()
    signed = rows * np.where(response == 1, 1.0, -1.0)[:, None]
    estimate, efficiency = by_importance_sampling(signed, np.random.default_rng(20250102))
    print(f"efficiency {efficiency:.2f}, largest error of a mean {np.max(estimate.mean_error / estimate.sd):.5f} sd")
    with (HERE / "LR25.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("target", "parameter", "mean", "mean_error", "sd", "sd_error"))
        for j, values in enumerate(zip(*estimate, strict=True)):
            writer.writerow(["LR25", f"x[{j + 1}]", *(f"{value:.8g}" for value in values)])


if __name__ == "__main__":
    main()
