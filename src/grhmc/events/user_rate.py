"""A base rate of the user's own, ρ(q̄, p̄): its call, its integral along a step, and the refreshment that goes with it.

A process with the generator

    L f = p̄·∂f/∂q̄ + ∂log π̄/∂q̄·∂f/∂p̄ + λ ρ(q̄, p̄) [∫ Q(q̄, p̄, dp̄') f(q̄, p̄') − f(q̄, p̄)]

leaves π̄(q̄) N(p̄; 0, I) unchanged if for every q̄ the kernel Q leaves the density ρ(q̄, p̄) N(p̄; 0, I) unchanged: the flow
does, and ∫ π̄ N ρ (Q f − f) is then 0. Refreshment is here by Metropolis steps with that density. Their proposals

    p̄' = φ p̄ + √(1 − φ²) ξ,   ξ ~ N(0, I),

independent ones for φ = 0, satisfy detailed balance with N(0, I), so that the ratio of acceptance is ρ(q̄, p̄')/ρ(q̄, p̄).
A fixed number of such steps leaves the density unchanged, as each does. The new momentum is not independent of the old
one where the rate depends on momentum, which costs efficiency but no exactness. Where ρ does not depend on p̄ all
proposals are accepted, and the refreshment is full, or Horowitz's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grhmc._jit import inner_kernel
from grhmc.density_pointer import FINE
from grhmc.dynamics.aligned import aligned_zeros
from grhmc.dynamics.dense_output import momentum_at, position_at
from grhmc.dynamics.density_call import call_pointer
from grhmc.dynamics.phase import Step, copy_to
from grhmc.dynamics.time_averages import GAUSS_NODES, GAUSS_WEIGHTS
from grhmc.events.random_numbers import mix_normal, uniform

N_METROPOLIS_STEPS = 4
"""Of a full refreshment: with a rate that varies by a factor of three, a proposal is accepted every other time."""


class UserRate(NamedTuple):
    """A rate behind a C pointer, with room for its input and output.

    Attributes
    ----------
    address : int
        ``int64 f(uint64 dim, const double* q_bar, const double* p_bar, double* rate, void* unused)``; 0: none.
    typical : float
        Its size on N(0, I).
    position, momentum : ndarray, shape (dim,)
        Scratch: the arguments. After a failure, those that it failed at.
    value : ndarray, shape (1,)
        Scratch: the rate.
    failure : ndarray of int, shape (1,)
        1 once the function has raised, or has given what is no rate; it is then not called any more.
    """

    address: int
    typical: float
    position: np.ndarray
    momentum: np.ndarray
    value: np.ndarray
    failure: np.ndarray


def init_user_rate(dim: int, address: int = 0, typical: float = 1.0) -> UserRate:
    """Allocate the scratch that goes with a pointer."""
    failure = np.zeros(1, dtype=np.int64)
    return UserRate(address, float(typical), aligned_zeros(dim), aligned_zeros(dim), np.zeros(1), failure)


@inner_kernel
def call_rate(user: UserRate) -> float:
    """ρ at the arguments that are in the scratch; 1 where the function fails, which `user.failure` then says."""
    if user.failure[0] != 0:
        return 1.0
    code = call_pointer(user.address, 0, user.position, user.momentum, user.value)
    rate = user.value[0]
    if code != FINE or not rate > 0.0 or not np.isfinite(rate):
        user.failure[0] = 1
        return 1.0
    return rate


@inner_kernel
def rate_at(user: UserRate, position: np.ndarray, momentum: np.ndarray) -> float:
    """ρ(q̄, p̄); overwrites the scratch, which protects the arguments from being written to."""
    if user.failure[0] == 0:
        copy_to(position, user.position)
        copy_to(momentum, user.momentum)
    return call_rate(user)


@inner_kernel
def rate_within(user: UserRate, step: Step, duration: float, fraction: float) -> float:
    """ρ on dense output, at a fraction of a step."""
    if user.failure[0] == 0:
        position_at(step, duration, fraction, user.position)
        momentum_at(step, duration, fraction, user.momentum)
    return call_rate(user)


@inner_kernel
def user_rate_integral(user: UserRate, step: Step, duration: float, fraction: float) -> float:
    """Integral of ρ over the first `fraction` of a step, by Gauss's rule with three nodes on each half of it."""
    total = 0.0
    for half in range(2):
        for node in range(3):
            within = 0.5 * fraction * (half + GAUSS_NODES[node])
            total += 0.5 * GAUSS_WEIGHTS[node] * rate_within(user, step, duration, within)
    return total * fraction * duration


@inner_kernel
def refresh_by_metropolis(
    user: UserRate,
    persistence: float,
    position: np.ndarray,
    momentum: np.ndarray,
    proposal: np.ndarray,
    rng: np.ndarray,
) -> None:
    """Refresh by Metropolis steps that leave ρ(q̄, p̄) N(p̄; 0, I) unchanged; see above.

    Several with independent proposals where `persistence` is 0, else one. Updates `momentum`, overwrites `proposal`.
    """
    present = rate_at(user, position, momentum)
    for _ in range(N_METROPOLIS_STEPS if persistence == 0.0 else 1):
        mix_normal(rng, persistence, momentum, proposal)
        proposed = rate_at(user, position, proposal)
        if uniform(rng) * present < proposed:
            copy_to(proposal, momentum)
            present = proposed
