"""What is needed to go on with a run, wherever it was kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grhmc.models.log_density import LogDensity
from grhmc.results.checkpoint import CheckpointError
from grhmc.settings import RunSettings
from grhmc.storage.fingerprint import describe_model, software
from grhmc.storage.settings_json import settings_from_json, settings_to_json

_FORMAT = 1


@dataclass(frozen=True)
class SavedRun:
    """A run that was begun.

    Attributes
    ----------
    settings : RunSettings
    description : dict
        What `describe_run` gives, as it was read.
    points : ndarray, shape (chains, dim)
        Where the model is compared with that of the run: where its chains started, or their last draws.
    values : ndarray, shape (chains, 1 + dim) or (chains, 1)
        Log density and gradient there, or the log density alone.
    states : list of dict of str to ndarray
        Of the chains.
    epoch : int
        See `grhmc.storage.checkpoints`.
    """

    settings: RunSettings
    description: dict[str, Any]
    points: np.ndarray
    values: np.ndarray
    states: list[dict[str, np.ndarray]]
    epoch: int = 0

    @property
    def kept(self) -> tuple[str, ...] | None:
        """Names of the variables that its result is to have."""
        names = self.description["var_names"]
        return None if names is None else tuple(names)

    @property
    def function_names(self) -> tuple[str, ...]:
        """Of time-averaged functions."""
        return tuple(self.description["function_names"])

    @property
    def log_likelihood(self) -> tuple[str, ...]:
        """Terms that its result is to have in a group of this name."""
        return tuple(self.description.get("log_likelihood", ()))


def describe_run(
    model: LogDensity,
    settings: RunSettings,
    function_names: Sequence[str],
    kept: tuple[str, ...] | None,
    terms: Sequence[str],
) -> dict[str, Any]:
    """What a run is made of, as JSON can hold it."""
    return {
        "format": _FORMAT,
        "software": software(),
        "model": describe_model(model),
        "settings": settings_to_json(settings),
        "var_names": kept,
        "function_names": list(function_names),
        "log_likelihood": list(terms),
    }


def read_settings(description: dict[str, Any], place: str) -> RunSettings:
    """The settings of a description.

    Raises
    ------
    CheckpointError
        If it has another format.
    KeyError, TypeError
        If it is damaged.
    """
    if description["format"] != _FORMAT:
        raise CheckpointError(
            f"{place} has format {description['format']} and was written by grhmc "
            f"{description['software']['grhmc']}; this one reads format {_FORMAT}"
        )
    return settings_from_json(description["settings"])
