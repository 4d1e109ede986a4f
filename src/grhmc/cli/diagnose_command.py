"""`grhmc diagnose`: what speaks against the draws in a file, whoever made them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from grhmc.cli.messages import IN_DOUBT, readable_errors
from grhmc.cli.summary_table import summary_table


def diagnose_command(
    file: Annotated[
        Path, typer.Argument(help="NetCDF file or zarr store of draws, of grhmc, PyMC, Stan, NumPyro, ...")
    ],
    strict: Annotated[bool, typer.Option("--strict", help="Exit with code 3 if the draws are in doubt.")] = False,
) -> None:
    """Print a summary of the draws in a file, and what speaks against them."""
    console = Console()
    with readable_errors():
        import xarray

        from grhmc.diagnosis import diagnose
        from grhmc.results.summaries import summary

        if not file.exists():
            raise FileNotFoundError(f"there is no file {str(file)!r}")
        with xarray.open_datatree(file, engine="zarr" if file.is_dir() else None) as result:
            table, report = summary_table(summary(result)), diagnose(result)
    console.print(table)
    console.print(str(report), markup=False, highlight=False, soft_wrap=True)
    if strict and not report.is_healthy:
        raise typer.Exit(code=IN_DOUBT)
