"""What a diagnosis says: findings, each in words for a modeller and as data."""

from __future__ import annotations

import html
import json
import math
import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from grhmc._terminal import without_control_characters

NOTE, WARNING = "note", "warning"
"""Severities: worth knowing, and: do not use the draws before you have understood this."""

_WIDTH = 100
_MAX_NAMED = 5
_LONGEST_SHOWN = 60


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
        return without_control_characters(f"[{self.code}] {self.message}")

    def to_dict(self) -> dict[str, Any]:
        """What JSON can hold: nan and infinities become None."""
        data = asdict(self)
        for name in ("value", "limit"):
            if not math.isfinite(data[name]):
                data[name] = None
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Finding:
        """The inverse of `to_dict`.

        Raises
        ------
        ValueError
            If something is missing or of another type.
        """
        if not isinstance(data, dict):
            raise ValueError(f"a finding must be an object with code, severity and message, not {_shown(data)}")
        code, severity, message = (_checked(data, name, str) for name in ("code", "severity", "message"))
        if severity not in (NOTE, WARNING):
            raise ValueError(f"a finding's severity must be {NOTE!r} or {WARNING!r}, not {_shown(severity)}")
        variables = tuple(_checked_list(data, "variables", str))
        chains = tuple(_checked_list(data, "chains", int))
        return cls(code, severity, message, variables, chains, _figure(data, "value"), _figure(data, "limit"))


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
        """The inverse of `to_json`.

        Raises
        ------
        ValueError
            If the text is not what `to_json` writes, whatever it is.
        """
        try:
            items = json.loads(text)
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"a report must be JSON as of Report.to_json, not {_shown(text)}: {error}") from None
        if not isinstance(items, list):
            raise ValueError(f"a report must be a list of findings in JSON, not {_shown(items)}")
        return cls(tuple(Finding.from_dict(item) for item in items))


def _shown(value: object) -> str:
    """The beginning of a value, for an error message."""
    try:
        return repr(value)[:_LONGEST_SHOWN]
    except (RecursionError, ValueError):  # nested too deeply, or a number of too many digits
        return f"a {type(value).__name__}"


def _checked(data: dict[str, Any], name: str, kind: type) -> Any:
    value = data.get(name)
    if not isinstance(value, kind):
        raise ValueError(f"a finding's {name} must be a {kind.__name__}, not {_shown(value)}")
    return value


def _checked_list(data: dict[str, Any], name: str, kind: type) -> list[Any]:
    values = data.get(name, [])
    if not isinstance(values, list | tuple) or not all(isinstance(value, kind) for value in values):
        raise ValueError(f"a finding's {name} must be a list of {kind.__name__}, not {_shown(values)}")
    return list(values)


def _figure(data: dict[str, Any], name: str) -> float:
    value = data.get(name)
    if value is None:
        return math.nan
    if not isinstance(value, float | int):
        raise ValueError(f"a finding's {name} must be a number or null, not {_shown(value)}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"a finding's {name} is an integer that no float can hold") from None


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
