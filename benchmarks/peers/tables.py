"""Turn the race's results into tables (Markdown) and figures: every cell, medians over seeds, and who wins by how much.

python benchmarks/peers/tables.py                        # the summary, on the screen
python benchmarks/peers/tables.py --ours grhmc_default --markdown FILE --figure FILE
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import timing
from race import RESULTS, read
from samplers import OURS, PEERS
from targets import TARGETS

RIVALS = ("stan_nuts", "nutpie")
Row = dict[str, str]


class Cell(NamedTuple):
    """Medians over the seeds of one sampler on one target; ESS are worst over parameters, per 1000 gradients.

    Per second: with the warm-up counted, at the seconds per gradient that `timing.py` measured.
    """

    bulk: float
    tail: float
    q2: float
    worst: float
    worst_with_warmup: float
    per_second: float
    warmup_share: float
    mean_error: float
    mean_z: float
    sd_error: float
    sd_z: float
    n_seeds: int
    n_failed: int


def worst_ess(row: Row) -> float:
    """The smallest of bulk, tail and q²."""
    return min(float(row[f"ess_{name}"]) for name in ("bulk", "tail", "q2"))


def summarize(rows: Iterable[Row], nanoseconds_per_gradient: float | None) -> Cell:
    """Medians over seeds, and the largest z: every seed must be right."""
    rows = list(rows)
    good = [row for row in rows if not row["remark"]]
    n_failed = len(rows) - len(good)
    if not good:
        return Cell(*[0.0] * 7, *[float("nan")] * 4, n_seeds=len(rows), n_failed=n_failed)

    def median(of: Callable[[Row], float]) -> float:
        return statistics.median([*map(of, good), *[0.0] * n_failed])

    def sampling(row: Row) -> float:
        return int(row["sampling_gradients"]) / 1000

    def total(row: Row) -> float:
        return sampling(row) + int(row["warmup_gradients"]) / 1000

    with_warmup = median(lambda row: worst_ess(row) / total(row))
    return Cell(
        bulk=median(lambda row: float(row["ess_bulk"]) / sampling(row)),
        tail=median(lambda row: float(row["ess_tail"]) / sampling(row)),
        q2=median(lambda row: float(row["ess_q2"]) / sampling(row)),
        worst=median(lambda row: worst_ess(row) / sampling(row)),
        worst_with_warmup=with_warmup,
        per_second=with_warmup * 1e6 / nanoseconds_per_gradient if nanoseconds_per_gradient else float("nan"),
        warmup_share=median(lambda row: int(row["warmup_gradients"]) / int(row["sampling_gradients"])),
        mean_error=median(lambda row: float(row["mean_error"])),
        mean_z=max(float(row["mean_z"]) for row in good),
        sd_error=median(lambda row: float(row["sd_error"])),
        sd_z=max(float(row["sd_z"]) for row in good),
        n_seeds=len(rows),
        n_failed=n_failed,
    )


def nanoseconds(sampler: str, target: str) -> float | None:
    """Measured by `timing.py`."""
    for row in timing.read():
        if (row["target"], row["sampler"]) == (target, sampler):
            return float(row["nanoseconds_per_gradient"])
    return None


def all_cells() -> dict[str, dict[str, Cell]]:
    """By target and sampler."""
    rows = [*read(RESULTS / "peers.csv"), *read(RESULTS / "grhmc.csv")]
    found: dict[str, dict[str, Cell]] = {}
    for target in TARGETS:
        for sampler in (*PEERS, *OURS):
            mine = [row for row in rows if (row["target"], row["sampler"]) == (target, sampler.name)]
            if mine:
                found.setdefault(target, {})[sampler.name] = summarize(mine, nanoseconds(sampler.name, target))
    return found


def every_cell_table(cells: dict[str, dict[str, Cell]]) -> list[str]:
    """All samplers on all targets."""
    lines = [
        "| target | sampler | bulk / tail / q² | worst | worst, warm-up counted | worst per second "
        "| warm-up : sampling | mean error, sds (largest z) | sd error (largest z) |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for target, samplers in cells.items():
        for name, cell in samplers.items():
            if cell.n_failed == cell.n_seeds:
                lines.append(f"| {target} | {name} | failed | 0 | 0 | 0 | | | |")
                continue
            failed = f" ({cell.n_failed} of {cell.n_seeds} seeds failed)" if cell.n_failed else ""
            lines.append(
                f"| {target} | {name}{failed} | {cell.bulk:.3g} / {cell.tail:.3g} / {cell.q2:.3g} | {cell.worst:.3g} "
                f"| {cell.worst_with_warmup:.3g} | {cell.per_second:.3g} | {cell.warmup_share:.2f} "
                f"| {cell.mean_error:.3f} ({cell.mean_z:.1f}) | {100 * cell.sd_error:.1f} % ({cell.sd_z:.1f}) |"
            )
    return lines


class Ratios(NamedTuple):
    """Ours over the better of Stan's NUTS and nutpie, on one target."""

    sampling: float
    with_warmup: float
    per_second: float


def ratios(cells: dict[str, dict[str, Cell]], ours: str) -> dict[str, Ratios]:
    """Of all targets where the three have finished."""
    found = {}
    for target, samplers in cells.items():
        if ours not in samplers or any(rival not in samplers for rival in RIVALS):
            continue
        mine, rivals = samplers[ours], [samplers[rival] for rival in RIVALS]
        found[target] = Ratios(
            mine.worst / max(rival.worst for rival in rivals),
            mine.worst_with_warmup / max(rival.worst_with_warmup for rival in rivals),
            mine.per_second / max(rival.per_second for rival in rivals),
        )
    return found


def of_known(function: Callable[[list[float]], float], found: Iterable[Ratios], name: str) -> float:
    """A median or minimum of the ratios that have been measured."""
    values = [getattr(ratio, name) for ratio in found]
    return function([value for value in values if not math.isnan(value)] or [math.nan])


def summary_table(cells: dict[str, dict[str, Cell]], ours: str) -> list[str]:
    """Ratios by target, their median and minimum."""
    found = ratios(cells, ours)
    lines = [
        f"| target | {ours}: worst, warm-up counted | Stan NUTS | nutpie | ratio | ratio, sampling only "
        "| ratio per second | largest z: mean, sd |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for target, ratio in found.items():
        mine, stan, nutpie = (cells[target][name] for name in (ours, *RIVALS))
        lines.append(
            f"| {target} | {mine.worst_with_warmup:.3g} | {stan.worst_with_warmup:.3g} "
            f"| {nutpie.worst_with_warmup:.3g} | **{ratio.with_warmup:.2f}** | {ratio.sampling:.2f} "
            f"| {ratio.per_second:.2f} | {mine.mean_z:.1f}, {mine.sd_z:.1f} |"
        )
    for word, function in (("median", statistics.median), ("minimum", min)):
        columns = [of_known(function, found.values(), name) for name in Ratios._fields]
        lines.append(
            f"| **{word}** of {len(found)} targets | | | | **{columns[1]:.2f}** | {columns[0]:.2f} "
            f"| {columns[2]:.2f} | |"
        )
    return lines


def configurations_table(cells: dict[str, dict[str, Cell]]) -> list[str]:
    """The medians and minima of every configuration of ours: who should be the default."""
    lines = [
        "| configuration | targets | ratio, warm-up counted: median | minimum | sampling only: median | minimum "
        "| per second: median | largest z of a mean |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for sampler in OURS:
        found = ratios(cells, sampler.name)
        if not found:
            continue
        medians = [of_known(statistics.median, found.values(), name) for name in Ratios._fields]
        minima = [of_known(min, found.values(), name) for name in Ratios._fields]
        largest = max(cells[target][sampler.name].mean_z for target in found)
        lines.append(
            f"| {sampler.name} | {len(found)} | **{medians[1]:.2f}** | {minima[1]:.2f} "
            f"| {medians[0]:.2f} | {minima[0]:.2f} | {medians[2]:.2f} | {largest:.1f} |"
        )
    return lines


def draw(cells: dict[str, dict[str, Cell]], ours: str, path: Path) -> None:
    """Worst ESS per 1000 gradients, warm-up counted, of all peers and one of ours."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = [*(peer.name for peer in PEERS), ours]
    figure, axes = pyplot.subplots(figsize=(8, 7), layout="constrained")
    for name, marker in zip(names, "osv^D*", strict=True):
        points = [(cells[target][name].worst_with_warmup, i) for i, target in enumerate(cells) if name in cells[target]]
        kept = [point for point in points if point[0] > 0]
        axes.plot(*zip(*kept, strict=True), marker, label=name, markersize=10 if name == ours else 6)
    axes.set_yticks(range(len(cells)), list(cells))
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.grid(alpha=0.3)
    axes.set_xlabel("worst effective sample size per 1000 gradients, warm-up counted (median of seeds)")
    axes.legend()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ours", default="grhmc_default", help="the configuration to hold against the peers")
    parser.add_argument("--markdown", type=Path, help="write all tables to this file")
    parser.add_argument("--figure", type=Path)
    arguments = parser.parse_args()
    cells = all_cells()
    parts = [summary_table(cells, arguments.ours), configurations_table(cells), every_cell_table(cells)]
    text = "\n\n".join("\n".join(lines) for lines in parts) + "\n"
    if arguments.markdown:
        arguments.markdown.write_text(text)
    else:
        print(text)
    if arguments.figure:
        draw(cells, arguments.ours, arguments.figure)


if __name__ == "__main__":
    main()
