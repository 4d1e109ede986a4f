"""Turn results.csv into tables: bias against cost by target, and whether a configuration holds what is asked of it.

python benchmarks/accuracy/tables.py
"""

from __future__ import annotations

import math

from accuracy import make_target, read

MEAN_LIMIT, SD_LIMIT = 0.02, 0.01  # in sds; relative
Row = dict[str, str]


def signed(row: Row, name: str, unit: float = 1.0, digits: int = 3) -> str:
    """An error, its standard error, and the parameter where it is largest."""
    if not row[f"{name}_error"]:
        return "?"
    error, standard_error = (unit * float(row[f"{name}{part}"]) for part in ("_error", "_standard_error"))
    return f"{error:+.{digits}f} ± {standard_error:.{digits}f} {row[f'{name}_of']}"


def average_sd(row: Row) -> str:
    """The error of the sd averaged over parameters, where all of them have one."""
    error, standard_error = (100 * float(row[f"average_sd{part}"]) for part in ("_error", "_standard_error"))
    return f"{error:+.1f} ± {standard_error:.1f}" if standard_error < 1 else "?"


def verdict(row: Row) -> str:
    """Whether both limits hold: no if noise cannot explain an error beyond them, yes if the largest errors are within.

    A target's largest error of n parameters is the largest of n noises too: of the size of sqrt(2 log n) standard
    errors where nothing is wrong.
    """
    n = make_target(row["target"]).truth.mean.size
    noise = math.sqrt(2 * math.log(20 * n))
    answers = []
    for name, limit in (("mean", MEAN_LIMIT), ("sd", SD_LIMIT)):
        if row[f"{name}_error"]:
            error, standard_error = abs(float(row[f"{name}_error"])), float(row[f"{name}_standard_error"])
            answers.append("no" if error - noise * standard_error > limit else "yes" if error <= limit else "open")
    return next((answer for answer in ("no", "open", "yes") if answer in answers), "open")


def table(rows: list[Row]) -> list[str]:
    """Every cell, the cheapest first."""
    lines = [
        "| target | integrator, tolerance | gradients per time | worst ESS per 1000 | mean (sds) | sd (%) "
        "| average of sds (%) | below 5 % quantile (%) | above 95 % | within 0.02 sd and 1 % |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        errors = [
            signed(row, "mean"),
            signed(row, "sd", 100, 1),
            average_sd(row),
            signed(row, "q05", 100, 2),
            signed(row, "q95", 100, 2),
        ]
        lines.append(
            f"| {row['target']} | {row['configuration'].replace(':', ' ')} | {float(row['gradients_per_time']):.2f} "
            f"| {row['worst_ess']} | {' | '.join(errors)} | {verdict(row)} |"
        )
    return lines


def main() -> None:
    rows = read()
    order = list(dict.fromkeys(row["target"] for row in rows))
    rows.sort(key=lambda row: (order.index(row["target"]), row["scale"], float(row["gradients_per_time"])))
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
