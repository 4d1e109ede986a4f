"""What a comparison of scale tuners says of one parameter, and of one tuner."""

from __future__ import annotations

import math
from dataclasses import dataclass

ESS_KINDS = ("bulk", "tail", "q2", "mean")


@dataclass(frozen=True)
class ComparisonRow:
    """One parameter under one tuner.

    Attributes
    ----------
    tuner : str
    parameter : str
        Label, as in `grhmc.results.summaries.summary`.
    ess_bulk, ess_tail, ess_mean, ess_q2 : float
        Effective sample sizes over all chains; see `grhmc.results.summaries.EffectiveSampleSizes`.
    n_gradients : int
        Gradients of the sampling phase, all chains together.
    sampling_seconds : float
        Wall clock of the sampling phase, added up over chains: seconds of one core.
    scale : float
        S_j, mean over chains; nan if the parameter is not one of the sampler's coordinates.
    """

    tuner: str
    parameter: str
    ess_bulk: float
    ess_tail: float
    ess_mean: float
    ess_q2: float
    n_gradients: int
    sampling_seconds: float
    scale: float

    @property
    def ess_worst(self) -> float:
        """The smallest of bulk, tail and q2."""
        return min(self.ess_bulk, self.ess_tail, self.ess_q2)

    @property
    def ess_per_1000_gradients(self) -> dict[str, float]:
        """By kind: bulk, tail, q2, mean, and worst (the smallest of the first three)."""
        values = {kind: getattr(self, f"ess_{kind}") for kind in (*ESS_KINDS, "worst")}
        return {kind: 1000.0 * ess / self.n_gradients if self.n_gradients else math.nan for kind, ess in values.items()}

    @property
    def ess_per_second(self) -> float:
        """The smallest of bulk, tail and q2, per second of sampling on one core."""
        return self.ess_worst / self.sampling_seconds if self.sampling_seconds else math.nan


@dataclass(frozen=True)
class TunerSummary:
    """One tuner over all parameters.

    Attributes
    ----------
    tuner : str
    worst : ComparisonRow or None
        The parameter with the fewest effective draws; None if no parameter varies.
    ess_bulk, ess_tail, ess_mean, ess_q2 : float
        The smallest over parameters, of each kind by itself.
    n_gradients, warmup_gradients : int
        All chains together.
    sampling_seconds, warmup_seconds : float
        Added up over chains. The first run on a machine compiles during warm-up.
    event_rate : float
        λ, geometric mean over chains.
    r_hat : float
        The largest over parameters.
    n_diverging : int
        Draws marked as diverging.
    metric_rank : int
        k, the directions on top of the diagonal scale; the largest over chains.
    """

    tuner: str
    worst: ComparisonRow | None
    ess_bulk: float
    ess_tail: float
    ess_mean: float
    ess_q2: float
    n_gradients: int
    warmup_gradients: int
    sampling_seconds: float
    warmup_seconds: float
    event_rate: float
    r_hat: float
    n_diverging: int
    metric_rank: int = 0
