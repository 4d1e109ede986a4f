"""A run's settings as JSON, and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from grhmc.settings import MCT, Continuous, Discrete, MetricSettings, PaperWarmup, RunSettings, ScaleSettings, StopRule
from grhmc.settings.run import StepLimits

_PROCESSES = {"Discrete": Discrete, "Continuous": Continuous}


def settings_to_json(settings: RunSettings) -> dict[str, Any]:
    """Everything in it, as what JSON can hold; see `settings_from_json`."""
    written = {item.name: getattr(settings, item.name) for item in dataclasses.fields(settings)}
    fixed = settings.scale.fixed
    check_storable(settings)
    process = {item.name: getattr(settings.process, item.name) for item in dataclasses.fields(settings.process)}
    if isinstance(process.get("warmup"), PaperWarmup):
        process["warmup"] = dataclasses.asdict(process["warmup"])
    return written | {
        "seed": list(settings.seed) if isinstance(settings.seed, tuple) else settings.seed,
        "process": {"kind": type(settings.process).__name__, **process},
        "scale": {
            "tuner": settings.scale.tuner,
            "fixed": None if fixed is None else np.asarray(fixed).tolist(),
            "mct": None if settings.scale.mct is None else dataclasses.asdict(settings.scale.mct),
        },
        "metric": dataclasses.asdict(settings.metric),
        "limits": dataclasses.asdict(settings.limits),
        "stop": dataclasses.asdict(settings.stop),
    }


def check_storable(settings: RunSettings) -> None:
    """Raise a ValueError if the settings hold what a file cannot: an event rate of the user's own."""
    if callable(settings.continuous.event_rate_kind):
        raise ValueError(
            f"event_rate_kind is the function {settings.continuous.event_rate_name}, and a store holds no functions: "
            "leave out store, and save the result when it is there"
        )


def settings_from_json(written: Mapping[str, Any]) -> RunSettings:
    """The settings that `settings_to_json` has written."""
    fields = dict(written)
    process = dict(fields["process"])
    make = _PROCESSES[process.pop("kind")]
    if isinstance(process.get("warmup"), Mapping):
        process["warmup"] = PaperWarmup(**process["warmup"])
    scale = fields["scale"]
    fixed = None if scale["fixed"] is None else np.array(scale["fixed"], dtype=np.float64)
    mct = None if scale["mct"] is None else MCT(**scale["mct"])
    fields |= {
        "seed": tuple(fields["seed"]) if isinstance(fields["seed"], list) else fields["seed"],
        "process": make(**process),
        "scale": ScaleSettings(scale["tuner"], fixed, mct),
        "metric": MetricSettings(**fields["metric"]),
        "limits": StepLimits(**fields["limits"]),
        "stop": StopRule(**fields["stop"]),
    }
    return RunSettings(**fields)
