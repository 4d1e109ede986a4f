"""The command `grhmc doctor`: whether this installation is in order, and what to do where it is not."""

from __future__ import annotations

import typer
from rich.console import Console

from grhmc._terminal import printable

PROBLEM = 1
"""Exit code if something is wrong."""

_STYLES = {"ok": "green", "note": "yellow", "problem": "bold red"}


def doctor_command() -> None:
    """Check this installation: versions, optional packages, compiled kernels, threads, and a run of known answer.

    Exit codes: 0 all is well, or worth a note only; 1 something is wrong, and the line says what to do.
    """
    from grhmc.doctor.examine import examine

    console = Console(soft_wrap=True)
    # On standard error, so that a report that goes to a file holds the report only.
    Console(stderr=True).print("A short run follows; the first one on a machine compiles the kernels.", highlight=False)
    problems = 0
    for finding in examine():
        problems += finding.state == "problem"
        line = printable(f"{finding.state:<8}", _STYLES[finding.state])
        line.append_text(printable(f"{finding.name:<22} {finding.text}"))
        console.print(line, highlight=False)
        if finding.advice:
            console.print(printable(f"{'':<8}{'':<22} → {finding.advice}"), highlight=False)
    if problems:
        console.print(printable(f"{problems} problem{'s' if problems > 1 else ''}", "bold red"), highlight=False)
        raise typer.Exit(code=PROBLEM)
    console.print("No problems.", highlight=False)
