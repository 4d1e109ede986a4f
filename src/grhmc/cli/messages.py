"""What the commands say when something is wrong: errors in a line, warnings once and readable, and exit codes.

0: done, whatever was warned of. 1: `doctor` or `paper` found that something is wrong. 2: a wrong argument, or a run
that could not go on. 3: done, but the draws are in doubt and ``--strict`` was given. 130: interrupted.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer
from rich.console import Group
from rich.panel import Panel
from rich.text import Text

from grhmc._terminal import print_if_possible, printable
from grhmc.outcomes import SamplingError

if TYPE_CHECKING:
    import xarray

    from grhmc.diagnosis import SamplingWarning

ERROR, IN_DOUBT, INTERRUPTED = 2, 3, 130
"""Exit codes."""


@contextlib.contextmanager
def readable_errors() -> Iterator[None]:
    """Say what is wrong without a traceback, where that is all there is to know."""
    try:
        yield
    except (ValueError, OSError, ImportError, SamplingError) as error:
        print_if_possible(printable(f"error: {error}", "red"))
        raise typer.Exit(code=ERROR) from error
    except KeyboardInterrupt:
        print_if_possible("Stopped before there was a result.", "red")
        raise typer.Exit(code=INTERRUPTED) from None


@contextlib.contextmanager
def readable_warnings() -> Iterator[list[SamplingWarning]]:
    """Show what was warned of once the block has ended, each warning once and without the line of code it came from.

    Yields
    ------
    list of SamplingWarning
        Filled at the end of the block.
    """
    from grhmc.diagnosis import SamplingWarning

    in_doubt: list[SamplingWarning] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield in_doubt
        finally:
            shown = set()
            for entry in caught:
                text = str(entry.message)
                if text in shown:
                    continue
                shown.add(text)
                if isinstance(entry.message, SamplingWarning):
                    in_doubt.append(entry.message)
                    print_if_possible(_panel(entry.message))
                else:
                    kind = "" if entry.category is UserWarning else f"{entry.category.__name__}: "
                    print_if_possible(printable(f"warning: {kind}{text}", "yellow"))


def _panel(warning: SamplingWarning) -> Panel:
    """A diagnosis, one paragraph a finding."""
    findings = [
        Text.assemble("\n" if number else "", printable(finding.code, "bold"), ": ", printable(finding.message))
        for number, finding in enumerate(warning.report.warnings)
    ]
    title = printable(str(warning).partition("\n")[0].rstrip(":"), "bold yellow")
    return Panel(Group(*findings), title=title, title_align="left", border_style="yellow", padding=(0, 1))


def exit_if_interrupted(*results: xarray.DataTree) -> None:
    """End with the exit code of an interrupt if a run was cut short."""
    if any("INTERRUPTED" in str(result.attrs.get("outcomes", "")) for result in results):
        raise typer.Exit(code=INTERRUPTED)
