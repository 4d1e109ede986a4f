"""Reasons that were found for rows in which ours and the published numbers differ; the report prints them."""

from __future__ import annotations

from grhmc.paper.cells import PAPER_TOLERANCE, Cell

_EVENT_RATE = (
    "The published event rates were lower than the stated rule gives, by a factor of about 1.3 on every target: what a "
    "path took beyond its due refreshment was added to the next time to a U-turn (docs/paper.md)."
)
_TOLERANCE = (
    "The integrator's bias at this tolerance: about one part in a hundred of a variance. It shows because there are "
    "hundreds of thousands of effective draws; at 1e-6 it is gone."
)
_TAILS = "q2 has tails so long that its ESS depends on a few excursions; ten trajectories leave it this uncertain."

_FUNNELS = ("F1", "F2")
_LOOSE = 100.0 * PAPER_TOLERANCE


def remark(kind: str, cell: Cell, coordinate: str) -> str:
    """What is known about a disagreement.

    Parameters
    ----------
    kind : {"scale", "ess", "moment"}
    cell : Cell
    coordinate : str
        As in the tables.
    """
    if kind == "moment" and cell.tolerance > _LOOSE:
        return _TOLERANCE
    if kind == "ess" and cell.target in _FUNNELS and coordinate == "2":
        return _TAILS
    if kind == "ess" and cell.event_rate_rule == "as_stated":
        return _EVENT_RATE
    return "No reason is known."


CONCLUSION_REMARKS = {
    "G3": (
        "The published lead is 18 % and counts LSODA's evaluations, with which it is 13 ± 3 % here; RKN 6(4) at 1e-6 "
        "spends relatively more on ISG's longer paths."
    ),
    "F2": (
        "The ESS of q2's mean rests on whether a run holds a single excursion of some 600 time units to |q2| > 100. Of "
        "15 full runs one, with such an excursion in one of VARI's trajectories, ranks the methods as published; in "
        "most, VARI comes first. The spread of 150 trajectory means about the exact one gives ISG 16 ± 5, MCT 25 ± 5 "
        "and VARI 27 ± 13 per 100 000 evaluations: no ranking. In the narrow part it is firm (docs/paper.md)."
    ),
}
"""Why a conclusion need not hold, by target."""
