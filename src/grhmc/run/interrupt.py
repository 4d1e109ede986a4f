"""What to keep of a run that was stopped before its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grhmc.run.chain_record import ChainRecord


def worth_keeping(records: Sequence[ChainRecord]) -> list[ChainRecord]:
    """The chains to keep: results are cut to their shortest, so those that together leave most draws.

    Where there are fewer threads than chains, some chains may be complete when others have not begun.
    """
    lengths = [len(record.draws) for record in records]
    shortest = max(lengths, key=lambda length: length * sum(other >= length for other in lengths))
    return [record for record in records if len(record.draws) >= shortest]
