"""Looking at draws on the way: a run may end as soon as they are good enough."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from grhmc._terminal import format_count
from grhmc.diagnosis.worst import Worst, worst_figures
from grhmc.models.log_density import LogDensity
from grhmc.results.constrained import constrained
from grhmc.run.chain import Chain
from grhmc.run.chain_snapshot import ChainSnapshot
from grhmc.run.draw_rows import NO_LIMIT
from grhmc.run.progress import format_seconds
from grhmc.run.standing import Standing
from grhmc.settings import StopRule
from grhmc.storage.run_store import RunStore

FIRST_LOOK, GROWTH = 100, 1.25
"""Draws of each chain at the first look, and how many times as many there are at each next one."""

LOOKS_IN_A_ROW = 2
"""At so many the rule must be met: one may be a lucky moment."""

_MOST_NUMBERS = 2**25


@dataclass(frozen=True)
class Look:
    """What was seen.

    Attributes
    ----------
    draws : int
        Of each chain.
    worst : Worst
    """

    draws: int
    worst: Worst


class Looks:
    """Looks at the draws of a run at numbers of draws that are always the same, so that its end can be repeated.

    A run that goes on from disk has its looks again from the first, at the draws that are there.

    Parameters
    ----------
    rule : StopRule
    model : LogDensity
    n_draws : int
        Of each chain, at most.
    store : RunStore or None
        Where draws are that chains have handed over.
    """

    def __init__(self, rule: StopRule, model: LogDensity, n_draws: int, store: RunStore | None) -> None:
        self._rule, self._model, self._n_draws, self._store = rule, model, n_draws, store
        self._seen: list[Look] = []
        self._parts: list[dict[str, np.ndarray]] = []
        self._n_read = 0
        self._thinning = 1
        self._next = FIRST_LOOK
        self.is_met = False

    def begin(self, chains: Sequence[Chain]) -> None:
        """Tell chains when to pause first, and how many gradients each may spend."""
        if self._rule.looks:
            self._pause(chains)
        if self._rule.max_gradients is not None:
            for chain in chains:
                chain.most_gradients = max(1, self._rule.max_gradients // len(chains))

    def goes_on(self, chains: Sequence[Chain]) -> bool:
        """Look at the draws that all chains have by now; False if they are good enough."""
        if any(chain.n_draws < self._next for chain in chains):  # one has come to an end of its own
            return False
        self._seen.append(Look(self._next, self._figures(chains, self._next)))
        self.is_met = len(self._seen) >= LOOKS_IN_A_ROW and all(
            self._is_good(look.worst) for look in self._seen[-LOOKS_IN_A_ROW:]
        )
        if not self.is_met:
            self._next = math.ceil(GROWTH * self._next)
            self._pause(chains)
        return not self.is_met

    def attributes(self) -> dict[str, Any]:
        """What rule ended the run, and how sure that is, for the attributes of its result."""
        if not self._rule.looks:
            return {}
        seen = [{"draws": look.draws, **asdict(look.worst)} for look in self._seen]
        wanted = {name: value for name, value in (("ess", self._rule.ess), ("rhat", self._rule.rhat)) if value}
        attributes: dict[str, Any] = {"until": json.dumps(wanted), "looks": json.dumps(seen)}
        if self.is_met:
            attributes["stopped_by"] = self._words()
        return attributes

    def standing(self, snapshots: Sequence[ChainSnapshot], elapsed_seconds: float) -> Standing | None:
        """What the rules stand at, for progress; None without rules."""
        rule = self._rule
        if not rule.is_given:
            return None
        words, seconds = [], []
        draws: int | None = self._n_draws
        if rule.looks:
            words.append(self._present_words())
            draws = self._expected_draws()
        if rule.max_gradients is not None:
            spent = sum(snapshot.n_gradients for snapshot in snapshots)
            words.append(f"{format_count(spent)} of {format_count(rule.max_gradients)} gradients")
            seconds += [elapsed_seconds * max(0.0, rule.max_gradients / spent - 1.0)] if spent else []
        if rule.max_time is not None:
            words.append(f"ends after {format_seconds(rule.max_time)}")
            seconds.append(max(0.0, rule.max_time - elapsed_seconds))
        return Standing(", ".join(words), draws, min(seconds, default=None))

    def _present_words(self) -> str:
        """What was seen last, and what is wanted."""
        if not self._seen:
            return f"ESS and R-hat are known from {FIRST_LOOK} draws on"
        look, worst, rule = self._seen[-1], self._seen[-1].worst, self._rule
        ess = "" if rule.ess is None else f" of {rule.ess:g} wanted"
        rhat = "" if rule.rhat is None else f", {rule.rhat:g} wanted"
        return (
            f"ESS {worst.ess:.0f}{ess} ({worst.ess_variable}) and R-hat {worst.rhat:.4f}{rhat} ({worst.rhat_variable}) "
            f"at {look.draws} draws"
        )

    def _expected_draws(self) -> int | None:
        """Draws of each chain at which the rule will be met, if ESS grows and R-hat - 1 falls in proportion."""
        if not self._seen:
            return None
        look, rule = self._seen[-1], self._rule
        factors = [1.0]
        if rule.ess is not None:
            factors.append(rule.ess / look.worst.ess if look.worst.ess > 0.0 else math.inf)
        if rule.rhat is not None:
            factors.append((look.worst.rhat - 1.0) / (rule.rhat - 1.0))
        needed = look.draws * max(factors)
        if not math.isfinite(needed):
            return None
        at, n_good = self._next, int(self._is_good(look.worst))
        while at < min(needed, self._n_draws):
            at = math.ceil(GROWTH * at)
        for _ in range(LOOKS_IN_A_ROW - 1 - n_good):
            at = math.ceil(GROWTH * at)
        return min(at, self._n_draws)

    def _words(self) -> str:
        """What was met, and by how much it is uncertain."""
        look, worst = self._seen[-1], self._seen[-1].worst
        parts = []
        if self._rule.ess is not None:
            parts.append(
                f"ESS {worst.ess:.0f} of {worst.ess_variable} (wanted {self._rule.ess:g}; without any one chain it "
                f"would be {worst.smallest_ess:.0f} to {worst.largest_ess:.0f})"
            )
        if self._rule.rhat is not None:
            parts.append(f"R-hat {worst.rhat:.4f} of {worst.rhat_variable} (wanted {self._rule.rhat:g})")
        return f"{' and '.join(parts)} after {look.draws} draws per chain, at {LOOKS_IN_A_ROW} looks in a row"

    def _is_good(self, worst: Worst) -> bool:
        has_ess = self._rule.ess is None or worst.ess >= self._rule.ess
        has_rhat = self._rule.rhat is None or worst.rhat <= self._rule.rhat
        return has_ess and has_rhat

    def _pause(self, chains: Sequence[Chain]) -> None:
        for chain in chains:
            chain.pauses_at = self._next if self._next < self._n_draws else NO_LIMIT

    def _figures(self, chains: Sequence[Chain], n_draws: int) -> Worst:
        """The worst figures of all variables, over the draws up to `n_draws`.

        Of more than 32 million numbers every second draw is left out, as often as it takes: what is left has no more
        effective draws than all.
        """
        draws = np.stack([self._draws_of(chain, self._n_read, n_draws) for chain in chains])
        draws = draws[:, (-self._n_read) % self._thinning :: self._thinning]
        if draws.shape[1]:
            self._parts.append(constrained(self._model, draws).values)
        self._n_read = n_draws
        joined = {name: np.concatenate([part[name] for part in self._parts], axis=1) for name in self._parts[0]}
        while sum(values.size for values in joined.values()) > _MOST_NUMBERS:
            self._thinning *= 2
            joined = {name: values[:, ::2].copy() for name, values in joined.items()}
        self._parts = [joined]
        return worst_figures(joined)

    def _draws_of(self, chain: Chain, first: int, end: int) -> np.ndarray:
        """Draws of a chain from `first` to `end`, from disk as far as they are there."""
        in_memory = chain.records.draws[chain.n_warmup_rows :]
        n_stored = chain.n_stored
        parts = [in_memory[max(first - n_stored, 0) : max(end - n_stored, 0)]]
        if first < n_stored and self._store is not None:
            parts.insert(0, self._store.draws_of(chain.index, first, min(end, n_stored)))
        return np.concatenate(parts)
