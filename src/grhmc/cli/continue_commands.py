"""The commands `grhmc resume` and `grhmc extend`: go on with a run on disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grhmc.cli.messages import IN_DOUBT, exit_if_interrupted, readable_errors, readable_warnings
from grhmc.cli.options import MaxGradientsOption, MaxTimeOption, UntilEssOption, UntilRhatOption, chosen_rule
from grhmc.cli.sample_command import MODEL_HELP, print_result

if TYPE_CHECKING:
    import xarray

    from grhmc.models.log_density import LogDensity

_Store = Annotated[str, typer.Argument(help="Folder or URL of the run, as it was given to `sample --store`.")]
_Model = Annotated[str, typer.Argument(help=f"The same model as then: {MODEL_HELP}")]
_Data = Annotated[Path | None, typer.Option(help="JSON file with the data of a Stan program.")]
_Cores = Annotated[int | None, typer.Option(min=1)]
_Strict = Annotated[bool, typer.Option("--strict", help="Exit with code 3 if the draws are in doubt.")]


def resume_command(
    store: _Store,
    model: _Model,
    data: _Data = None,
    cores: _Cores = None,
    max_time: MaxTimeOption = None,
    strict: _Strict = False,
) -> None:
    """Go on with a run that was killed or interrupted, to the draws that it would have made."""
    from grhmc.continuing import resume

    _go_on(model, data, strict, lambda density: resume(store, density, cores=cores, max_time=max_time))


def extend_command(
    store: _Store,
    model: _Model,
    draws: Annotated[int, typer.Option(min=1, help="Draws to add to each chain.")],
    data: _Data = None,
    cores: _Cores = None,
    until_ess: UntilEssOption = None,
    until_rhat: UntilRhatOption = None,
    max_time: MaxTimeOption = None,
    max_gradients: MaxGradientsOption = None,
    strict: _Strict = False,
) -> None:
    """Add draws to a run, without another warm-up."""
    from grhmc.continuing import extend

    _go_on(
        model,
        data,
        strict,
        lambda density: extend(
            store,
            density,
            draws=draws,
            cores=cores,
            until=chosen_rule(until_ess, until_rhat),
            max_time=max_time,
            max_gradients=max_gradients,
        ),
    )


def _go_on(model: str, data: Path | None, strict: bool, run: Callable[[LogDensity], xarray.DataTree]) -> None:
    """Load the model, go on with its run, and print what came out."""
    from grhmc.models.named import load_model

    with readable_errors():
        with readable_warnings() as in_doubt:
            result = run(load_model(model, data))
        print_result(result)
        exit_if_interrupted(result)
    if strict and in_doubt:
        raise typer.Exit(code=IN_DOUBT)
