"""Options that several commands have, and the process that some of them choose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from grhmc.settings.names import Metric, ProcessName

if TYPE_CHECKING:
    from grhmc.settings import Process

DrawsOption = Annotated[int, typer.Option(min=4, help="Draws per chain.")]
ChainsOption = Annotated[int, typer.Option(min=1)]
ProcessOption = Annotated[
    ProcessName, typer.Option(help="discrete: Metropolized trajectories of equal steps. continuous: adaptive steps.")
]
IntegratorOption = Annotated[
    str | None,
    typer.Option(help="Of discrete: auto, splitting or leapfrog. Of continuous: splitting, rkn43 or rkn64."),
]
ToleranceOption = Annotated[float | None, typer.Option(help="Of continuous: largest local error per step.")]
TargetOption = Annotated[float | None, typer.Option(help="Of discrete: mean acceptance that the step is tuned to.")]
MetricOption = Annotated[
    Metric, typer.Option(help="Correlations on top of the scale: where they are worth their cost, never, or always.")
]
MaxRankOption = Annotated[int | None, typer.Option(min=1, help="Most directions of the low-rank metric.")]
BudgetOption = Annotated[
    int, typer.Option(min=1, help="Gradients per draw that a chain may spend on average, before it gives up.")
]


UntilEssOption = Annotated[
    float | None, typer.Option("--until-ess", help="End once every parameter has so many effective draws.")
]
UntilRhatOption = Annotated[
    float | None, typer.Option("--until-rhat", help="End once every parameter has no larger R-hat.")
]
MaxTimeOption = Annotated[float | None, typer.Option(help="Seconds after which the run ends with what it has.")]
MaxGradientsOption = Annotated[int | None, typer.Option(min=1, help="End after so many gradients of all chains.")]


def chosen_rule(ess: float | None, rhat: float | None) -> dict[str, float] | None:
    """The rule for `sample(until=...)` that the options ask for."""
    rule = {name: value for name, value in (("ess", ess), ("rhat", rhat)) if value is not None}
    return rule or None


def chosen_process(
    process: ProcessName, integrator: str | None, tolerance: float | None, target_accept: float | None
) -> Process:
    """The process that the options ask for.

    Raises
    ------
    ValueError
        If an option belongs to the other process, or a value is not accepted.
    """
    from grhmc.settings import Continuous, Discrete

    settings: dict[str, Any] = {} if integrator is None else {"integrator": integrator}
    if process == "continuous":
        if target_accept is not None:
            raise ValueError("--target-accept is for --process discrete; the continuous process has --tolerance")
        return Continuous(tolerance=tolerance, **settings)
    if tolerance is not None:
        raise ValueError("--tolerance is for --process continuous; the discrete process has --target-accept")
    return Discrete(target_accept=target_accept, **settings)
