"""Chains that a result lacks because the run ended while they had few draws."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from grhmc.diagnosis.report import WARNING, Finding
from grhmc.results.record import LEFT_OUT


def find_left_out_chains(attributes: Mapping[Hashable, Any]) -> list[Finding]:
    """A warning if the result with these attributes lacks chains: they may be slow because of where they are."""
    if LEFT_OUT not in attributes:
        return []
    chains, rule = str(attributes[LEFT_OUT]), attributes.get("stopped_by")
    message = (
        f"the run ended{f' by {rule}' if rule else ''} before these chains had a quarter of the draws of the longest, "
        f"and they are left out: {chains}. If the log density takes longer where they are, what is left misses that "
        "place. Give the run more time, end it by `max_gradients`, which treats chains alike, or use as many `cores` "
        "as chains."
    )
    return [Finding("left_out_chains", WARNING, message, value=float(len(chains.split(", "))), limit=0.0)]
