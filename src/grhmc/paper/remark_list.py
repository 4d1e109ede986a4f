"""The report's list of disagreements, grouped by what explains them."""

from __future__ import annotations

from collections.abc import Sequence

from grhmc.paper.cells import CellResult
from grhmc.paper.conclusion import Conclusion
from grhmc.paper.moments import Moment
from grhmc.paper.remarks import NOT_EXPLAINED, conclusion_remark, ess_remark, moment_remark, scale_remark
from grhmc.paper.verdicts import Verdict, compare_cell


def remarks_on_numbers(
    results: Sequence[CellResult], moments: Sequence[Moment], all_results: Sequence[CellResult]
) -> list[str]:
    """Every row and moment of one integrator that disagrees; `all_results` are those of the whole report."""
    by_reason: dict[str, list[str]] = {}
    for result in results:
        cell = result.cell
        label = f"{cell.target} {cell.method.upper()}"
        for row in compare_cell(result):
            if row.published is None:
                continue
            if row.s_verdict == Verdict.DISAGREE:
                words = f"{label} {row.coordinate}, S {row.s_mean:.3f} where {row.published.s_mean:.2f} is published"
                by_reason.setdefault(scale_remark(row), []).append(words)
            if row.sd_verdict == Verdict.DISAGREE:
                words = f"{label} {row.coordinate}, SD of S {row.s_sd:.3f} where {row.published.s_sd:.3f} is published"
                by_reason.setdefault(scale_remark(row), []).append(words)
            if row.ess_verdict == Verdict.DISAGREE:
                reason, numbers = ess_remark(row, result)
                words = f"{label} {row.coordinate}, ESS over the published one {numbers}"
                by_reason.setdefault(reason, []).append(words)
        wrong = [m for m in moments if (m.target, m.method) == (cell.target, cell.method) and not m.agrees]
        for reason in dict.fromkeys(moment_remark(moment, result, all_results) for moment in wrong):
            concerned = [moment for moment in wrong if moment_remark(moment, result, all_results) == reason]
            worst = max(concerned, key=lambda moment: abs(moment.z))
            words = (
                f"{label}, {len(concerned)} of its moments, most of all the {worst.quantity} of {worst.name}, "
                f"{worst.estimate:.4f} for {worst.expected:.4f} ({worst.z:+.1f} s.e.)"
            )
            by_reason.setdefault(reason, []).append(words)
    ordered = sorted(by_reason, key=lambda reason: reason == NOT_EXPLAINED)
    return [f"{reason} This concerns {'; '.join(by_reason[reason])}." for reason in ordered]


def remarks_on_conclusions(found: Sequence[Conclusion], results: Sequence[CellResult]) -> list[str]:
    """What is known of those that are contradicted."""
    return [f"{one.statement} {conclusion_remark(one, results)}" for one in found if one.verdict == Verdict.DISAGREE]
