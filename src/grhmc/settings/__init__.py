"""Every setting of a run, validated on construction. Frozen: what a chain was started with cannot change under it."""

from grhmc.settings.mct import MCT
from grhmc.settings.metric import MetricSettings
from grhmc.settings.names import (
    CONTINUOUS_INTEGRATORS,
    DEFAULT_TARGET_ACCEPT,
    DEFAULT_TOLERANCES,
    SCALES,
    SYMPLECTIC_INTEGRATORS,
    TARGET_CROSSING_TIME,
    ContinuousIntegrator,
    DiscreteIntegrator,
    EventRateKind,
    EventRateRuleName,
    LengthLaw,
    Metric,
    Momentum,
    ProcessName,
    Scale,
    WarmupName,
)
from grhmc.settings.process import Continuous, Discrete, Process, parse_process
from grhmc.settings.run import GRADIENT_BUDGET, RunSettings, StepLimits
from grhmc.settings.scale import ScaleSettings
from grhmc.settings.seed import Seed, parse_seed
from grhmc.settings.stop import StopRule
from grhmc.settings.warmup import PaperWarmup

__all__ = [
    "CONTINUOUS_INTEGRATORS",
    "DEFAULT_TARGET_ACCEPT",
    "DEFAULT_TOLERANCES",
    "GRADIENT_BUDGET",
    "MCT",
    "SCALES",
    "SYMPLECTIC_INTEGRATORS",
    "TARGET_CROSSING_TIME",
    "Continuous",
    "ContinuousIntegrator",
    "Discrete",
    "DiscreteIntegrator",
    "EventRateKind",
    "EventRateRuleName",
    "LengthLaw",
    "Metric",
    "MetricSettings",
    "Momentum",
    "PaperWarmup",
    "Process",
    "ProcessName",
    "RunSettings",
    "Scale",
    "ScaleSettings",
    "Seed",
    "StepLimits",
    "StopRule",
    "WarmupName",
    "parse_process",
    "parse_seed",
]
