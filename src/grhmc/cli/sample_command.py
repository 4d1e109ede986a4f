"""The command `grhmc sample`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grhmc.cli.messages import ERROR, IN_DOUBT, exit_if_interrupted, readable_errors, readable_warnings
from grhmc.cli.options import (
    BudgetOption,
    ChainsOption,
    IntegratorOption,
    MaxGradientsOption,
    MaxRankOption,
    MaxTimeOption,
    MetricOption,
    ProcessOption,
    TargetOption,
    ToleranceOption,
    UntilEssOption,
    UntilRhatOption,
    chosen_process,
    chosen_rule,
)
from grhmc.cli.output import check_output, save_result, saving_what_was_drawn
from grhmc.cli.summary_table import summary_table
from grhmc.settings import GRADIENT_BUDGET, Scale

if TYPE_CHECKING:
    import xarray

MODEL_HELP = (
    "model.stan, a compiled Stan model (.so), file.py:name or module:name. All of these run code: name only files that "
    "you trust. A Python file is executed as a whole."
)


def sample_command(
    model: Annotated[
        str,
        typer.Argument(help=MODEL_HELP),
    ],
    data: Annotated[Path | None, typer.Option(help="JSON file with the data of a Stan program.")] = None,
    output: Annotated[Path | None, typer.Option(help="Where to write the result: .nc or .zarr.")] = None,
    store: Annotated[
        str | None, typer.Option(help="New folder to write the run to as it goes; `grhmc resume` goes on with it.")
    ] = None,
    draws: Annotated[
        int | None, typer.Option(min=1, help="Draws kept per chain, at most; 1000, or 100 000 with --until.")
    ] = None,
    tune: Annotated[int, typer.Option(min=0, help="Warm-up draws per chain.")] = 1000,
    chains: ChainsOption = 4,
    cores: Annotated[int | None, typer.Option(min=1)] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="The same seed gives the same draws.")] = None,
    scale: Annotated[Scale, typer.Option(help="How the diagonal scale is tuned.")] = "geo",
    metric: MetricOption = "auto",
    max_rank: MaxRankOption = None,
    process: ProcessOption = "discrete",
    integrator: IntegratorOption = None,
    target_accept: TargetOption = None,
    tolerance: ToleranceOption = None,
    gradient_budget: BudgetOption = GRADIENT_BUDGET,
    until_ess: UntilEssOption = None,
    until_rhat: UntilRhatOption = None,
    max_time: MaxTimeOption = None,
    max_gradients: MaxGradientsOption = None,
    save_warmup: Annotated[bool, typer.Option(help="Keep the draws of the warm-up.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with code 3 if the draws are in doubt.")] = False,
) -> None:
    """Sample a model: print a summary, and write the draws where asked.

    Exit codes: 0 done, 2 a wrong argument or a run that could not go on, 3 draws in doubt (with --strict), 130
    interrupted.
    """
    from rich.console import Console

    from grhmc.models.named import load_model
    from grhmc.sampling import sample

    with readable_errors():
        chosen = chosen_process(process, integrator, tolerance, target_accept)
        if output is not None:
            check_output(output)
        with readable_warnings():
            log_density = load_model(model, data)
        if output is not None:
            check_output(output, log_density)
        with readable_warnings() as in_doubt, saving_what_was_drawn(output):  # on the disk before anything is printed
            result = sample(
                log_density,
                draws=draws,
                tune=tune,
                chains=chains,
                cores=cores,
                seed=seed,
                scale=scale,
                metric=metric,
                max_rank=max_rank,
                process=chosen,
                gradient_budget=gradient_budget,
                store=store,
                until=chosen_rule(until_ess, until_rhat),
                max_time=max_time,
                max_gradients=max_gradients,
                save_warmup=save_warmup,
            )
            saved = None if output is None else save_result(result, output)
        print_result(result)
        if saved is not None:
            Console().print(f"Draws: {saved}", soft_wrap=True, highlight=False, markup=False)
        exit_if_interrupted(result)
    if saved != output:
        raise typer.Exit(code=ERROR)
    if strict and in_doubt:
        raise typer.Exit(code=IN_DOUBT)


def print_result(result: xarray.DataTree) -> None:
    """Print a summary, and what ended the run if it was a rule."""
    from rich.console import Console

    from grhmc.results.summaries import metric_rank, summary

    console = Console()
    if "posterior" in result.children:
        console.print(summary_table(summary(result)))
    rank = metric_rank(result)
    if rank > 0:
        console.print(f"Metric: the scale, and {rank} direction{'s' if rank > 1 else ''} of strong correlation")
    if "stopped_by" in result.attrs:
        console.print(f"Ended by {result.attrs['stopped_by']}", markup=False, highlight=False)
