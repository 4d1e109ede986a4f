"""The command `grhmc sample`, and models named on the command line: Stan programs and objects in Python files."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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

    from grhmc.models.log_density import LogDensity

_STAN_SUFFIXES = (".stan", ".so", ".dylib", ".dll")

MODEL_HELP = (
    "model.stan, a compiled Stan model (.so), file.py:name or module:name. All of these run code: name only files that "
    "you trust. A Python file is executed as a whole."
)


def is_model_path(text: str) -> bool:
    """Whether the text names a file or an object rather than a built-in target."""
    return text.endswith(_STAN_SUFFIXES) or ":" in text


def load_model(text: str, data: Path | None = None) -> LogDensity:
    """Make the model that a user names.

    Parameters
    ----------
    text : str
        ``model.stan``, a compiled Stan model (``.so``), ``file.py:name`` or ``package.module:name``. The named object
        is anything that `sample` accepts, or a function without arguments that returns it.
    data : path, optional
        JSON, for Stan.

    Raises
    ------
    ValueError, OSError, ImportError
        If there is no such model, or it cannot be used.
    """
    from grhmc.models import as_log_density, from_stan

    try:
        if text.endswith(_STAN_SUFFIXES):
            return from_stan(Path(text), data)
        if data is not None:
            raise ValueError(f"--data is for Stan programs; {text} has its data in Python")
        return as_log_density(_load_object(text))
    except TypeError as error:
        raise ValueError(str(error)) from error


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


def _load_object(text: str) -> Any:
    source, _, name = text.rpartition(":")
    if not source or not name.isidentifier():
        raise ValueError(f"a model in Python is named as file.py:name or package.module:name, got {text!r}")
    module = _load_file(Path(source)) if source.endswith(".py") else importlib.import_module(source)
    if not hasattr(module, name):
        raise ValueError(f"{source} has no {name!r}")
    found = getattr(module, name)
    return found() if inspect.isfunction(found) else found


def _load_file(path: Path) -> Any:
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    sys.path.insert(0, str(path.resolve().parent))  # what it imports may lie beside it
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.resolve().parent))
    return module
