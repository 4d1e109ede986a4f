"""The paper's statements about the methods, each with its check. To add one, add an entry to `STATEMENTS`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from grhmc.paper.cells import METHODS, CellResult
from grhmc.paper.conclusion import (
    Cells,
    Conclusion,
    Statement,
    alike,
    costs_more,
    decide,
    largest_scale,
    leads,
    our_cells,
    ranking_of,
    ranks,
    same_scale,
    scale_ratio,
    varies_most,
)
from grhmc.paper.posterior_correlation import largest_correlation
from grhmc.paper.verdicts import Verdict

_FIRST_RUN_TIME = 1000.0
# Of MCT, in process time.


def narrow_part_per_1e5(result: CellResult) -> float:
    """ESS of the share of draws in a funnel's narrow part, q1 below its 5 % point, per 100 000 evaluations."""
    return 1e5 * float(result.ess_probability[0, 0]) / float(result.n_sampling.sum())


def worst_per_1e5(result: CellResult) -> float:
    """The worst coordinate's ESS per 100 000 evaluations: what the paper ranks methods by."""
    return 1e5 * float(result.ess.min()) / float(result.n_sampling.sum())


def _narrow_part(cells: Cells) -> tuple[str, Verdict]:
    values = {}
    for method in ("isg", "mct", "vari"):
        result = cells[method].result
        if result is None:
            return "", Verdict.NONE
        error = float(result.ess_trajectory[:, 0].std(ddof=1) * len(result.ess_trajectory) ** 0.5 / result.ess[0])
        values[method] = (narrow_part_per_1e5(result), error)
    return ranking_of(values)


def _no_winner(cells: Cells) -> tuple[str, Verdict]:
    """ISG leads in the first row, VARI in the second."""
    first = leads("isg", "vari", "mct", row=0)(cells)
    second = leads("vari", "isg", "mct", row=1)(cells)
    verdicts = {first[1], second[1]}
    if verdicts == {Verdict.AGREE}:
        return f"q1: {first[0]}; q2: {second[0]}", Verdict.AGREE
    is_contradicted = any(_leads_everywhere(cells, method) == Verdict.AGREE for method in METHODS)
    return f"q1: {first[0]}; q2: {second[0]}", Verdict.DISAGREE if is_contradicted else Verdict.NONE


def _leads_everywhere(cells: Cells, method: str) -> Verdict:
    others = [other for other in METHODS if other != method]
    found = {leads(method, *others, row=row)(cells)[1] for row in (0, 1)}
    return Verdict.AGREE if found == {Verdict.AGREE} else Verdict.NONE


def _first_run_underestimates(cells: Cells) -> tuple[str, Verdict]:
    """After MCT's first run |log S| is too small; the second run's anchor is 1.1 log S for that reason."""
    result = cells["mct"].result
    if result is None:
        return "", Verdict.NONE
    k = int(np.flatnonzero(result.history_time <= _FIRST_RUN_TIME)[-1])
    final = np.log(result.scale)
    largest = int(np.argmax(np.abs(final.mean(axis=0))))
    share = np.log(result.history_scale[:, k, largest]) / final[:, largest]
    error = float(share.std(ddof=1)) / math.sqrt(len(share))
    evidence = f"log S of {result.names[largest]} after run one is {share.mean():.3f} ± {error:.3f} times the final one"
    return evidence, decide([1.0 - float(share.mean())], [error])


def _correlation(target: str, published: float) -> Statement:
    def check(cells: Cells) -> tuple[str, Verdict]:
        value, error = largest_correlation(target)
        agrees = abs(value - published) <= 0.05 + 2.0 * error
        return f"{value:.3f} ± {error:.3f}", Verdict.AGREE if agrees else Verdict.DISAGREE

    text = f"On {target}, the largest correlation of two coefficients is about {published:g}."
    return Statement(target, text, check, methods=())


def _same(target: str) -> Statement:
    return Statement(target, f"On {target}, the three methods find the same S.", same_scale)


_WORST = "the worst coordinate's ESS per evaluation"

STATEMENTS: tuple[Statement, ...] = (
    _same("G1"),
    Statement("G1", "On G1, S varies least over trajectories by MCT.", varies_most("mct", least=True)),
    Statement("G1", "On G1, no method stands out: ESS per evaluation within 12 %.", alike(0.12)),
    _same("G2"),
    Statement("G2", "On G2, S varies least over trajectories by MCT.", varies_most("mct", least=True)),
    Statement("G3", f"On G3, ISG beats VARI in {_WORST}.", leads("isg", "vari"), ("isg", "vari")),
    Statement("G3", "On G3, MCT's S is near VARI's, within a tenth.", scale_ratio("mct", "vari", 0.9, 1.1)),
    Statement("G3", "On G3, ISG's S is a third of VARI's.", scale_ratio("isg", "vari", 0.28, 0.36), ("isg", "vari")),
    _same("G4"),
    Statement("NG1", "On NG1, no method stands out: ESS per evaluation within 12 %.", alike(0.12)),
    Statement("NG1", "On NG1, S varies most over trajectories by VARI.", varies_most("vari")),
    Statement("NG2", f"On NG2, ISG beats VARI in {_WORST}.", leads("isg", "vari"), ("isg", "vari")),
    Statement("NG2", f"On NG2, ISG is the best in {_WORST}.", leads("isg", "vari", "mct")),
    Statement("NG3", "On NG3, MCT's S₁ is the largest: it sees the time between modes.", largest_scale("mct", 0)),
    Statement("NG3", "On NG3, MCT takes twice VARI's evaluations.", costs_more("mct", "vari", 2.0), ("mct", "vari")),
    Statement("NG3", f"On NG3, ISG is the best in {_WORST}.", leads("isg", "vari", "mct")),
    Statement("F1", "On F1, no method wins throughout: ISG leads in q1, VARI in q2.", _no_winner),
    Statement("F2", f"On F2, ISG beats VARI in {_WORST}.", leads("isg", "vari"), ("isg", "vari")),
    Statement("F2", f"On F2, the methods rank ISG > MCT > VARI by {_WORST}.", ranks("isg", "mct", "vari")),
    Statement(
        "F2",
        "On F2, the methods rank ISG > MCT > VARI in the funnel's narrow part, by the ESS per evaluation of "
        "P(q1 ≤ its 5 % point).",
        _narrow_part,
        needs_draws=True,
    ),
    Statement("F2", "On F2, S varies most over trajectories by VARI.", varies_most("vari")),
    Statement("BLR1", f"On BLR1, MCT is the best in {_WORST}.", leads("mct", "vari", "isg")),
    _correlation("BLR1", 0.6),
    Statement("BLR2", f"On BLR2, VARI is the worst in {_WORST}.", lambda cells: _is_last(cells, "vari")),
    _correlation("BLR2", 0.8),
    Statement(
        "G2",
        "On G2, MCT's first run underestimates a large log S (Appendix A).",
        _first_run_underestimates,
        ("mct",),
        needs_draws=True,
    ),
)


def _is_last(cells: Cells, method: str) -> tuple[str, Verdict]:
    values = {name: cell.worst for name, cell in cells.items()}
    others = [name for name in values if name != method]
    found = [ranking_of({name: values[name], method: values[method]})[1] for name in others]
    evidence = ", ".join(f"{name.upper()} {value:.3g} ± {value * error:.2g}" for name, (value, error) in values.items())
    if Verdict.DISAGREE in found:
        return evidence, Verdict.DISAGREE
    return evidence, Verdict.NONE if Verdict.NONE in found else Verdict.AGREE


def conclusions(results: Sequence[CellResult]) -> list[Conclusion]:
    """Check the paper's statements on the cells of one integrator, as far as these have been run."""
    return check_statements(our_cells(results))


def check_statements(cells: dict, *, with_draws: bool = True) -> list[Conclusion]:
    """Check what can be checked on these cells, by target and method."""
    found = []
    for statement in STATEMENTS:
        of_target = {
            method: cells[statement.target, method] for method in METHODS if (statement.target, method) in cells
        }
        if (
            not of_target
            or not set(statement.methods) <= of_target.keys()
            or (statement.needs_draws and not with_draws)
        ):
            continue
        evidence, verdict = statement.check(of_target)
        found.append(Conclusion(statement.target, statement.text, evidence, verdict))
    return found
