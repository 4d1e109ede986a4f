"""Reasons that were found for rows in which ours and the published numbers differ; the report prints them."""

from __future__ import annotations

_REMARKS: dict[tuple[str, str, str, str], str] = {}

_UNEXPLAINED = "No reason is known."


def remark(kind: str, target: str, method: str, coordinate: str) -> str:
    """What is known about a disagreement.

    Parameters
    ----------
    kind : {"scale", "ess", "moment"}
    target, method, coordinate : str
        As in the tables; entries with an empty method or coordinate stand for all of them.
    """
    for key in (
        (kind, target, method, coordinate),
        (kind, target, method, ""),
        (kind, target, "", coordinate),
        (kind, target, "", ""),
    ):
        if key in _REMARKS:
            return _REMARKS[key]
    return _UNEXPLAINED
