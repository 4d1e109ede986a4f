"""A chain's draws depend on its seed alone: not on blocks, threads, or a stop and a restart at a block edge."""

from __future__ import annotations

import io

import numpy as np
import pytest

from grhmc import Outcome, path_functions_from_numba
from grhmc.adaptation.paper_schedule import paper_stages
from grhmc.adaptation.tuners.scale_from_moments import GEO, MCT
from grhmc.models.analytic import gaussian
from grhmc.run.executors import Threads, run_chains
from kernel_helpers import (
    advance_alone,
    assert_same_record,
    finish,
    make_chain,
    make_chains,
    record_arrays,
    run_settings,
)

MODEL = gaussian([1.0, -20.0, 0.0], [[1.0, 0.5, 0.0], [0.5, 4.0, -0.1], [0.0, -0.1, 0.01]]).log_density()
DIM = 3


def squares(q, output):
    output[0] = q[0] * q[0]


FUNCTIONS = path_functions_from_numba(squares, DIM, ["square"])

PRACTICAL = {"tune": 80, "event_rate": "tuned", "sample_interval": None}
VARIANTS = {
    "isg": {"scale": "isg", **PRACTICAL},
    "geo, rkn43": {"scale": "geo", "name": "rkn43", **PRACTICAL},
    "vari, arc length": {"scale": "vari", "event_rate_kind": "arc_length", **PRACTICAL},
    "mct": {"scale": "mct", **PRACTICAL},
    "identity, partial": {"event_rate": 0.5, "refreshment": 0.7, "tune": 80},
    "discrete, isg": {"process": "discrete", "scale": "isg", **PRACTICAL},
    "discrete, mct, leapfrog": {"process": "discrete", "scale": "mct", "name": "leapfrog", **PRACTICAL},
    "discrete, geo, longer": {"process": "discrete", "scale": "geo", **PRACTICAL, "tune": 300},
    "fixed, rkn64": {"scale": [1.0, 2.0, 0.1], "name": "rkn64", "tune": 80, "event_rate": "tuned"},
}
PAPER_VARIANTS = {
    "paper, mct at crossings": (MCT, {"apply_at_crossing": True}),
    "paper, mct at refreshments": (MCT, {"apply_at_crossing": False}),
    "paper, geo": (GEO, {}),
}
EACH_VARIANT = pytest.mark.parametrize("variant", [*VARIANTS, *PAPER_VARIANTS])


def new_chain(variant, seed=5):
    if variant in VARIANTS:
        settings = run_settings(dim=DIM, draws=120, seed=seed, save_warmup=True, **VARIANTS[variant])
        return make_chain(MODEL, settings, path_functions=FUNCTIONS)
    tuner, how = PAPER_VARIANTS[variant]
    settings = run_settings(dim=DIM, draws=120, seed=seed, save_warmup=True, event_rate=0.2)
    warmup = paper_stages(tuner, time_factor=0.1 if tuner == MCT else 0.02, **how)
    return make_chain(MODEL, settings, warmup=warmup, path_functions=FUNCTIONS)


@EACH_VARIANT
def test_draws_do_not_depend_on_the_size_of_blocks(variant):
    whole = finish(new_chain(variant))
    assert whole.outcome == Outcome.STAGE_DONE
    assert len(whole.record().draws) == 120
    rng = np.random.default_rng(1)
    for largest in (60, 2000):
        assert_same_record(whole, finish(new_chain(variant), lambda: int(rng.integers(1, largest))))  # noqa: B023


@EACH_VARIANT
def test_other_seeds_give_other_draws(variant):
    # Negative control for every comparison in this file.
    draws = [finish(new_chain(variant, seed)).record().draws for seed in (5, 6)]
    assert np.all(np.abs(draws[0] - draws[1]).max(axis=0) > 1e-3)


@pytest.mark.parametrize("block_gradients", [None, 37])
@pytest.mark.parametrize("variant", ["isg", "discrete, geo, longer", "mct"])
def test_draws_do_not_depend_on_threads(variant, block_gradients):
    runs = []
    for n_threads in (1, 2):
        chains = make_chains(MODEL, run_settings(dim=DIM, draws=200, chains=3, **VARIANTS[variant]))
        assert run_chains(chains, Threads(n_threads, block_gradients=block_gradients), lambda: None)
        runs.append(chains)
    for left, right in zip(*runs, strict=True):
        assert_same_record(left, right)
    assert not np.array_equal(runs[0][0].record().draws, runs[0][1].record().draws)


def through_a_file(arrays):
    """What a saved state looks like after it has been on disk."""
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    file.seek(0)
    with np.load(file, allow_pickle=False) as loaded:
        return {name: loaded[name] for name in loaded.files}


@EACH_VARIANT
@pytest.mark.parametrize("share", [0.0, 0.05, 0.3, 0.6, 0.95])
def test_a_restored_chain_goes_on_as_the_saved_one(variant, share):
    total = int(finish(new_chain(variant)).process.counters.n_gradients[0])
    rng = np.random.default_rng(int(100 * share))
    saved = new_chain(variant)
    largest = min(50, total // 100)  # a block may go on to the end of a trajectory, but not of the run
    while saved.process.counters.n_gradients[0] < share * total:
        assert advance_alone(saved, int(rng.integers(1, largest))) == Outcome.RUNNING
    arrays = through_a_file(saved.to_arrays())
    restored = new_chain(variant, seed=99)
    finish(restored, lambda: 200)  # a chain with a past of its own, to be overwritten
    restored.restore(arrays)
    assert restored.stage_index == saved.stage_index
    assert restored.draws_done == saved.draws_done
    assert_same_record(saved, restored)
    finish(saved, lambda: 70)
    finish(restored)
    assert_same_record(saved, restored)
    assert saved.counts == restored.counts
    assert saved.outcome == restored.outcome == Outcome.STAGE_DONE


def test_a_restored_chain_keeps_its_seconds_and_the_saved_state_is_a_copy():
    saved = new_chain("isg")
    saved.advance(500)
    arrays = saved.to_arrays()
    kept = {name: array.copy() for name, array in arrays.items()}
    restored = new_chain("isg")
    restored.restore(arrays)
    np.testing.assert_array_equal(restored.seconds, saved.seconds)
    finish(restored)
    finish(saved)
    for name, array in arrays.items():
        assert np.array_equal(array, kept[name], equal_nan=array.dtype.kind == "f"), name


def test_every_saved_array_is_plain():
    arrays = new_chain("mct").to_arrays()
    assert all(isinstance(array, np.ndarray) and not array.dtype.hasobject for array in arrays.values())
    # The generator's state, the medians and the dual averaging are among them.
    assert {"process.rng", "process.crossing.medians.heights", "process.crossing.averaging.sum_error"} <= set(arrays)


def test_a_finished_chain_stays_finished():
    chain = finish(new_chain("isg"))
    before = record_arrays(chain)
    assert chain.advance(1000) == Outcome.STAGE_DONE
    for name, array in record_arrays(chain).items():
        np.testing.assert_array_equal(array, before[name])


def test_a_state_of_another_run_is_rejected():
    arrays = new_chain("isg").to_arrays()
    other = make_chain(MODEL, run_settings(dim=DIM, draws=7, scale="isg", **PRACTICAL))
    with pytest.raises(ValueError, match=r"the saved state belongs to another run: .* should have shape"):
        other.restore(arrays)


@pytest.mark.parametrize(
    "name",
    ["process.path", "records.draws", "process.rng", "stage_index", "seconds", "outcome", "sampling_start"],
)
def test_a_state_with_a_missing_array_is_rejected(name):
    arrays = new_chain("isg").to_arrays()
    del arrays[name]
    with pytest.raises(ValueError, match="the saved state belongs to another run"):
        new_chain("isg").restore(arrays)


@pytest.mark.parametrize("variant", ["geo, rkn43", "discrete, isg"])
def test_a_chain_that_is_told_to_stop_does_so_at_its_next_gradient(variant):
    chain = new_chain(variant)
    chain.advance(2000)
    n_gradients, draws = chain.counts.n_gradients, chain.draws_done
    assert not chain.is_told_to_stop
    chain.stop()
    assert chain.advance(10**6) == Outcome.INTERRUPTED
    assert chain.counts.n_gradients <= n_gradients + 1
    assert chain.draws_done == draws
    undisturbed = finish(new_chain(variant)).record()
    stopped = chain.record()
    np.testing.assert_array_equal(stopped.warmup_draws, undisturbed.warmup_draws[: len(stopped.warmup_draws)])
    np.testing.assert_array_equal(stopped.draws, undisturbed.draws[: len(stopped.draws)])
