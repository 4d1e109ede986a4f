"""Intervals of time averages joined to longer ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np


def join_intervals(averages: Mapping[str, np.ndarray], n_joined: int) -> dict[str, np.ndarray]:
    """Averages over every `n_joined` neighbouring intervals; those at the end that are fewer are left out.

    Parameters
    ----------
    averages : mapping of str to ndarray
        ``duration`` of shape (n,), and averages of shape (n, ...).
    n_joined : int
    """
    if n_joined == 1:
        return dict(averages)
    n = len(averages["duration"]) // n_joined
    parts = {name: rows[: n * n_joined].reshape(n, n_joined, *rows.shape[1:]) for name, rows in averages.items()}
    weights = parts.pop("duration")
    joined = {"duration": weights.sum(axis=1)}
    for name, rows in parts.items():
        duration = joined["duration"].reshape(n, *[1] * (rows.ndim - 2))
        joined[name] = np.einsum("ij,ij...->i...", weights, rows) / duration
    return joined
