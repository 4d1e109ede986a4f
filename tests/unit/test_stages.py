"""The programmes of a run: all draws of the warm-up are used, and MCT begins once there is a scale to begin from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import grhmc
from grhmc.adaptation.paper_schedule import paper_stages
from grhmc.adaptation.schedule import FEWEST_DRAWS_TO_HEAT, PracticalWarmup
from grhmc.adaptation.stage import ScaleRule, Stage, hot_depth, hot_temperature
from grhmc.adaptation.stages_of_run import warmup_stages
from grhmc.adaptation.tuners.scale_from_moments import FIXED, GEO, ISG, MCT, VARI
from grhmc.models.analytic import independent_normals
from grhmc.run.stage_tuners import begin_scale_tuner
from grhmc.settings import RunSettings, ScaleSettings
from kernel_helpers import make_chain, run_settings


def practical(n_tune: int, tuner: int, **how: Any) -> list[Stage]:
    how |= {"tune_event_rate": True, "u_turn_factor": 1.3, "draw_spacing": None, "u_turns_per_draw": 0.5}
    return PracticalWarmup(n_tune=n_tune, tuner=tuner, **how).stages()


@pytest.mark.parametrize("tuner", [FIXED, VARI, ISG, GEO, MCT])
def test_stages_use_all_draws_and_none_is_empty(tuner: int) -> None:
    for n_tune in (*range(60), 150, 999, 1000, 6000):
        lengths = [stage.n_draws for stage in practical(n_tune, tuner)]
        assert sum(lengths) == n_tune
        assert all(length > 0 for length in lengths)


def lengths(n_tune: int, tuner: int, **how: Any) -> list[int]:
    return [stage.n_draws for stage in practical(n_tune, tuner, **how)]


def test_windows_of_geo_after_the_hot_ones_are_short() -> None:
    assert lengths(1000, GEO)[:8] == [20, 20, 30, 40, 20, 20, 28, 56]
    for tuner in (VARI, ISG, MCT):
        assert lengths(1000, tuner)[:7] == [20, 20, 30, 40, 50, 50, 70]
    assert lengths(400, GEO)[:7] == [8, 8, 12, 16, 20, 20, 28]  # nothing is shorter than that


def test_fewer_chains_have_longer_windows_and_rounds() -> None:
    assert lengths(1000, GEO, n_chains=2)[:8] == [20, 20, 30, 40, 40, 40, 56, 78]
    assert lengths(1000, GEO, n_chains=1)[:8] == [20, 20, 30, 40, 50, 50, 70, 83]
    assert lengths(1000, GEO, n_chains=8) == lengths(1000, GEO, n_chains=4)


def test_windows_and_rounds_are_long_enough_to_tell_directions_up_to_their_full_length() -> None:
    assert lengths(1000, GEO, draws_for_directions=100)[:7] == [20, 20, 30, 40, 25, 25, 28]
    assert lengths(1000, GEO, draws_for_directions=10_000)[:7] == lengths(1000, VARI)[:7]


def test_the_first_two_rounds_of_geo_are_shorter_where_chains_agree_early() -> None:
    stages = practical(1000, GEO, tune_momentum_time=True)
    rounds = [stage for stage in stages if stage.round > 0]
    shorter = [stage.shorter for stage in rounds]
    assert [stage and stage.n_draws for stage in shorter[:2]] == [30, 30]
    assert shorter[2:] == [None] * (len(rounds) - 2)
    settling = stages[-1].shorter
    assert settling is not None
    assert settling.n_draws == stages[-1].n_draws
    assert settling.tune_momentum_time
    assert not stages[-1].tune_momentum_time


@pytest.mark.parametrize("tuner", [FIXED, VARI, ISG, MCT])
def test_rounds_of_other_tuners_are_never_shorter(tuner: int) -> None:
    """Their scale is not the one that chains agree about after the windows, or none is tuned."""
    assert all(stage.shorter is None for stage in practical(1000, tuner))


def test_shorter_rounds_are_no_shorter_than_a_round_may_be() -> None:
    for n_tune in (10, 100, 400, 600, 5000):
        for stage in practical(n_tune, GEO):
            assert stage.shorter is None or stage.round == 0 or 30 <= stage.shorter.n_draws < stage.n_draws


def test_a_chain_goes_through_the_shorter_round_if_it_has_agreed_early() -> None:
    lengths = {}
    for agreed_early in (False, True):
        chain = make_chain(independent_normals(np.ones(2)).log_density(), run_settings(tune=1000, scale="geo"))
        chain.agreed_early = agreed_early
        (first,) = [number for number, stage in enumerate(chain.stages) if stage.round == 1]
        chain.go_on(first)
        lengths[agreed_early] = int(chain.process.settings.n_draws[0])
    assert (lengths[True], lengths[False]) == (30, chain.stages[first].n_draws)


def test_settling_is_brief_where_the_integrator_stays_unless_it_has_to_tune_more() -> None:
    settling = practical(1000, GEO, tune_momentum_time=True)[-1]
    assert settling.as_taken(agreed_early=False, integrator_stays=False) == settling
    brief = settling.as_taken(agreed_early=False, integrator_stays=True)
    assert (brief.n_draws, brief.tune_step, brief.tune_momentum_time) == (20, True, False)
    for integrator_stays in (False, True):
        taken = settling.as_taken(agreed_early=True, integrator_stays=integrator_stays)
        assert taken.n_draws == settling.n_draws
        assert taken.tune_momentum_time


@pytest.mark.parametrize("tuner", [FIXED, VARI, ISG, GEO, MCT])
def test_a_brief_settling_is_shorter_and_never_too_short_to_tune_a_step(tuner: int) -> None:
    for n_tune in (10, 100, 340, 1000, 5000):
        settling = practical(n_tune, tuner)[-1]
        assert settling.brief is None or 20 <= settling.brief.n_draws < settling.n_draws
        assert (settling.brief is None) == (settling.name != "settling" or settling.n_draws <= 20)


def test_crossing_times_are_looked_at_once_between_the_windows_and_the_rounds() -> None:
    stages = practical(1000, MCT)
    tuners = [stage.scale.tuner for stage in stages]
    (number,) = [number for number, tuner in enumerate(tuners) if tuner == MCT]
    assert set(tuners[:number]) == {GEO}
    assert set(tuners[number + 1 :]) == {FIXED}
    assert stages[number - 1].pools
    assert stages[number].pools
    assert not stages[number].by_trajectories


def test_too_few_draws_for_windows_are_all_geos() -> None:
    (stage,) = practical(5, MCT)
    assert stage.scale.tuner == GEO
    assert not stage.pools


def test_the_papers_two_runs_of_mct_are_the_published_ones() -> None:
    first, second, rate = paper_stages(MCT)
    assert [stage.n_draws for stage in (first, second, rate)] == [1000, 5000, 5000]
    assert (first.scale.gamma, first.scale.anchor_factor) == (10.0, 0.0)
    assert (second.scale.gamma, second.scale.anchor_factor) == (25.0, 1.1)
    assert first.scale.apply_at_crossing
    assert (rate.scale.tuner, rate.event_rate.tune) == (FIXED, True)


def test_two_windows_are_hot_and_a_chain_can_cool_after_each() -> None:
    windows = [stage for stage in practical(1000, GEO) if stage.name.startswith("window")]
    assert [stage.is_hot for stage in windows] == [False, True, False, True, False, False, False]
    assert [stage.keeps_place for stage in windows] == [not stage.is_hot for stage in windows]
    assert sum(stage.n_draws * stage.u_turns_per_draw for stage in windows[4:]) > 5.0 * 1.3  # five refreshments


@pytest.mark.parametrize(("tuner", "first"), [(GEO, 1), (VARI, 2)])
def test_rounds_may_end_once_the_tuner_has_had_windows_or_two_of_them(tuner: int, first: int) -> None:
    rounds = [stage for stage in practical(1000, tuner) if stage.round > 0]
    assert [stage.round for stage in rounds if not stage.may_end_rounds] == list(range(1, first))
    assert not any(stage.may_end_rounds for stage in practical(1000, tuner) if stage.round == 0)


@pytest.mark.parametrize("tuner", [VARI, ISG, MCT, GEO])
def test_chains_that_agree_may_leave_out_the_windows_after_the_first_in_which_they_have_cooled(tuner: int) -> None:
    stages = practical(1000, tuner)
    assert [stage.name for stage in stages if stage.may_end_windows] == ["window 5", "window 6"]
    assert not any(stage.pools for stage in stages if stage.may_end_windows)
    assert not any(stage.may_end_windows for stage in practical(1000, FIXED))
    assert not any(stage.may_end_windows for stage in paper_stages(GEO))


def test_how_far_down_momenta_are_hot_counts_from_the_highest_start_of_a_hot_window() -> None:
    """A chain that has not come back from the first hot window is not led on by the second."""
    chain = make_chain(independent_normals(np.ones(2)).log_density(), run_settings(tune=1000, scale="geo"))
    first, second = (number for number, stage in enumerate(chain.stages) if stage.is_hot)
    lowest = []
    for number, log_density in ((first, -1.0), (second, -12.0), (second, -0.5)):
        chain.process.path.log_density = log_density
        chain.go_on(number)
        lowest.append(float(chain.process.settings.lowest_hot_log_density[0]))
    assert lowest == pytest.approx([-1.0 - hot_depth(2), -1.0 - hot_depth(2), -0.5 - hot_depth(2)])


def test_no_window_is_hot_where_there_is_no_time_to_cool() -> None:
    assert not any(stage.is_hot for stage in practical(FEWEST_DRAWS_TO_HEAT - 1, GEO))
    assert not any(stage.is_hot for stage in paper_stages(GEO))
    windows = [stage for stage in practical(FEWEST_DRAWS_TO_HEAT, GEO) if stage.name.startswith("window")]
    assert sum(stage.n_draws * stage.u_turns_per_draw for stage in windows[4:]) > 5.0 * 1.3


@pytest.mark.parametrize("dim", [1, 10, 1000])
def test_hot_momenta_have_so_many_standard_deviations_more_energy(dim: int) -> None:
    extra = 0.5 * dim * (hot_temperature(dim) - 1.0)
    assert extra / np.sqrt(0.5 * dim) == pytest.approx(12.0 * np.sqrt(2.0))


@pytest.mark.parametrize("warmup", ["practical", grhmc.PaperWarmup()])
def test_mct_with_its_default_settings_is_mct(warmup):
    stages = [
        warmup_stages(RunSettings(draws=1000, tune=1000, scale=scale, process=grhmc.Continuous(warmup=warmup)), 3)
        for scale in (ScaleSettings.parse("mct", 3), ScaleSettings.parse(grhmc.MCT(), 3))
    ]
    assert any(stage.scale.tuner == MCT for stage in stages[0])
    assert stages[0] == stages[1]


def test_every_setting_of_mct_reaches_the_stages_that_it_is_for():
    own = grhmc.MCT(
        target_crossing_time=2.0,
        gamma=5.0,
        second_gamma=50.0,
        anchor_factor=1.0,
        kappa=0.9,
        k0=3.0,
        median_spacing=0.5,
        burn_share=0.1,
    )
    settings = RunSettings(
        draws=1, tune=1, scale=ScaleSettings.parse(own, 3), process=grhmc.Continuous(warmup=grhmc.PaperWarmup())
    )
    first, second = [stage.scale for stage in warmup_stages(settings, 3) if stage.scale.tuner == MCT]
    for rule in (first, second):
        assert (rule.target_crossing_time, rule.kappa, rule.k0, rule.median_spacing) == (2.0, 0.9, 3.0, 0.5)
    assert (first.gamma, first.anchor_factor, first.first_change) == (5.0, 0.0, 100.0)
    assert (second.gamma, second.anchor_factor, second.first_change) == (50.0, 1.0, 500.0)


def test_targets_and_anchors_of_each_coordinate_reach_the_tuner():
    own = grhmc.MCT(target_crossing_time=np.array([1.0, 2.0]), anchor_factor=[0.5, 2.0])
    chain = make_chain(
        independent_normals(np.ones(2)).log_density(),
        run_settings(dim=2, draws=1),
        warmup=[Stage("second run", 1, scale=ScaleRule(tuner=MCT, first_change=5.0))],
    )
    settings = RunSettings(draws=1, scale=ScaleSettings.parse(own, 2), process=grhmc.Continuous(warmup="paper"))
    first, second = [stage.scale for stage in warmup_stages(settings, 2) if stage.scale.tuner == MCT]
    assert (first.target_crossing_time, first.anchor_factor) == ((1.0, 2.0), 0.0)
    chain.process.standardization.scale[:] = 3.0, 5.0
    begin_scale_tuner(chain.process, second)
    tuner = chain.process.crossing
    assert tuner.target_time.tolist() == [1.0, 2.0]
    np.testing.assert_array_equal(tuner.averaging.anchor, np.array([0.5, 2.0]) * np.log([3.0, 5.0]))


@pytest.mark.parametrize("name", ["target_crossing_time", "anchor_factor"])
def test_numbers_of_another_dimension_are_named(name):
    def make(value: Any) -> grhmc.MCT:
        return grhmc.MCT(**{name: value})

    with pytest.raises(ValueError, match=rf"{name} of grhmc.MCT has shape \(3,\).*2 uncon.*shape \(2,\)"):
        ScaleSettings.parse(make([1.0, 2.0, 3.0]), 2)
    with pytest.raises(ValueError, match=rf"{name} must be a number or have shape \(dim,\), got .*\(1, 2\)"):
        make([[1.0, 2.0]])
    with pytest.raises(ValueError, match=rf"{name}\[1\] must be a finite number.*nan"):
        make([1.0, np.nan])
    with pytest.raises(TypeError, match=rf"{name} must be a number, or an array"):
        make(["a", "b"])


def test_numbers_of_each_coordinate_can_be_compared_and_hashed():
    one, same = grhmc.MCT(target_crossing_time=np.array([1.0, 2.0])), grhmc.MCT(target_crossing_time=(1, 2))
    assert one == same
    assert hash(one) == hash(same)
    assert one != grhmc.MCT(target_crossing_time=(1.0, 2.5))


@pytest.mark.parametrize(
    "wrong", [{"kappa": 0.5}, {"kappa": 1.1}, {"gamma": 0.0}, {"target_crossing_time": -1.0}, {"burn_share": 1.0}]
)
def test_a_wrong_setting_of_mct_is_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        grhmc.MCT(**wrong)


def test_a_median_needs_five_samples_before_crossings_count():
    scale = ScaleSettings.parse(grhmc.MCT(median_spacing=20.0), 3)
    settings = RunSettings(draws=1, tune=1, scale=scale, process=grhmc.Continuous(warmup=grhmc.PaperWarmup()))
    with pytest.raises(ValueError, match="median_spacing is 20"):
        warmup_stages(settings, 3)
