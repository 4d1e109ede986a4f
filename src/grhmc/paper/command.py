"""`grhmc paper`: run the paper's tables and figures again and say where they agree."""

from __future__ import annotations

import time
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperCommand


class Method(StrEnum):
    """How S is tuned."""

    VARI = "vari"
    ISG = "isg"
    MCT = "mct"
    GEO = "geo"


class Integrator(StrEnum):
    """What integrates the dynamics."""

    SPLITTING = "splitting"
    RKN43 = "rkn43"
    RKN64 = "rkn64"
    LSODA = "lsoda"


class RuleOfEventRate(StrEnum):
    """How the event rate is tuned."""

    AS_RUN = "as_run"
    AS_STATED = "as_stated"


LIST_OPTIONS = ("--tables", "--target", "--method", "--integrator")


class ListOptionsCommand(TyperCommand):
    """A command some of whose options take several values: ``--tables 1 2`` besides ``--tables 1 --tables 2``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Name the option before each of its values, as Click wants it."""
        return super().parse_args(ctx, repeat_option_names(args))


def repeat_option_names(arguments: Sequence[str]) -> list[str]:
    """Turn ``--tables 1 2`` into ``--tables 1 --tables 2``."""
    repeated: list[str] = []
    option, n_values = "", 0
    for argument in arguments:
        if argument.startswith("-"):
            option, n_values = (argument if argument in LIST_OPTIONS else ""), 0
        elif option:
            n_values += 1
            if n_values > 1:
                repeated.append(option)
        repeated.append(argument)
    return repeated


def paper(
    output: Annotated[Path, typer.Option(help="Folder for the tables, the report, and one file per finished cell.")],
    model: Annotated[
        str | None,
        typer.Option(
            help="The same comparison on a model of your own, named as for `grhmc sample`: model.stan, a compiled Stan "
            "model (.so), file.py:name or module:name. It runs that code."
        ),
    ] = None,
    data: Annotated[Path | None, typer.Option(help="JSON file with the data of a Stan program, for --model.")] = None,
    tables: Annotated[list[int] | None, typer.Option(min=1, help="Which tables. Default: all.")] = None,
    target: Annotated[list[str] | None, typer.Option(help="Which targets, such as G1 NG3. Default: all.")] = None,
    figures: Annotated[bool, typer.Option("--figures/--no-figures", help="Draw the figures, too.")] = True,
    figures_only: Annotated[
        bool, typer.Option("--figures-only", help="Run no cell: report and figures from those that are finished.")
    ] = False,
    method: Annotated[
        list[Method] | None, typer.Option(help="Which methods. Default: the paper's three, vari, isg and mct.")
    ] = None,
    integrator: Annotated[
        list[Integrator] | None,
        typer.Option(
            help="Which integrators. Default: rkn64 for tables 1 to 3, splitting for the regressions of table 4. "
            "lsoda is the published one: slow, see --scale-down."
        ),
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(help="Default: the published 1e-6 for rkn64 and lsoda, the package's own for the others."),
    ] = None,
    scale_down: Annotated[int, typer.Option(min=1, help="Sample shorter by this factor; tuning stays as long.")] = 1,
    jobs: Annotated[int, typer.Option(min=1, help="Processes; with --model, threads.")] = 1,
    seed: Annotated[int, typer.Option(min=0)] = 2024,
    event_rate_rule: Annotated[
        RuleOfEventRate,
        typer.Option(help="How the event rate is tuned: as for the published tables, or as the papers state it."),
    ] = RuleOfEventRate.AS_RUN,
) -> None:
    """Run the tables and figures of Tran & Kleppe (2024) again and compare cell by cell with what was published.

    A run that was stopped continues where it was: finished cells are in files and are not run again. A cell that fails
    is named, and the others are run and reported all the same. The exit code is 1 if a cell failed, or if a number, a
    pooled test or a moment disagrees.

    With --model there are no published numbers: the report has the same tables without verdicts.
    """
    options = {
        "methods": [one.value for one in method] if method else ["vari", "isg", "mct"],
        "integrators": [one.value for one in integrator] if integrator else None,
        "tolerance": tolerance,
        "scale_down": scale_down,
        "seed": seed,
        "event_rate_rule": event_rate_rule.value,
    }
    if model is not None:
        if tables or target:
            raise typer.BadParameter("--model stands for a target of its own: leave out --tables and --target")
        _on_own_model(model, data, output, jobs, figures or figures_only, figures_only, options)
        return
    if data is not None:
        raise typer.BadParameter("--data is for the Stan program of --model")
    from grhmc.paper.counts import console_lines, exit_code
    from grhmc.paper.figures import draw_figures
    from grhmc.paper.run_cells import Programme, finished_cells, plan_cells, run_programme
    from grhmc.paper.write_report import write_report

    console = Console()
    began = time.perf_counter()
    cells = plan_cells(
        tables=tables or None,
        targets=_check_targets(target),
        **options,
    )
    if not cells:
        raise typer.BadParameter("no target is left: none of those given with --target is in one of the --tables")
    cells_directory = output / "cells"
    try:
        if figures_only:
            results, failures = Programme(finished_cells(cells, cells_directory), {})
        else:
            results, failures = run_programme(cells, cells_directory, jobs, console)
        if not results:
            console.print(f"There are no finished cells in {cells_directory}.", highlight=False, markup=False)
            raise typer.Exit(1)
        pictures = draw_figures(output, cells_directory, results, jobs, console) if figures or figures_only else []
    except KeyboardInterrupt:
        console.print("Stopped. Finished cells are kept: the same command goes on from there.")
        raise typer.Exit(130) from None
    counts = write_report(output, results, pictures, time.perf_counter() - began)
    for line in console_lines(counts):
        console.print(line, highlight=False, markup=False)
    console.print(
        f"Wrote tables.csv, moments.csv, report.html and report.md to {output}", highlight=False, markup=False
    )
    if failures:
        names = ", ".join(f"{cell.target} {cell.method.upper()}" for cell in failures)
        console.print(f"{len(failures)} of {len(cells)} cells failed: {names}", highlight=False, markup=False)
        raise typer.Exit(1)
    raise typer.Exit(exit_code(counts))


def _on_own_model(
    name: str, data: Path | None, output: Path, jobs: int, draws: bool, figures_only: bool, options: dict[str, Any]
) -> None:
    """Run the cells of a user's model and report them; `draws` says whether figures are drawn."""
    from grhmc.paper.own_model import draw_own_figures, own_model, plan_own_cells, run_own_cells
    from grhmc.paper.own_report import own_ranking, write_own_report
    from grhmc.paper.run_cells import Programme, finished_cells

    console = Console()
    began = time.perf_counter()
    try:
        own = own_model(name, data)
    except (ValueError, OSError, ImportError) as error:
        raise typer.BadParameter(str(error)) from error
    cells = plan_own_cells(own, **options)
    directory = output / "cells" / own.fingerprint
    try:
        if figures_only:
            results, failures = Programme(finished_cells(cells, directory), {})
        else:
            results, failures = run_own_cells(own, cells, directory, jobs, console)
        if not results:
            console.print(f"There are no finished cells in {directory}.", highlight=False, markup=False)
            raise typer.Exit(1)
        pictures = draw_own_figures(own, output, directory, results, jobs, console) if draws else []
    except KeyboardInterrupt:
        console.print("Stopped. Finished cells are kept: the same command goes on from there.")
        raise typer.Exit(130) from None
    write_own_report(output, own.name, results, pictures, time.perf_counter() - began)
    for path in dict.fromkeys(result.cell.path for result in results):
        ranking = own_ranking([result for result in results if result.cell.path == path])
        values = ", ".join(f"{one.upper()} {value:.4g} ± {error:.2g}" for one, (value, error) in ranking.ours.items())
        console.print(f"{path}: worst ESS per 100 000 evaluations {values}", highlight=False, markup=False)
    console.print(
        f"Wrote tables.csv, moments.csv, report.html and report.md to {output}", highlight=False, markup=False
    )
    if failures:
        raise typer.Exit(1)


def _check_targets(names: Sequence[str] | None) -> tuple[str, ...] | None:
    from grhmc.paper.targets import TARGETS

    unknown = [name for name in names or () if name not in TARGETS]
    if unknown:
        raise typer.BadParameter(f"there is no target {unknown[0]!r}; choose from {', '.join(TARGETS)}")
    return tuple(names) if names else None
