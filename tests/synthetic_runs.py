"""Runs that were never sampled: records with known contents, for tests of what comes after sampling."""

from __future__ import annotations

import numpy as np

from grhmc.models import LogDensity, from_python
from grhmc.outcomes import Outcome
from grhmc.results.datatree import build_datatree
from grhmc.results.record import ChainRecord

ATTRIBUTES = {"inference_library": "grhmc", "inference_library_version": "0", "scale": "geo", "process": "continuous"}


def standard_normal(q):
    return -0.5 * q @ q, -q


def make_model(names=None, dim: int = 3) -> LogDensity:
    """A model whose density no test here evaluates."""
    return from_python(standard_normal, dim, names)


def make_record(
    chain: int = 0,
    draws: np.ndarray | None = None,
    *,
    dim: int = 3,
    n_draws: int = 20,
    n_warmup: int = 0,
    n_history: int = 7,
    n_functions: int = 0,
    gradients_per_draw: int = 10,
    diverging: tuple[int, ...] = (),
) -> ChainRecord:
    """A record as the runner makes them; independent standard normal draws unless given."""
    rng = np.random.default_rng(chain)
    if draws is None:
        draws = rng.standard_normal((n_draws, dim))
    n_draws, dim = draws.shape
    n_intervals = n_draws // 5
    return ChainRecord(
        chain=chain,
        n_draws=n_draws,
        draws=draws,
        statistics=_statistics(rng, n_draws, gradients_per_draw, diverging),
        warmup_draws=rng.standard_normal((n_warmup, dim)),
        warmup_statistics=_statistics(rng, n_warmup, gradients_per_draw, ()),
        time_average={
            "position": rng.standard_normal((n_intervals, dim)),
            "position_squared": np.ones((n_intervals, dim)),
            "functions": np.ones((n_intervals, n_functions)),
            "duration": np.full(n_intervals, 15.0),
        },
        tuning={
            "scale": np.arange(1.0, dim + 1) * (1 + 0.1 * chain),
            "centre": np.zeros(dim),
            "event_rate": np.array(0.3),
            "time_to_u_turn": np.array(3.0),
            "n_gradients": np.array(1000 + chain),
            "crossing_time": np.full(dim, 3.3),
            "history_time": np.linspace(1.0, 100.0, n_history),
            "history_scale": np.ones((n_history, dim)),
            "history_centre": np.zeros((n_history, dim)),
            "history_event_rate": np.full(n_history, 0.3),
            "history_n_gradients": np.arange(n_history),
        },
        warmup_seconds=1.0 + chain,
        sampling_seconds=2.0,
        outcome=Outcome.STAGE_DONE,
    )


def make_result(n_chains: int = 4, names=None, dim: int = 3, **record_arguments):
    """The DataTree of such records."""
    records = [make_record(chain, dim=dim, **record_arguments) for chain in range(n_chains)]
    return build_datatree(records, make_model(names, dim), ATTRIBUTES)


def _statistics(rng, n_draws: int, gradients_per_draw: int, diverging: tuple[int, ...]):
    return {
        "lp": -rng.random(n_draws),
        "energy": rng.random(n_draws),
        "energy_error": np.zeros(n_draws),
        "diverging": np.isin(np.arange(n_draws), diverging),
        "n_gradients": np.full(n_draws, gradients_per_draw),
        "n_steps": np.full(n_draws, gradients_per_draw // 2),
        "n_rejected": np.zeros(n_draws, dtype=np.int64),
        "n_events": rng.integers(0, 4, n_draws),
        "step_size": np.full(n_draws, 0.8),
        "process_time": 100.0 + 3.0 * np.arange(1, n_draws + 1),
    }
