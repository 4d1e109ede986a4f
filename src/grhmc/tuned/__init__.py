"""Finding the metric of a posterior, and handing it to other samplers."""

from grhmc.tuned.origin import Origin
from grhmc.tuned.run import tune
from grhmc.tuned.stan_metric import StanMetric
from grhmc.tuned.tuned import Tuned

__all__ = ["Origin", "StanMetric", "Tuned", "tune"]
