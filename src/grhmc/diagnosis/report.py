"""What a diagnosis says: findings, each in words for a modeller and as data."""

from __future__ import annotations

import html
import json
import math
import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

NOTE, WARNING = "note", "warning"
"""Severities: worth knowing, and: do not use the draws before you have understood this."""

_WIDTH = 100
_MAX_NAMED = 5


@dataclass(frozen=True)
class Finding:
    """One thing that a diagnosis found.

    Attributes
    ----------
    code : str
        What kind, a word that does not change between versions: ``"r_hat"``, ``"bulk_ess"``, ...
        (docs/when-it-warns.md lists them).
    severity : str
        ``"warning"`` or ``"note"``.
    message : str
        What it is, what it means and what to do.
    variables : tuple of str
        Parameters concerned, the worst first.
    chains : tuple of int
        Chains concerned; empty where it is all of them.
    value, limit : float
        The figure, and the value that it would have to pass; nan where there is none.
    """

    code: str
    severity: str
    message: str
    variables: tuple[str, ...] = ()
    chains: tuple[int, ...] = ()
    value: float = math.nan
    limit: float = math.nan

    def __str__(self) -> str:
        return f"[{self.code}] {self.message}"

    def to_dict(self) -> dict[str, Any]:
        """What JSON can hold: nan and infinities become None."""
        data = asdict(self)
        for name in ("value", "limit"):
            if not math.isfinite(data[name]):
                data[name] = None
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Finding:
        """The inverse of `to_dict`."""
        figures = {name: math.nan if data.get(name) is None else float(data[name]) for name in ("value", "limit")}
        return cls(
            str(data["code"]),
            str(data["severity"]),
            str(data["message"]),
            tuple(map(str, data.get("variables", ()))),
            tuple(map(int, data.get("chains", ()))),
            **figures,
        )


@dataclass(frozen=True)
class Report:
    """All that a diagnosis found, the most serious first.

    It can be printed, looped over, and turned into JSON and back.

    Attributes
    ----------
    findings : tuple of Finding
    """

    findings: tuple[Finding, ...] = ()

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings that put the draws in doubt."""
        return tuple(finding for finding in self.findings if finding.severity == WARNING)

    @property
    def notes(self) -> tuple[Finding, ...]:
        """The others."""
        return tuple(finding for finding in self.findings if finding.severity != WARNING)

    @property
    def codes(self) -> tuple[str, ...]:
        """Codes of all findings, in order."""
        return tuple(finding.code for finding in self.findings)

    @property
    def is_healthy(self) -> bool:
        """True if there is no warning."""
        return not self.warnings

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __str__(self) -> str:
        if not self.findings:
            return "Nothing suspicious was found."
        lines = []
        for title, findings in (("Warnings", self.warnings), ("Notes", self.notes)):
            if findings:
                lines.append(f"{title}:")
                lines += [
                    textwrap.fill(str(finding), _WIDTH, initial_indent="- ", subsequent_indent="  ")
                    for finding in findings
                ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        if not self.findings:
            return f"<p>{html.escape(str(self))}</p>"
        items = "".join(
            f"<li><b>{html.escape(f.severity)}: {html.escape(f.code)}</b> {html.escape(f.message)}</li>" for f in self
        )
        return f"<ul>{items}</ul>"

    def to_json(self) -> str:
        """As text; `result.attrs["diagnosis"]` holds it."""
        return json.dumps([finding.to_dict() for finding in self.findings], allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Report:
        """The inverse of `to_json`."""
        return cls(tuple(Finding.from_dict(item) for item in json.loads(text)))


def listed(names: tuple[str, ...] | list[str]) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return ", ".join(names[:_MAX_NAMED]) + more


def listed_chains(chains: tuple[int, ...] | list[int]) -> str:
    """`chain 2`, or `chains 0 and 2`."""
    words = [str(chain) for chain in chains]
    if len(words) == 1:
        return f"chain {words[0]}"
    return f"chains {', '.join(words[:-1])} and {words[-1]}"
