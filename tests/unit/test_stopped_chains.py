"""A chain that is stopped within a trajectory goes back to before it, and can go on from there."""

from __future__ import annotations

import numpy as np
import pytest

import grhmc
from grhmc.outcomes import Outcome
from grhmc.run import chain as chains
from kernel_helpers import assert_same_record, finish, make_chain, run_settings


class StopsAt:
    """A density that stops the chain which evaluates it, at its n-th call."""

    def __init__(self, n_calls: int) -> None:
        self.n_calls, self.n_left = n_calls, n_calls
        self.chain: chains.Chain | None = None

    def __call__(self, q: np.ndarray) -> tuple[float, np.ndarray]:
        self.n_left -= 1
        if self.n_left == 0 and self.chain is not None:
            self.chain.stop()
        return -0.5 * float(q @ q), -q


def new_chain(density: StopsAt, process: str) -> chains.Chain:
    settings = run_settings(
        dim=3, draws=60, seed=5, process=process, tune=60, event_rate="tuned", sample_interval=None, save_warmup=True
    )
    return make_chain(grhmc.from_python(density, 3), settings)


@pytest.mark.parametrize("process", ["discrete", "continuous"])
@pytest.mark.parametrize("share", [0.8, 0.9, 0.97])
def test_a_chain_that_was_stopped_within_a_trajectory_can_go_on(monkeypatch, process, share):
    monkeypatch.setattr(chains, "LONG_BLOCK_SECONDS", 0.0)
    whole = finish(new_chain(StopsAt(0), process))
    density = StopsAt(int(share * whole.counts.n_gradients))
    stopped = new_chain(density, process)
    density.chain = stopped
    finish(stopped, lambda: 50)
    assert stopped.outcome == Outcome.INTERRUPTED
    assert not stopped.stage.is_warmup
    assert stopped.is_whole
    assert stopped.is_told_to_stop
    again = new_chain(StopsAt(0), process)
    again.restore(stopped.to_arrays())
    assert 0 <= again.n_draws < 60
    assert_same_record(whole, finish(again))
