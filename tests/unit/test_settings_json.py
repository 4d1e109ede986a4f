"""A run's settings survive a file."""

import dataclasses
import json

import numpy as np
import pytest

import grhmc
from grhmc.settings import MetricSettings, RunSettings, ScaleSettings, StopRule
from grhmc.settings.run import StepLimits
from grhmc.storage.settings_json import settings_from_json, settings_to_json


@pytest.mark.parametrize(
    "settings",
    [
        RunSettings(),
        RunSettings(seed=(1, 2**80), process=grhmc.Discrete(momentum="fresh", target_accept=0.7), interval_draws=3),
        RunSettings(process=grhmc.Continuous(tolerance=0.1, warmup=grhmc.PaperWarmup(time_factor=0.5))),
        RunSettings(process=grhmc.Continuous(event_rate=0.3, refreshment=0.5, event_rate_kind="arc_length")),
        RunSettings(scale=ScaleSettings("mct", mct=grhmc.MCT(anchor_factor=[1.0, 0.1 + 0.2]))),
        RunSettings(scale=ScaleSettings("mct", mct=grhmc.MCT(gamma=3.0)), metric=MetricSettings("diagonal")),
        RunSettings(stop=StopRule(ess=400.0, max_gradients=10), limits=StepLimits(largest_step=1.0)),
    ],
)
def test_settings_come_back_as_they_were(settings):
    written = json.loads(json.dumps(settings_to_json(settings)))
    assert set(written) == {field.name for field in dataclasses.fields(settings)}
    assert settings_from_json(written) == settings


def test_a_fixed_scale_comes_back_bit_by_bit():
    scale = np.random.default_rng(1).random(5) * 1e-7
    written = json.loads(json.dumps(settings_to_json(RunSettings(scale=ScaleSettings("fixed", scale)))))
    found = settings_from_json(written).scale.fixed
    assert found is not None
    np.testing.assert_array_equal(found, scale)
