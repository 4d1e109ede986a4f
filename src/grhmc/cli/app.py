"""The command line: `grhmc demo`, the package's main job at a glance, and `grhmc compare`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from grhmc._files import replacing
from grhmc._terminal import accept_all_characters
from grhmc._version import __version__
from grhmc.cli.continue_commands import extend_command, resume_command
from grhmc.cli.diagnose_command import diagnose_command
from grhmc.cli.doctor_command import doctor_command
from grhmc.cli.messages import exit_if_interrupted, readable_errors, readable_warnings
from grhmc.cli.options import (
    BudgetOption,
    ChainsOption,
    DrawsOption,
    IntegratorOption,
    MaxRankOption,
    MetricOption,
    ProcessOption,
    TargetOption,
    ToleranceOption,
    chosen_process,
)
from grhmc.cli.output import save_result
from grhmc.cli.sample_command import sample_command
from grhmc.cli.summary_table import summary_table
from grhmc.paper.command import ListOptionsCommand, paper
from grhmc.settings import GRADIENT_BUDGET

# What takes long to import is imported by the commands, so that --help and --version answer at once.
if TYPE_CHECKING:
    import xarray

    from grhmc.comparison.comparison import Comparison
    from grhmc.models.log_density import LogDensity

app = typer.Typer(
    help="Hamiltonian Monte Carlo for Bayesian posteriors, with a scale (mass) matrix that tunes itself.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

_Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same draws.")]
_Tune = Annotated[int, typer.Option(min=20, help="Warm-up draws per chain.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"grhmc {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Hamiltonian Monte Carlo for Bayesian posteriors, with a scale (mass) matrix that tunes itself."""
    accept_all_characters()


app.command(cls=ListOptionsCommand)(paper)
app.command(name="sample")(sample_command)
app.command(name="resume")(resume_command)
app.command(name="extend")(extend_command)
app.command(name="diagnose")(diagnose_command)
app.command(name="doctor")(doctor_command)


@app.command()
def demo(
    output: Annotated[Path, typer.Option(help="Folder for figures and draws.")] = Path("grhmc-demo"),
    seed: _Seed = 1,
    draws: DrawsOption = 1000,
    tune: _Tune = 1000,
    chains: ChainsOption = 4,
) -> None:
    """Sample a real posterior with every tuner; print tables, leave figures and draws in a folder."""
    clock = _Stopwatch()
    console = Console()
    with clock.measure("loading"):
        from grhmc.comparison.run import compare
        from grhmc.datasets import pima
        from grhmc.models.analytic import logistic_regression
        from grhmc.results.summaries import summary
        from grhmc.sampling import sample

        data = pima()
        model = logistic_regression(data.design_matrix, data.response, names=data.names)
    console.print(
        f"[bold]Bayesian logistic regression[/]: {data.response_name} among "
        f"{len(data.response)} women of Pima heritage, {len(data.columns)} standardized covariates "
        "and an intercept, coefficients ~ N(0, 100)"
    )
    with readable_errors(), readable_warnings(), clock.measure("sampling"):
        result = sample(model, draws=draws, tune=tune, chains=chains, seed=seed)
        output.mkdir(parents=True, exist_ok=True)
        note_on_draws = _write_draws(output, result)
    with clock.measure("diagnostics"):
        table = summary_table(summary(result))
    console.print()
    console.print(table)
    with readable_errors(), readable_warnings(), clock.measure("comparing"):
        comparison = compare(model, draws=draws, tune=tune, chains=chains, seed=seed)
    console.print()
    console.print(comparison)
    with readable_errors(), clock.measure("files"):
        notes = [_write_figures(output, result, comparison), note_on_draws]
    console.print()
    for note in notes:
        console.print(note, markup=False)
    console.print(f"Everything is in {output.resolve()}", markup=False, soft_wrap=True)
    for line in clock.report([result, *comparison.results.values()]):
        console.print(line, highlight=False, soft_wrap=True)
    exit_if_interrupted(result, *comparison.results.values())


@app.command(name="compare")
def compare_command(
    target: Annotated[
        str,
        typer.Argument(
            help="pima, german, one of G1-G4, NG1-NG3, F1, F2, or a model as in `sample`, whose file is executed."
        ),
    ] = "pima",
    data: Annotated[Path | None, typer.Option(help="JSON file with the data of a Stan program.")] = None,
    seed: _Seed = 1,
    draws: DrawsOption = 1000,
    tune: _Tune = 1000,
    chains: ChainsOption = 4,
    metric: MetricOption = "auto",
    max_rank: MaxRankOption = None,
    process: ProcessOption = "discrete",
    integrator: IntegratorOption = None,
    target_accept: TargetOption = None,
    tolerance: ToleranceOption = None,
    gradient_budget: BudgetOption = GRADIENT_BUDGET,
) -> None:
    """Compare the scale tuners on a data set, on one of the targets of Tran & Kleppe (2024), or on a model."""
    from grhmc.comparison.run import compare

    with readable_errors(), readable_warnings():
        comparison = compare(
            _target(target, data),
            draws=draws,
            tune=tune,
            chains=chains,
            seed=seed,
            metric=metric,
            max_rank=max_rank,
            process=chosen_process(process, integrator, tolerance, target_accept),
            gradient_budget=gradient_budget,
        )
    Console().print(comparison)
    exit_if_interrupted(*comparison.results.values())


def _target(name: str, data_file: Path | None) -> LogDensity:
    from grhmc.models.named import is_model_path, load_model

    if is_model_path(name):
        return load_model(name, data_file)
    from grhmc.datasets import german_credit, pima
    from grhmc.models.analytic import PAPER_TARGETS, logistic_regression, paper_target

    loaders = {"pima": pima, "german": german_credit}
    if name.lower() in loaders:
        data = loaders[name.lower()]()
        return logistic_regression(data.design_matrix, data.response, names=data.names)
    if name.upper() in PAPER_TARGETS:
        return paper_target(name.upper()).log_density()
    raise ValueError(
        f"target must be one of {', '.join([*loaders, *PAPER_TARGETS])}, a .stan file or file.py:name; got {name!r}"
    )


def _write_figures(folder: Path, result: xarray.DataTree, comparison: Comparison) -> str:
    try:
        import matplotlib
    except ImportError:
        return "Figures not drawn: install matplotlib with pip install 'grhmc[plot]'"
    matplotlib.use("Agg")  # also where there is no display
    import matplotlib.pyplot as pyplot

    from grhmc import plotting

    figures = {
        "trace.png": plotting.plot_trace_with_events(result),
        "scale.png": plotting.plot_scale_history(result),
        "crossing-times.png": plotting.plot_crossing_times(result).figure,
        "ess.png": plotting.plot_ess_comparison(comparison),
    }
    for name, figure in figures.items():
        with replacing(folder / name) as path:
            figure.savefig(path, dpi=120)
        pyplot.close(figure)
    return f"Figures: {', '.join(figures)}"


def _write_draws(folder: Path, result: xarray.DataTree) -> str:
    try:
        import h5netcdf  # noqa: F401
        import h5py  # noqa: F401
    except ImportError:
        return "Draws not written: install what NetCDF needs with pip install 'grhmc[store]'"
    path = save_result(result, folder / "draws.nc")
    return f"Draws: {path.name if path.parent == folder else path}, for xarray.open_datatree"


class _Stopwatch:
    """Where the time went."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def measure(self, what: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self._seconds[what] = time.perf_counter() - began

    def report(self, results: list[xarray.DataTree]) -> list[str]:
        """Two lines: the command's time, and the sampler's own."""
        total = time.perf_counter() - self._began
        parts = ", ".join(f"{what} {seconds:.1f}" for what, seconds in self._seconds.items())
        n_gradients, sampling_seconds = 0, 0.0
        for result in results:
            tuning, statistics = result["tuning"].to_dataset(), result["sample_stats"].to_dataset()
            n_gradients += int(statistics["n_gradients"].sum() + tuning["n_gradients"].sum())
            sampling_seconds += float((tuning["warmup_seconds"] + tuning["sampling_seconds"]).sum())
        return [
            f"Time: {total:.1f} s in all ({parts})",
            f"of which the sampler: {n_gradients:,} gradients in {len(results)} runs, "
            f"{sampling_seconds:.1f} s of one core",
        ]
