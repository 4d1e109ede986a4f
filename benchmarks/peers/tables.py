"""Turn the race's results into tables (Markdown) and figures: every cell, medians over seeds, and who wins by how much.

python benchmarks/peers/tables.py                        # all tables, on the screen
python benchmarks/peers/tables.py --ours grhmc_default --markdown FILE --figure FILE

A peer counts with the best of its configurations (`samplers.FAMILIES`), target by target. Beside that stands the
ratio to `RIVALS`, which the figures were against before there were other configurations. "≤": some are not run yet.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Callable, Iterable
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import figure
import timing
from race import RESULTS, read
from samplers import FAMILIES, OURS, PEERS
from targets import TARGETS

RIVALS = ("stan_nuts", "nutpie")
"""Diagonal scales after a warm-up of 1000."""

ALL = tuple(name for names in FAMILIES.values() for name in names)

TIMED_AS = MappingProxyType(
    {
        "nutpie_400": "nutpie",
        "nutpie_low_rank": "nutpie_low_rank_400",
        "nutpie_low_rank_800": "nutpie_low_rank_400",
    }
)
"""Configurations that differ in the length of the warm-up alone: their gradients cost the same."""

Row = dict[str, str]


class Cell(NamedTuple):
    """Medians over the seeds of one sampler on one target; ESS are worst over parameters, per 1000 gradients.

    `per_second`: with the warm-up counted, at the price of a gradient that `timing.py` measured, `nanoseconds`; nan
    where it has not. `to_400`: thousands of gradients until the worst effective size is 400 (`until.py`), nan where not
    known; `is_extrapolated` in most seeds.
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
    to_400: float
    is_extrapolated: bool
    n_seeds: int
    n_failed: int
    n_to_400: int  # seeds for which it is known
    nanoseconds: float

    @property
    def milliseconds_to_400(self) -> float:
        """Of processor time."""
        return 1e-3 * self.to_400 * self.nanoseconds


def worst_ess(row: Row) -> float:
    """The smallest of bulk, tail and q²."""
    return min(float(row[f"ess_{name}"]) for name in ("bulk", "tail", "q2"))


def summarize(rows: Iterable[Row], nanoseconds_per_gradient: float) -> Cell:
    """Medians over seeds, and the largest z: every seed must be right."""
    rows = list(rows)
    good = [row for row in rows if not row["remark"]]
    n_failed = len(rows) - len(good)
    if not good:
        return Cell(
            *[0.0] * 7,
            *[math.nan] * 4,
            math.inf,
            False,
            n_seeds=len(rows),
            n_failed=n_failed,
            n_to_400=n_failed,
            nanoseconds=nanoseconds_per_gradient,
        )

    def median(of: Callable[[Row], float]) -> float:
        return statistics.median([*map(of, good), *[0.0] * n_failed])

    def sampling(row: Row) -> float:
        return int(row["sampling_gradients"]) / 1000

    def total(row: Row) -> float:
        return sampling(row) + int(row["warmup_gradients"]) / 1000

    known = [row for row in good if row.get("gradients_to_400")]
    costs = [int(row["gradients_to_400"]) / 1000 for row in known] + [math.inf] * n_failed
    guessed = [row["to_400_by"] == "extrapolation" for row in known]
    with_warmup = median(lambda row: worst_ess(row) / total(row))
    return Cell(
        bulk=median(lambda row: float(row["ess_bulk"]) / sampling(row)),
        tail=median(lambda row: float(row["ess_tail"]) / sampling(row)),
        q2=median(lambda row: float(row["ess_q2"]) / sampling(row)),
        worst=median(lambda row: worst_ess(row) / sampling(row)),
        worst_with_warmup=with_warmup,
        per_second=with_warmup * 1e6 / nanoseconds_per_gradient,
        warmup_share=median(lambda row: int(row["warmup_gradients"]) / int(row["sampling_gradients"])),
        mean_error=median(lambda row: float(row["mean_error"])),
        mean_z=max(float(row["mean_z"]) for row in good),
        sd_error=median(lambda row: float(row["sd_error"])),
        sd_z=max(float(row["sd_z"]) for row in good),
        to_400=statistics.median(costs) if known else math.nan,
        is_extrapolated=2 * sum(guessed) > len(guessed),
        n_seeds=len(rows),
        n_failed=n_failed,
        n_to_400=len(costs),
        nanoseconds=nanoseconds_per_gradient,
    )


def nanoseconds(sampler: str, target: str) -> float:
    """Measured by `timing.py`, or nan."""
    for row in timing.read():
        if (row["target"], row["sampler"]) == (target, TIMED_AS.get(sampler, sampler)):
            return float(row["nanoseconds_per_gradient"])
    return math.nan


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
        "| target | sampler | bulk / tail / q² | worst | worst, warm-up counted | worst per second | thousands to 400 "
        "| warm-up : sampling | mean error, sds (largest z) | sd error (largest z) |",
        "|---" * 10 + "|",
    ]
    for target, samplers in cells.items():
        for name, cell in samplers.items():
            if cell.n_failed == cell.n_seeds:
                lines.append(f"| {target} | {name} | failed | 0 | 0 | 0 | | | | |")
                continue
            failed = f" ({cell.n_failed} of {cell.n_seeds} seeds failed)" if cell.n_failed else ""
            lines.append(
                f"| {target} | {name}{failed} | {cell.bulk:.3g} / {cell.tail:.3g} / {cell.q2:.3g} | {cell.worst:.3g} "
                f"| {cell.worst_with_warmup:.3g} | {cell.per_second:.3g} "
                f"| {cost(cell)} | {cell.warmup_share:.2f} "
                f"| {cell.mean_error:.3f} ({cell.mean_z:.1f}) | {100 * cell.sd_error:.1f} % ({cell.sd_z:.1f}) |"
            )
    return lines


class Ratios(NamedTuple):
    """Ours over the best of some rivals, on one target; costs the other way round, so that more is better."""

    sampling: float
    with_warmup: float
    per_second: float
    to_400: float
    milliseconds_to_400: float
    n_missing: int


def ratio_of(samplers: dict[str, Cell], ours: str, rivals: Iterable[str]) -> Ratios | None:
    """None if ours is not there, or none of the rivals."""
    rivals = tuple(rivals)
    found = [samplers[rival] for rival in rivals if rival in samplers]
    if ours not in samplers or not found:
        return None
    mine = samplers[ours]

    def over_best(name: str) -> float:
        best = max((getattr(cell, name) for cell in found if not math.isnan(getattr(cell, name))), default=math.nan)
        return math.inf if best == 0 else getattr(mine, name) / best

    def under_least(name: str) -> float:
        costs = [getattr(cell, name) for cell in found]
        return min((cost for cost in costs if not math.isnan(cost)), default=math.nan) / getattr(mine, name)

    return Ratios(
        sampling=over_best("worst"),
        with_warmup=over_best("worst_with_warmup"),
        per_second=over_best("per_second"),
        to_400=under_least("to_400"),
        milliseconds_to_400=under_least("milliseconds_to_400"),
        n_missing=len(rivals) - len(found),
    )


def ratios(cells: dict[str, dict[str, Cell]], ours: str, rivals: Iterable[str]) -> dict[str, Ratios]:
    """Of all targets where ours and some rival have finished."""
    found = {target: ratio_of(samplers, ours, rivals) for target, samplers in cells.items()}
    return {target: ratio for target, ratio in found.items() if ratio is not None}


def of_known(function: Callable[[list[float]], float], found: Iterable[Ratios], name: str) -> float:
    """A median or minimum of the ratios that have been measured."""
    values = [getattr(ratio, name) for ratio in found]
    return function([value for value in values if not math.isnan(value)] or [math.nan])


def bounded(value: float, ratio: Ratios) -> str:
    """A ratio as text; an upper bound where rivals are missing."""
    return ("≤ " if ratio.n_missing and not math.isnan(value) else "") + short(value)


def short(value: float) -> str:
    """Two decimals, or two digits where it is small."""
    if math.isnan(value):
        return "–"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def cost(cell: Cell) -> str:
    """Thousands of gradients to 400 as text, with a star where extrapolated."""
    if math.isnan(cell.to_400):
        return "–"
    if math.isinf(cell.to_400):
        return "failed"
    digits = f"{cell.to_400:.3g}" if cell.to_400 < 100 else f"{cell.to_400:.0f}"
    return digits + ("*" if cell.is_extrapolated else "")


def best_of(samplers: dict[str, Cell], family: str, key: Callable[[Cell], float]) -> tuple[str, Cell] | None:
    """The configuration of a peer with the largest `key`, and its cell."""
    known = [(name, samplers[name]) for name in FAMILIES[family] if name in samplers]
    known = [(name, cell) for name, cell in known if not math.isnan(key(cell))]
    return max(known, key=lambda pair: key(pair[1]), default=None)


def family_columns(
    samplers: dict[str, Cell],
    key: Callable[[Cell], float],
    text: Callable[[Cell], str],
    remark: Callable[[Cell], str],
    families: Iterable[str] = FAMILIES,
) -> Iterable[str]:
    """A column for each peer: its best configuration, and a remark on that cell."""
    for family in families:
        best = best_of(samplers, family, key)
        yield "–" if best is None else f"{text(best[1])} ({best[0]}){remark(best[1])}"


def no_remark(_: Cell) -> str:
    """Nothing."""
    return ""


def _middle_and_least(found: dict[str, Ratios], old: dict[str, Ratios], names: tuple[str, ...], pad: str) -> list[str]:
    lines = []
    for word, function in (("median", statistics.median), ("minimum", min)):
        columns = [short(of_known(function, found.values(), name)) for name in names]
        columns.insert(1, short(of_known(function, old.values(), names[0])))
        lines.append(f"| **{word}** of {len(found)} targets {pad}| **{columns[0]}** | {' | '.join(columns[1:])} |")
    return lines


def worst_with_warmup(cell: Cell) -> float:
    """As a key."""
    return cell.worst_with_warmup


def warmup_text(cell: Cell) -> str:
    """As text."""
    return f"{cell.worst_with_warmup:.3g}"


def summary_table(cells: dict[str, dict[str, Cell]], ours: str) -> list[str]:
    """Ours and each peer at its best, warm-up counted; ratios by target, their median and minimum."""
    found, old = ratios(cells, ours, ALL), ratios(cells, ours, RIVALS)
    lines = [
        f"| target | {ours}: worst, warm-up counted | {' | '.join(f'{name}, best' for name in FAMILIES)} "
        f"| ratio to the best | to {' and '.join(RIVALS)} | to the best, sampling only | per second "
        "| largest z: mean, sd |",
        "|---" * (7 + len(FAMILIES)) + "|",
    ]
    for target, ratio in found.items():
        mine = cells[target][ours]
        peers = family_columns(cells[target], worst_with_warmup, warmup_text, no_remark)
        before = old.get(target)
        lines.append(
            f"| {target} | {mine.worst_with_warmup:.3g} | {' | '.join(peers)} "
            f"| **{bounded(ratio.with_warmup, ratio)}** | {bounded(before.with_warmup, before) if before else '–'} "
            f"| {bounded(ratio.sampling, ratio)} | {bounded(ratio.per_second, ratio)} "
            f"| {mine.mean_z:.1f}, {mine.sd_z:.1f} |"
        )
    pad = "| " * (1 + len(FAMILIES))
    rows = _middle_and_least(found, old, ("with_warmup", "sampling", "per_second"), pad)
    return [*lines, *(f"{row} |" for row in rows)]


def until_table(cells: dict[str, dict[str, Cell]], ours: str) -> list[str]:
    """Thousands of gradients from a cold start until the worst effective size is 400, each peer at its best."""
    lines = [
        f"| target | {ours} | {' | '.join(f'{name}, best' for name in FAMILIES)} | the best of them over ours "
        f"| of {' and '.join(RIVALS)} |",
        "|---" * (4 + len(FAMILIES)) + "|",
    ]

    known: dict[str, Ratios] = {}
    before: dict[str, Ratios] = {}
    for target, samplers in cells.items():
        peers = list(family_columns(samplers, lambda cell: -cell.to_400, cost, no_remark))
        mine = samplers.get(ours)
        if all(peer == "–" for peer in peers) and (mine is None or math.isnan(mine.to_400)):
            continue
        columns = ["–", "–"]
        if mine is not None and not math.isnan(mine.to_400):
            for i, (rivals, into) in enumerate(((ALL, known), (RIVALS, before))):
                ratio = ratio_of(samplers, ours, rivals)
                if ratio is not None and not math.isnan(ratio.to_400):
                    into[target] = ratio
                    columns[i] = bounded(ratio.to_400, ratio)
        shown = "–" if mine is None else cost(mine)
        lines.append(f"| {target} | {shown} | {' | '.join(peers)} | **{columns[0]}** | {columns[1]} |")
    return [*lines, *_middle_and_least(known, before, ("to_400",), "| " * (1 + len(FAMILIES)))]


def configurations_table(cells: dict[str, dict[str, Cell]]) -> list[str]:
    """The medians and minima of every configuration of ours: who should be the default."""
    lines = [
        "| configuration | targets | ratio to the best, warm-up counted: median | minimum | sampling only: median "
        f"| minimum | per second: median | to {' and '.join(RIVALS)}: median | minimum | largest z of a mean |",
        "|---" * 10 + "|",
    ]
    for sampler in OURS:
        found, old = ratios(cells, sampler.name, ALL), ratios(cells, sampler.name, RIVALS)
        if not found:
            continue
        medians, minima = (
            [of_known(function, found.values(), name) for name in Ratios._fields]
            for function in (statistics.median, min)
        )
        before = [of_known(function, old.values(), "with_warmup") for function in (statistics.median, min)]
        largest = max(cells[target][sampler.name].mean_z for target in found)
        lines.append(
            f"| {sampler.name} | {len(found)} | **{medians[1]:.2f}** | {minima[1]:.2f} | {medians[0]:.2f} "
            f"| {minima[0]:.2f} | {medians[2]:.2f} | {before[0]:.2f} | {before[1]:.2f} | {largest:.1f} |"
        )
    return lines


def figure_points(cells: dict[str, dict[str, Cell]], ours: str) -> dict[str, dict[str, float]]:
    """Worst ESS per 1000 gradients, warm-up counted, by sampler and target: each peer at its best, and one of ours."""
    points: dict[str, dict[str, float]] = {name: {} for name in (*FAMILIES, ours)}
    for target, samplers in cells.items():
        for name in FAMILIES:
            best = best_of(samplers, name, worst_with_warmup)
            if best is not None:
                points[name][target] = worst_with_warmup(best[1])
        if ours in samplers:
            points[ours][target] = worst_with_warmup(samplers[ours])
    return points


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ours", default="grhmc_default", help="the configuration to hold against the peers")
    parser.add_argument("--markdown", type=Path, help="write all tables to this file")
    parser.add_argument("--figure", type=Path)
    arguments = parser.parse_args()
    cells = all_cells()
    parts = {
        "Worst effective sample size per 1000 gradients, warm-up counted": summary_table(cells, arguments.ours),
        "Thousands of gradients from a cold start until the worst is 400 (* extrapolated)": until_table(
            cells, arguments.ours
        ),
        "Configurations of ours": configurations_table(cells),
        "Every cell": every_cell_table(cells),
    }
    text = "\n".join("\n".join((f"## {title}\n", *lines, "")) for title, lines in parts.items())
    if arguments.markdown:
        arguments.markdown.write_text(text)
    else:
        print(text)
    if arguments.figure:
        figure.draw(list(cells), figure_points(cells, arguments.ours), arguments.ours, arguments.figure)


if __name__ == "__main__":
    main()
