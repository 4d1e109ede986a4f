"""A chain is watched from another thread while it runs: reading its progress must never fail."""

from __future__ import annotations

import threading
import time

from grhmc.adaptation.stages_of_run import stages_of_run
from grhmc.models.analytic import paper_target
from grhmc.run.chain import Chain
from grhmc.run.snapshots import Watch
from grhmc.sampling import prepare
from grhmc.settings import RunSettings


def make_chain() -> Chain:
    settings = RunSettings(draws=10, tune=20, chains=1, seed=1, progress_bar=False)
    stages = stages_of_run(settings, paper_target("G1").dim)
    return prepare(paper_target("G1").log_density(), settings, stages, None, None)[0]


def test_progress_can_be_read_while_a_stage_begins() -> None:
    """NumPy sets a recarray's field by way of the array's own attributes: for a moment the reader finds a number."""
    chain = make_chain()
    vars(chain.process.cursors)["draw_index"] = 0  # that moment
    assert chain.draws_done == 0
    assert Watch([chain])()[0].done == 0


def test_progress_can_be_read_at_any_time_from_another_thread() -> None:
    chain = make_chain()
    watch = Watch([chain])
    stop = threading.Event()

    def begin_stages() -> None:
        while not stop.is_set():
            chain.process.cursors.draw_index = 0

    thread = threading.Thread(target=begin_stages)
    thread.start()
    try:
        end = time.monotonic() + 0.2
        while time.monotonic() < end:
            assert watch()[0].done == 0
    finally:
        stop.set()
        thread.join()
