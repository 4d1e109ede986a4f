"""Judge a run: what in a result speaks against trusting its draws, in words for a modeller and as data."""

from __future__ import annotations

import dataclasses
import functools
import numbers
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from grhmc.diagnosis.convergence import find_convergence_problems
from grhmc.diagnosis.correlations import find_correlations
from grhmc.diagnosis.divergence_places import find_divergence_places
from grhmc.diagnosis.energy import find_energy_problems
from grhmc.diagnosis.exploration import find_uneven_exploration
from grhmc.diagnosis.gradient import find_gradient_problems, gradient_at
from grhmc.diagnosis.left_out import find_left_out_chains
from grhmc.diagnosis.modes import find_missed_places
from grhmc.diagnosis.other_samplers import find_problems as find_problems_elsewhere
from grhmc.diagnosis.process import find_non_finite_places, find_process_problems
from grhmc.diagnosis.report import NOTE, WARNING, Finding, Report
from grhmc.diagnosis.tails import find_heavy_tails
from grhmc.diagnosis.unusable import find_unusable_draws
from grhmc.results.any_result import as_datatree, is_of_grhmc
from grhmc.results.descriptions import is_discrete

if TYPE_CHECKING:
    import xarray

    from grhmc.models.log_density import LogDensity

__all__ = ["NOTE", "WARNING", "Finding", "Report", "SamplingWarning", "diagnose", "record_diagnosis", "warn_of_several"]

ATTRIBUTE = "diagnosis"
"""Of a result's root: its report as JSON."""

_ALREADY_WARNED_OF = ("unused_parameter",)


class SamplingWarning(UserWarning):
    """The draws of a run are in doubt. `report` holds the whole diagnosis.

    Attributes
    ----------
    report : Report
    """

    def __init__(self, message: str, report: Report) -> None:
        super().__init__(message)
        self.report = report


def record_failure(result: xarray.DataTree, message: str) -> None:
    """Write into a result's attributes that its draws could not be diagnosed."""
    result.attrs[ATTRIBUTE] = Report((Finding("not_diagnosed", WARNING, message),)).to_json()


def diagnose(result: Any, model: LogDensity | None = None) -> Report:
    """Look for signs that the draws of a run are not to be trusted.

    Parameters
    ----------
    result : DataTree, InferenceData or Dataset
        From `sample`, perhaps read back from a file; or draws of any other sampler, as ArviZ holds them (PyMC, nutpie,
        CmdStanPy, NumPyro, emcee, ...), of which a note says what could not be looked at.
    model : LogDensity, optional
        The model that was sampled: its gradient is then checked at the draws furthest out and where energy was lost.
        Without it, what such a check found at the end of the run is taken over from the result's attributes. It is not
        used for draws of other samplers.

    Returns
    -------
    Report
        Findings, warnings first; `docs/when-it-warns.md` explains each. Print it, or loop over it.

    Raises
    ------
    TypeError
        If the result is none of these.
    ValueError
        If the result lacks the group `posterior` (or, of a run of `sample`, `unconstrained_posterior` and
        `sample_stats`), or its attribute `diagnosis` is damaged.
    """
    result = as_datatree(result)
    if not is_of_grhmc(result):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return _sorted(find_problems_elsewhere(result))
    missing = [name for name in (_draws_group(result), "sample_stats") if name not in result.children]
    if missing:
        raise ValueError(
            f"result has no group {missing[0]!r}; give what grhmc.sample returned, it has {', '.join(result.children)}"
        )
    statistics = result["sample_stats"].to_dataset()
    if statistics.sizes.get("draw", 0) == 0:
        message = "there are no draws: the run ended before the first one"
        return Report((Finding("few_draws", NOTE, message, value=0.0),))
    earlier = _earlier_report(result) if model is None else None
    with warnings.catch_warnings():
        # Squares of huge draws overflow, and figures of constant ones are 0/0: that must not end a run.
        warnings.simplefilter("ignore", RuntimeWarning)
        findings = _findings_of_draws(result, statistics, model, is_known_of_tails=earlier is not None)
        if model is not None:
            findings += _findings_of_model(result, statistics, model, {finding.code for finding in findings})
    if earlier is not None:
        found = {finding.code for finding in findings}
        findings += [finding for finding in earlier if finding.code in _CODES_OF_MODEL and finding.code not in found]
    if any(finding.code == "noisy_density" and finding.severity == WARNING for finding in findings):
        findings = [finding for finding in findings if finding.code not in _CONSEQUENCES_OF_NOISE]
    return _sorted(findings)


def _sorted(findings: list[Finding]) -> Report:
    """Warnings first."""
    return Report(tuple(sorted(findings, key=lambda finding: finding.severity != WARNING)))


def _earlier_report(result: xarray.DataTree) -> Report | None:
    """What was found at the end of the run, with the model at hand."""
    if ATTRIBUTE not in result.attrs:
        return None
    try:
        return Report.from_json(result.attrs[ATTRIBUTE])
    except ValueError as error:
        raise ValueError(
            f"the result's attribute {ATTRIBUTE!r} is damaged ({error}); delete it (del result.attrs[{ATTRIBUTE!r}]) "
            "to have the draws diagnosed anew"
        ) from error


def _draws_group(result: xarray.DataTree) -> str:
    """Where the draws are: unconstrained, if the model's variables could not be computed."""
    has_only_unconstrained = "posterior" not in result.children and "unconstrained_posterior" in result.children
    return "unconstrained_posterior" if has_only_unconstrained else "posterior"


_CONSEQUENCES_OF_NOISE = ("low_acceptance", "diverging", "divergence_places", "cut_trajectories", "energy_error")
# Whose messages name causes that it is not.

_CODES_OF_MODEL = ("wrong_gradient", "unused_parameter", "heavy_tails", "missed_place", "uneven_exploration")
# Found by looking at the model, or only so.


def _findings_of_draws(
    result: xarray.DataTree, statistics: xarray.Dataset, model: LogDensity | None, *, is_known_of_tails: bool
) -> list[Finding]:
    n_draws = statistics.sizes["draw"]
    findings: list[Finding] = []
    dim = 1
    if "unconstrained_posterior" in result.children:
        unconstrained = result["unconstrained_posterior"].to_dataset()
        dim = unconstrained.sizes.get("unconstrained", 1)
        if not is_known_of_tails:
            findings += find_heavy_tails(
                unconstrained, None if model is None else functools.partial(gradient_at, model)
            )
    findings += find_left_out_chains(result.attrs)
    findings += find_unusable_draws(result, statistics["lp"].transpose("chain", "draw").to_numpy())
    findings += find_convergence_problems(
        result[_draws_group(result)].to_dataset(), statistics["lp"].transpose("chain", "draw").to_numpy()
    )
    is_short = any(finding.code == "bulk_ess" for finding in findings)
    by_trajectories = is_discrete(result)
    findings += find_energy_problems(
        statistics.transpose("chain", "draw"), dim, is_discrete=by_trajectories, is_short_of_draws=is_short
    )
    findings += find_divergence_places(result)
    if "tuning" in result.children:
        if "unconstrained_posterior" in result.children:
            findings += find_correlations(
                result["unconstrained_posterior"]["position"].transpose("chain", "draw", ...).to_numpy(),
                result["tuning"].to_dataset(),
                str(result.attrs.get("metric", "")),
                str(result.attrs.get("scale", "")),
            )
        problems = find_process_problems(result["tuning"].to_dataset(), n_draws, _n_tune(result))
        # The discrete process has no event rate: it is one over the momentum decorrelation time, which changes
        # where windows end.
        if by_trajectories:
            problems += find_non_finite_places(result["tuning"].to_dataset(), int(statistics["n_events"].sum()))
        findings += [item for item in problems if not (by_trajectories and item.code == "event_rate_moving")]
    return findings


def _n_tune(result: xarray.DataTree) -> int:
    """Draws of warm-up, 0 where the attribute is not a number."""
    n_tune = result.attrs.get("tune", 0)
    return int(n_tune) if isinstance(n_tune, numbers.Integral) else 0


_BREAK_THE_IDENTITY = (
    "heavy_tails",
    "not_finite",
    "bounces",
    "noisy_density",
    "wrong_gradient",
    "unused_parameter",
    "energy_error",
)
# Findings of what makes gradients and draws disagree for another reason than where chains have been.


def _findings_of_model(
    result: xarray.DataTree, statistics: xarray.Dataset, model: LogDensity, found: set[str]
) -> list[Finding]:
    draws = result["unconstrained_posterior"]["position"].transpose("chain", "draw", ...).to_numpy()
    ordered = statistics.transpose("chain", "draw")
    log_density = ordered["lp"].to_numpy()
    findings = find_gradient_problems(
        model,
        draws,
        log_density,
        ordered["energy_error"].to_numpy(),
        is_discrete=is_discrete(result),
    )
    if "tuning" in result.children:
        tuning = result["tuning"].to_dataset()
        n_gradients = int(ordered["n_gradients"].sum()) + int(tuning["n_gradients"].sum())
        findings += find_missed_places(model, draws, log_density, tuning, n_gradients)
        if not (found | {finding.code for finding in findings}).intersection(_BREAK_THE_IDENTITY):
            findings += find_uneven_exploration(model, draws, tuning["unconstrained"].to_numpy(), n_gradients)
    return findings


def record_diagnosis(result: xarray.DataTree, model: LogDensity | None) -> None:
    """Diagnose a run that has just ended, write the report into its attributes, and warn once of what is serious.

    Parameters
    ----------
    result : DataTree
        Its attributes are updated.
    model : LogDensity or None
        None: the user does not want the gradient checked.
    """
    report = diagnose(result, model)
    result.attrs[ATTRIBUTE] = report.to_json()
    # Four frames up: whoever called `sample`.
    _warn_of(result, report, is_model_checked=model is not None, stacklevel=4)


def warn_again(result: xarray.DataTree) -> None:
    """Warn of what was found when the run ended."""
    report = _earlier_report(result)
    if report is not None:
        _warn_of(result, report, is_model_checked=False, stacklevel=4)


def _warn_of(result: xarray.DataTree, report: Report, *, is_model_checked: bool, stacklevel: int) -> None:
    """Warn once of what is serious in a run."""
    serious = [finding for finding in report.warnings if finding.code not in _ALREADY_WARNED_OF or not is_model_checked]
    if not serious or "INTERRUPTED" in str(result.attrs.get("outcomes", "")):
        return
    lines = "\n".join(f"- {finding}" for finding in serious)
    message = f"these draws are in doubt (grhmc.diagnose):\n{lines}"
    warnings.warn(SamplingWarning(message, report), stacklevel=stacklevel)


def warn_of_several(reports: Mapping[str, Report]) -> None:
    """Warn once of what is serious in several runs' reports, by what to call each run; for whoever silenced `sample`.

    The warning's report holds the warnings of all of them, each with its run's name before the message.
    """
    serious = [(name, finding) for name, report in reports.items() for finding in report.warnings]
    if not serious:
        return
    findings = tuple(
        dataclasses.replace(finding, message=f"with {name}, {finding.message}") for name, finding in serious
    )
    names = ", ".join(dict.fromkeys(name for name, _ in serious))
    lines = "\n".join(f"- {finding}" for finding in findings)
    message = f"the draws of {names} are in doubt (Comparison.reports):\n{lines}"
    warnings.warn(SamplingWarning(message, Report(findings)), stacklevel=4)  # past `compare`
