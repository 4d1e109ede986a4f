"""Write what the results say into docs/race.md: its tables, and the sentences that have their numbers.

python benchmarks/peers/race_page.py

What stands there between `<!-- from the results: NAME -->` and `<!-- end -->` is replaced, for every name in `PARTS`.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from race import RESULTS, read
from samplers import FAMILIES, OURS, PEERS
from tables import (
    ALL,
    Cell,
    Ratios,
    all_cells,
    cost,
    family_columns,
    no_remark,
    of_known,
    ratios,
    warmup_text,
    worst_ess,
    worst_with_warmup,
)
from targets import CORRELATED, HARD

PAGE = Path(__file__).parents[2] / "docs/race.md"
DEFAULT = "grhmc_default"
SEEDS = 3
FEWEST = 100
"""Effective draws, of 4000, that a run has if it has not failed."""

Cells = dict[str, dict[str, Cell]]


def results(cells: Cells) -> list[str]:
    """Medians, minima, and where we lose."""
    found = ratios(cells, DEFAULT, ALL)
    lost = {name: lost_on(found, name) for name in ("with_warmup", "sampling", "to_400", "milliseconds_to_400")}
    middle = {name: of_known(statistics.median, found.values(), name) for name in lost}
    least = {name: of_known(min, found.values(), name) for name in lost}
    return [
        f"- With the warm-up counted, ours over the best rival is **{middle['with_warmup']:.2f}** in the median over "
        f"{len(found)} targets and {least['with_warmup']:.2f} at least.",
        f"- Until the worst effective sample size is 400, the best rival needs **{middle['to_400']:.2f}** times our "
        f"gradients in the median, and {least['to_400']:.2f} times at least.",
        f"- By sampling alone the ratio is {middle['sampling']:.2f} in the median and "
        f"{least['sampling']:.2f} at least.",
        "- In processor time until 400, at what a gradient costs each sampler, the best configuration of Stan and "
        f"nutpie takes **{middle['milliseconds_to_400']:.1f}** times ours in the median and "
        f"{least['milliseconds_to_400']:.1f} times at least. Most of these densities take less than a microsecond; the "
        "dearer a gradient is, the nearer this comes to the ratio of gradients.",
        f"- We lose, with the warm-up counted, on {lost['with_warmup']}; by sampling alone on {lost['sampling']}; by "
        f"gradients until 400 on {lost['to_400']}.",
    ]


def failing(_: Cells) -> list[str]:
    """How many runs of ours have too few effective draws."""
    rows = [row for row in read(RESULTS / "grhmc.csv") if row["sampler"] == DEFAULT]
    few: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        if not worst_ess(row) >= FEWEST:
            few.setdefault(row["target"], []).append((int(row["seed"]), worst_ess(row)))
    n_seeds = Counter(row["target"] for row in rows)
    named = [
        f"{len(failed)} of {n_seeds[target]} on {target} (seeds {', '.join(str(seed) for seed, _ in failed)}; "
        f"{min(size for _, size in failed):.0f} at least)"
        for target, failed in few.items()
    ]
    return [
        f"A run fails here if its worst effective sample size is below {FEWEST} of 4000 draws. Of the {len(rows)} runs "
        f"in the tables below {sum(map(len, few.values()))} do: {'; '.join(named) or 'none'}."
    ]


def warm_up_counted(cells: Cells) -> list[str]:
    """Worst ESS per 1000 gradients, each rival at its best."""
    found = ratios(cells, DEFAULT, ALL)
    lines = header("target", "ours", *FAMILIES, "ratio", "sampling only", "largest z: mean, sd")
    for target, ratio in found.items():
        mine = cells[target][DEFAULT]
        rivals = family_columns(cells[target], worst_with_warmup, warmup_text, lambda cell: few_seeds(cell.n_seeds))
        lines.append(
            row_of(
                *(target, warmup_text(mine), *rivals, f"**{ratio.with_warmup:.2f}**"),
                *(f"{ratio.sampling:.2f}", f"{mine.mean_z:.1f}, {mine.sd_z:.1f}"),
            )
        )
    return [*lines, *middle_and_least(found, ("with_warmup", "sampling"), n_after=1)]


def until_enough(cells: Cells) -> list[str]:
    """Thousands of gradients until the worst ESS is 400."""
    found = {target: each for target, each in ratios(cells, DEFAULT, ALL).items() if not math.isnan(each.to_400)}
    lines = header("target", "ours", *FAMILIES, "ratio")
    for target, ratio in found.items():
        rivals = family_columns(cells[target], lambda cell: -cell.to_400, cost, lambda cell: few_seeds(cell.n_to_400))
        lines.append(row_of(target, cost(cells[target][DEFAULT]), *rivals, f"**{ratio.to_400:.2f}**"))
    return [*lines, *middle_and_least(found, ("to_400",), n_after=0)]


TIMED = ("Stan", "nutpie")
"""Peers whose time per gradient is measured."""


def processor_time(cells: Cells) -> list[str]:
    """Milliseconds until the worst ESS is 400, at the price of a gradient, for those whose price was measured."""
    found = {
        target: each for target, each in ratios(cells, DEFAULT, ALL).items() if not math.isnan(each.milliseconds_to_400)
    }
    lines = header("target", "ours", *TIMED, "ratio")
    for target, ratio in found.items():
        rivals = family_columns(cells[target], lambda cell: -cell.milliseconds_to_400, milliseconds, no_remark, TIMED)
        columns = (milliseconds(cells[target][DEFAULT]), *rivals, f"**{ratio.milliseconds_to_400:.1f}**")
        lines.append(row_of(target, *columns))
    return [*lines, *middle_and_least(found, ("milliseconds_to_400",), n_after=0, n_before=1 + len(TIMED))]


def milliseconds(cell: Cell) -> str:
    """To 400, and the price of a gradient."""
    return f"{cell.milliseconds_to_400:.3g} ms, {cell.nanoseconds:.0f} ns"


def cells_of_each(cells: Cells) -> list[str]:
    """How many seeds every configuration has."""
    lines = header("configuration", "three seeds or more", "two", "one", "none")
    for sampler in (*PEERS, *(each for each in OURS if each.name in (DEFAULT, "grhmc_diagonal"))):
        seeds = Counter(cells[target][sampler.name].n_seeds if sampler.name in cells[target] else 0 for target in cells)
        more = sum(count for n_seeds, count in seeds.items() if n_seeds >= SEEDS)
        lines.append(row_of(sampler.name, more, seeds[2], seeds[1], seeds[0]))
    return lines


PARTS: dict[str, Callable[[Cells], list[str]]] = {
    "results": results,
    "failing runs": failing,
    "warm-up counted": warm_up_counted,
    "until 400": until_enough,
    "processor time": processor_time,
    "cells": cells_of_each,
}


def lost_on(found: dict[str, Ratios], name: str) -> str:
    """Targets whose ratio is below 1, with it."""
    lost = [f"{target} ({getattr(each, name):.2f})" for target, each in found.items() if getattr(each, name) < 1.0]
    return ", ".join(lost) or "none"


def row_of(*columns: object) -> str:
    """One line of a table."""
    return f"| {' | '.join(str(column) for column in columns)} |"


def header(*names: str) -> list[str]:
    """The first two lines of a table."""
    return [row_of(*names), "|---" * len(names) + "|"]


def few_seeds(n_seeds: int) -> str:
    """A small number where a cell has not all seeds."""
    return f"<sup>{n_seeds}</sup>" if n_seeds < SEEDS else ""


def middle_and_least(
    found: dict[str, Ratios], names: tuple[str, ...], n_after: int, n_before: int = 1 + len(FAMILIES)
) -> list[str]:
    """Lines at the end of a table, for all targets, the first ones, those with correlations and the last."""
    groups = {
        "of all": list(found.values()),
        "first 21": [each for target, each in found.items() if target not in (*CORRELATED, *HARD)],
        "correlated 12": [each for target, each in found.items() if target in CORRELATED],
        "last 3": [each for target, each in found.items() if target in HARD],
    }
    lines = []
    for word, function in (("median", statistics.median), ("minimum", min)):
        for group, members in groups.items():
            values = [f"{of_known(function, members, name):.2f}" for name in names]
            label = f"{word} of all" if group == "of all" else f"{word}, {group}"
            lines.append(row_of(label, *[""] * n_before, f"**{values[0]}**", *values[1:], *[""] * n_after))
    return lines


def main() -> None:
    cells, page = all_cells(), PAGE.read_text()
    for name, part in PARTS.items():
        begin, end = f"<!-- from the results: {name} -->\n", "\n<!-- end -->"
        before, found, rest = page.partition(begin)
        if not found:
            raise SystemExit(f"{PAGE} has no part `{begin.strip()}`")
        text = "\n".join(part(cells))
        page = before + begin + text + end + rest.split(end, 1)[1]
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
