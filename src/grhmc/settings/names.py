"""The names that arguments may have, as types for a type checker and as tuples for the checks of a run."""

from __future__ import annotations

import math
from typing import Literal, get_args

Scale = Literal["geo", "isg", "vari", "mct", "identity"]
Metric = Literal["auto", "diagonal", "low_rank"]
ProcessName = Literal["discrete", "continuous"]
DiscreteIntegrator = Literal["auto", "splitting", "leapfrog"]
ContinuousIntegrator = Literal["splitting", "rkn43", "rkn64"]
Momentum = Literal["persistent", "fresh"]
LengthLaw = Literal["uniform", "exponential"]
EventRateKind = Literal["constant", "arc_length"]
WarmupName = Literal["practical", "paper"]
EventRateRuleName = Literal["as_stated", "as_run"]

SCALES: tuple[Scale, ...] = get_args(Scale)
METRICS: tuple[Metric, ...] = get_args(Metric)
PROCESSES: tuple[ProcessName, ...] = get_args(ProcessName)
DISCRETE_INTEGRATORS: tuple[DiscreteIntegrator, ...] = get_args(DiscreteIntegrator)
CONTINUOUS_INTEGRATORS: tuple[ContinuousIntegrator, ...] = get_args(ContinuousIntegrator)
MOMENTA: tuple[Momentum, ...] = get_args(Momentum)
LENGTH_LAWS: tuple[LengthLaw, ...] = get_args(LengthLaw)
EVENT_RATE_KINDS: tuple[EventRateKind, ...] = get_args(EventRateKind)
WARMUPS: tuple[WarmupName, ...] = get_args(WarmupName)
EVENT_RATE_RULES: tuple[EventRateRuleName, ...] = get_args(EventRateRuleName)

SYMPLECTIC_INTEGRATORS = ("splitting", "leapfrog")
"""Of the discrete process: steps of one size preserve volume and can be reversed."""

DEFAULT_TOLERANCES = {"splitting": 0.05, "rkn43": 0.015, "rkn64": 0.001, "leapfrog": 0.15}
"""Largest local error per step, in standardized units, by integrator."""

DEFAULT_TARGET_ACCEPT = {"splitting": 0.85, "leapfrog": 0.8}
"""Mean acceptance that steps of the discrete process are tuned to, by integrator."""

TARGET_CROSSING_TIME = math.pi
"""T̃, process time between two crossings of the median: half a period of a standard normal coordinate."""
