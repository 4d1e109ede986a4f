"""Whether correlations are tuned on top of the diagonal scale, and how many directions there may be."""

from __future__ import annotations

from dataclasses import dataclass

from grhmc.argument_checks import check_choice, check_count
from grhmc.settings.names import METRICS
from grhmc.settings.scale import ScaleSettings

TUNERS_WITH_DIRECTIONS = ("geo", "isg", "vari")

_DEFAULT_ENTRIES = 100_000
_FEWEST_DIRECTIONS = 30


@dataclass(frozen=True)
class MetricSettings:
    """How correlations are tuned.

    Attributes
    ----------
    kind : str
        ``"diagonal"``: not at all; ``"low_rank"``: along every direction that differs much; ``"auto"``: along those
        that are worth their cost.
    max_rank : int or None
        Most directions. None: as many as there are dimensions, but no more than 100 000 numbers in all, or 30.
    """

    kind: str = "auto"
    max_rank: int | None = None

    @classmethod
    def parse(cls, metric: str, max_rank: int | None, scale: ScaleSettings) -> MetricSettings:
        """From a user's arguments, for a run with this scale."""
        check_choice("metric", metric, METRICS, "")
        if max_rank is not None:
            check_count("max_rank", max_rank, at_least=1)
            if metric == "diagonal":
                raise ValueError(
                    f"max_rank is {max_rank}, but metric='diagonal' has no directions; leave one of them out"
                )
        if metric == "low_rank" and scale.tuner not in TUNERS_WITH_DIRECTIONS:
            raise ValueError(
                f"metric='low_rank' needs a scale that is tuned from moments, one of {TUNERS_WITH_DIRECTIONS}; "
                f"scale is {scale.tuner!r}. Use one of these, or metric='diagonal'."
            )
        return cls(metric, max_rank)

    def room(self, dim: int, scale: ScaleSettings) -> int:
        """Directions that a chain of `dim` parameters allocates; 0: the metric stays diagonal."""
        if self.kind == "diagonal" or scale.tuner not in TUNERS_WITH_DIRECTIONS or dim < 2:
            return 0
        allowed = max(_FEWEST_DIRECTIONS, _DEFAULT_ENTRIES // dim) if self.max_rank is None else self.max_rank
        return min(dim, allowed)
