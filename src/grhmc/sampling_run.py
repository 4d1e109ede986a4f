"""A run that goes on in the background: what `sample(..., blocking=False)` gives."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from grhmc.draws_at_stake import show_warnings
from grhmc.results.datatree import build_datatree
from grhmc.results.kept_variables import keep_variables
from grhmc.run.chain_snapshot import ChainSnapshot
from grhmc.run.interrupt import worth_keeping
from grhmc.run.snapshots import Watch
from grhmc.running import Run, finish, result_attributes

if TYPE_CHECKING:
    import xarray

_PATIENCE = 5.0


class SamplingRun:
    """A run in the background. `wait` gives its result.

    The interpreter does not end before the run does. Ctrl-C ends what waits for the run, not the run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        run.holds_warnings = True
        self._watch = Watch(run.chains)
        self._result: Any = None
        self._error: BaseException | None = None
        self._are_warnings_shown = False
        self._thread = threading.Thread(target=self._work, name="grhmc run")
        self._thread.start()

    def _work(self) -> None:
        try:
            self._result = finish(self._run)
        except BaseException as error:
            self._error = error

    def __repr__(self) -> str:
        states = ", ".join(f"{chain.draws_done} of {chain.draws_total}" for chain in self.progress)
        state = "done" if self.is_done else "pausing" if self.is_pausing else "running"
        return f"<SamplingRun: {state}; draws {states}{'; ' * bool(self.standing)}{self.standing}>"

    @property
    def is_done(self) -> bool:
        """Whether the result is there, or the error."""
        return not self._thread.is_alive()

    @property
    def is_pausing(self) -> bool:
        """Whether it rests, or is about to."""
        return self._run.control.is_pausing and not self.is_done

    @property
    def progress(self) -> list[ChainSnapshot]:
        """Where each chain is."""
        return self._watch()

    @property
    def standing(self) -> str:
        """What the rules that may end it stand at, in words; an empty string without rules."""
        return self._run.standing

    def pause(self) -> None:
        """Have chains rest after their present trajectory, until `resume`. On workers: after their present stretch."""
        if not self.is_pausing:
            self._run.control.pause()

    def resume(self) -> None:
        """Go on after `pause`."""
        if self.is_pausing:
            self._run.control.go_on()

    def stop(self) -> None:
        """End the run with the draws that it has; `wait` gives them."""
        self._run.control.end("stop()", grace=_PATIENCE)

    def inspect(self) -> xarray.DataTree:
        """A result of the draws until now, in memory; the run goes on.

        Returns
        -------
        DataTree
            As of `sample`, without a diagnosis; `grhmc.diagnose` makes one.

        Raises
        ------
        ValueError
            If there are no draws yet.
        """
        run = self._run
        with run.control.at_rest():
            records = worth_keeping([chain.record() for chain in run.chains])
            n_draws = min(record.n_draws for record in records)
            if n_draws == 0:
                raise ValueError("there are no draws yet: the run is still in its warm-up (see its progress)")
            for record in records:
                record.draws = record.draws.copy()
                record.statistics = {name: values.copy() for name, values in record.statistics.items()}
                if run.store is not None:
                    run.store.complete(record)
            attributes = result_attributes(run.settings, run.chains, records)
        result = build_datatree(records, run.model, attributes, run.function_names)
        return keep_variables(result, run.kept)

    def wait(self, timeout: float | None = None) -> xarray.DataTree:
        """Wait for the result.

        Parameters
        ----------
        timeout : float, optional
            Seconds.

        Returns
        -------
        DataTree
            As of `sample`, with its warnings.

        Raises
        ------
        TimeoutError
            If it is not there by then; the run goes on.
        Exception
            As of `sample`.
        """
        self._thread.join(timeout)
        if self._thread.is_alive():
            raise TimeoutError(f"the run has not ended within {timeout:g} seconds; it goes on")
        if self._error is not None:
            raise self._error
        if not self._are_warnings_shown:
            self._are_warnings_shown = True
            show_warnings(self._run.caught, stacklevel=2)
        return self._result
