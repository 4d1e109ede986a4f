"""Turn results.csv into tables: bias against cost by target, and whether a configuration holds what is asked of it.

python benchmarks/accuracy/tables.py
"""

from __future__ import annotations

from accuracy import read

MEAN_LIMIT, SD_LIMIT = 0.02, 0.01  # in sds; relative
Row = dict[str, str]


def signed(row: Row, name: str, unit: float = 1.0, digits: int = 3) -> str:
    """An error, its standard error, and the parameter where it is largest."""
    if not row[f"{name}_error"]:
        return "?"
    error, standard_error = (unit * float(row[f"{name}{part}"]) for part in ("_error", "_standard_error"))
    return f"{error:+.{digits}f} ± {standard_error:.{digits}f} {row[f'{name}_of']}"


def verdict(row: Row) -> str:
    """Yes or no where two standard errors leave no doubt; of the largest of many errors that is generous to noise."""
    answers = []
    for name, limit in (("mean", MEAN_LIMIT), ("sd", SD_LIMIT)):
        if not row[f"{name}_error"]:
            continue
        error, standard_error = abs(float(row[f"{name}_error"])), float(row[f"{name}_standard_error"])
        if error - 2 * standard_error > limit:
            answers.append("no")
        elif error > limit:
            answers.append("no?")
        else:
            answers.append("yes" if error + standard_error < limit else "yes?")
    return next((answer for answer in ("no", "no?", "yes?", "yes") if answer in answers), "?")


def table(rows: list[Row]) -> list[str]:
    """Every cell, the cheapest first."""
    lines = [
        "| target | integrator, tolerance | gradients per time | worst ESS per 1000 | mean (sds) | sd (%) "
        "| below 5 % quantile (%) | above 95 % | within 0.02 sd and 1 % |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        errors = [
            signed(row, "mean"),
            signed(row, "sd", 100, 1),
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
