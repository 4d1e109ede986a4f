"""What a compiled kernel reports back: an outcome, in words for people, with the remedy for each."""

from __future__ import annotations

from enum import IntEnum


class Outcome(IntEnum):
    """How a stretch of sampling ended.

    Kernels return these as integers and never raise; the runner turns them into errors or warnings.
    """

    RUNNING = 0
    """The block's budget is used; the stage goes on in the next block."""
    STAGE_DONE = 1
    """The stage has reached its length."""
    DENSITY_RAISED = 2
    """The user's log density raised an exception."""
    STEP_BUDGET_USED = 3
    """Too many gradients were spent without reaching the next draw."""
    STUCK = 4
    """Every direction out of the current position leads to a non-finite density."""
    INTERRUPTED = 5
    """The user asked to stop; what was drawn so far is kept."""
    WAITING = 6
    """The chain waits for the others, to put together what their tuning has found."""
    STOPPED = 7
    """A stop rule was met before all draws were made."""


_EXPLANATIONS: dict[Outcome, str] = {
    Outcome.RUNNING: "the run goes on.",
    Outcome.STAGE_DONE: "the run is complete.",
    Outcome.DENSITY_RAISED: (
        "the log density raised an exception. Its traceback is attached; "
        "make the function return -inf where it is not defined."
    ),
    Outcome.STEP_BUDGET_USED: (
        "the chain has used {n_gradients} gradients, more than `gradient_budget` allows in all or for one draw: "
        "{cause}. Correct or reparameterize the model, or raise `gradient_budget`. What all chains have drawn until "
        "then is in this error's `partial_result`."
    ),
    Outcome.STUCK: (
        "the chain is enclosed by points where the log density is not finite. "
        "Check the support of the model, or start elsewhere with `init`."
    ),
    Outcome.WAITING: "the chain waits for the others.",
    Outcome.STOPPED: "a stop rule was met; the draws made until then are complete.",
    Outcome.INTERRUPTED: "the run was interrupted; the draws made so far are kept.",
}


def explain(outcome: Outcome, *, n_gradients: int | None = None, cause: str = "the cause is not known") -> str:
    """One or two sentences: what happened and what to do about it."""
    return _EXPLANATIONS[outcome].format(n_gradients=n_gradients, cause=cause)


class SamplingError(RuntimeError):
    """A chain could not go on.

    Attributes
    ----------
    outcome : Outcome
        What ended it.
    partial_result : xarray.DataTree or None
        The draws made before the error by all chains, as `sample` would have returned them.
    """

    def __init__(self, message: str, outcome: Outcome, partial_result: object | None = None) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.partial_result = partial_result


class InitializationError(ValueError):
    """No finite starting point was found, or the user's one is not finite."""
