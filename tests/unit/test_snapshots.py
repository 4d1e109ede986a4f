"""What progress says of real chains is what their results say afterwards."""

from __future__ import annotations

import pytest

from grhmc.adaptation.stages_of_run import stages_of_run
from grhmc.models.analytic import independent_normals
from grhmc.run.chain import Chain
from grhmc.run.executors import Threads, run_chains
from grhmc.run.progress import ChainSnapshot
from grhmc.run.snapshots import Watch
from grhmc.sampling import prepare
from grhmc.settings import ProcessName, RunSettings, parse_process


def make_chains(process: ProcessName) -> list[Chain]:
    settings = RunSettings(draws=300, tune=200, chains=2, seed=1, progress_bar=False, process=parse_process(process))
    stages = stages_of_run(settings, dim=2)
    return prepare(independent_normals([1.0, 2.0]).log_density(), settings, stages, None, None)


def watched(chains: list[Chain]) -> list[list[ChainSnapshot]]:
    """Everything that a display would have been told, in small blocks on one thread."""
    watch, seen = Watch(chains), []
    for chain in chains:
        advance = chain.advance

        def look_after(n_gradients, advance=advance):
            outcome = advance(n_gradients)
            seen.append(watch())
            return outcome

        chain.advance = look_after
    run_chains(chains, Threads(1, block_gradients=50), lambda: seen.append(watch()))
    return seen


@pytest.mark.parametrize("process", ["discrete", "continuous"])
def test_the_last_look_agrees_with_the_result(process):
    chains = make_chains(process)
    seen = watched(chains)
    for chain, last in zip(chains, seen[-1], strict=True):
        assert (last.draws_done, last.draws_total) == (300, 300)
        assert last.warmup_done == last.warmup_total == chain.warmup_draws_before <= 200
        assert last.finished
        statistics = chain.record().statistics
        assert last.rejected_fraction is not None
        n_rejected = statistics["n_rejected"].sum()
        n_tried = statistics["n_events"] if process == "discrete" else n_rejected / 300 + statistics["n_steps"]
        assert last.rejected_fraction == pytest.approx(n_rejected / n_tried.sum(), abs=0.02)
        assert (last.event_rate is None) == (process == "discrete")


def test_a_step_is_that_of_trajectories_once_there_are_any():
    chains = make_chains("discrete")
    last = watched(chains)[-1]
    assert [look.step_size for look in last] == [float(chain.record().tuning["step_size"]) for chain in chains]


def test_no_chain_is_finished_that_waits_for_the_others():
    looks = [look for moment in watched(make_chains("discrete")) for look in moment]
    waiting = [look for look in looks if look.stage == "waiting"]
    assert waiting
    assert not any(look.finished for look in waiting)
    assert all(look.draws_done == 0 for look in waiting)


def test_windows_before_the_discrete_process_have_no_rejected_trajectories():
    looks = [look for moment in watched(make_chains("discrete")) for look in moment]
    shares = {look.rejected_fraction for look in looks if look.stage.startswith("window")}
    assert shares == {None}
    assert all(look.draws_done <= 300 and look.done <= look.total for look in looks)
