"""What a chain carries from one stage to the next beside its process and its records: declared once, saved whole."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from grhmc.adaptation.tuners.momentum_time import CLOSEST_DRAWS
from grhmc.outcomes import Outcome
from grhmc.settings import SYMPLECTIC_INTEGRATORS

AT_SAMPLING_START = ("n_gradients", "time", "n_bounces", "n_floored", "n_non_finite")
"""What is kept of the moment when sampling began."""


@dataclass(kw_only=True, eq=False, repr=False)
class CarriedState:
    """Numbers, flags and small arrays; `run/saved_chain.py` writes and reads every field.

    Attributes
    ----------
    integrator : str
        Of the present stage.
    u_turns_per_refreshment, u_turns_per_draw : float
        How long momenta last, and the distance of draws, over the time to a U-turn; of trajectories.
    places : ndarray, shape (n, dim)
        Where windows have led to; the first `n_places` rows.
    stage_index : int
        -1 before the first stage.
    outcome : Outcome
    seconds : ndarray, shape (2,)
        Of warm-up and of sampling.
    sampling_start : ndarray
        The counters `AT_SAMPLING_START` when sampling began.
    tried_integrators : ndarray, shape (2, len(SYMPLECTIC_INTEGRATORS))
        `TriedIntegrators`: what rounds have found of trajectories' integrators.
    n_repeats : int
        Of the present stage, because it cost too much.
    n_escapes : int
        From places in windows that the chain could not step away from.
    is_agreed, agreed_early : bool
        With the other chains about the scale; at the end of the windows already.
    integrator_stays : bool
        It is the one of the trajectories of the stage before.
    is_lost : bool
        Far from where most of the other chains are.
    noise : float
        Of the log density, its standard deviation; negative: not measured yet.
    n_moves : int
        From a place without mass to one of the other chains'.
    hot_start : float
        The highest log density at which a hot window began.
    warmup_draws_before : int
        Draws of warm-up before the present stage.
    n_stored : int
        Draws of sampling that were handed over, and are in memory no more.
    """

    integrator: str
    u_turns_per_refreshment: float
    places: np.ndarray
    u_turns_per_draw: float = CLOSEST_DRAWS
    stage_index: int = -1
    outcome: Outcome = Outcome.RUNNING
    seconds: np.ndarray = field(default_factory=lambda: np.zeros(2))
    sampling_start: np.ndarray = field(default_factory=lambda: np.zeros(len(AT_SAMPLING_START)))
    tried_integrators: np.ndarray = field(default_factory=lambda: np.zeros((2, len(SYMPLECTIC_INTEGRATORS))))
    n_repeats: int = 0
    n_escapes: int = 0
    is_agreed: bool = False
    agreed_early: bool = False
    integrator_stays: bool = False
    is_lost: bool = False
    noise: float = -1.0
    n_moves: int = 0
    n_places: int = 0
    hot_start: float = -math.inf
    warmup_draws_before: int = 0
    n_stored: int = 0
