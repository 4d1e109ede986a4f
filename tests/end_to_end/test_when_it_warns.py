"""The examples of docs/when-it-warns.md do what they stand for: each provokes the warning it is shown under."""

from __future__ import annotations

import functools
import re
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import grhmc

PAGE = Path(__file__).parents[2] / "docs" / "when-it-warns.md"


class Example(NamedTuple):
    code: str
    """Of the finding it provokes; empty if none is asked for."""
    source: str


@functools.cache
def examples() -> tuple[Example, ...]:
    pattern = r"(?:<!-- warns: (\w+) -->\n)?```python\n(.*?)```"
    return tuple(Example(code, source) for code, source in re.findall(pattern, PAGE.read_text("utf-8"), re.DOTALL))


@functools.cache
def findings_by_example() -> dict[str, set[str]]:
    """Run the page from top to bottom; the findings of each example that asks for one."""
    names: dict[str, Any] = {}
    found = {}
    for example in examples():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if example.code else "error")
            exec(compile(example.source, str(PAGE), "exec"), names)
        if example.code:
            report = grhmc.Report.from_json(names["result"].attrs["diagnosis"])
            found[example.code] = {finding.code for finding in report}
    return found


@pytest.mark.parametrize("code", [example.code for example in examples() if example.code])
def test_an_example_provokes_its_warning(code: str) -> None:
    assert code in findings_by_example()[code]


def test_every_kind_of_finding_is_on_the_page() -> None:
    package = Path(grhmc.diagnosis.__file__).parent  # type: ignore[attr-defined]
    source = "".join(path.read_text("utf-8") for path in package.glob("*.py"))
    codes = set(re.findall(r'Finding\(\s*f?"([a-z_]+)"', source)) | {
        "bulk_ess",
        "tail_ess",
        "energy_error",
        "diverging",
    }
    codes |= {"scale_moving", "event_rate_moving"}
    headings = " ".join(line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("## "))
    assert {code for code in codes if code not in headings} == set()
