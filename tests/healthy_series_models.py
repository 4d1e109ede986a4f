"""Healthy models of time series: a hidden Markov model and two differential equations, with their sensitivities."""

from __future__ import annotations

import math

import numba
import numpy as np

import grhmc

_N_POPULATION = 1000.0
_STEPS_PER_DAY = 4


@numba.njit(error_model="numpy")
def hidden_markov_density(q, gradient, y):
    """Two states, N(m, 1) and N(m + exp(g), 1); logits of staying: m ~ N(0, 5), g ~ N(1, 0.5), logits ~ N(1, 1)."""
    low, gap = q[0], math.exp(q[1])
    log_density = -q[0] * q[0] / 50.0 - 2.0 * (q[1] - 1.0) ** 2 - 0.5 * (q[2] - 1.0) ** 2 - 0.5 * (q[3] - 1.0) ** 2
    gradient[0], gradient[1] = -q[0] / 25.0, -4.0 * (q[1] - 1.0)
    gradient[2], gradient[3] = 1.0 - q[2], 1.0 - q[3]
    stay = 1.0 / (1.0 + np.exp(-q[2:4]))
    transition = np.array([[stay[0], 1.0 - stay[0]], [1.0 - stay[1], stay[1]]])
    # Probabilities of the two states given the past, and their derivatives by the four parameters.
    state, by = np.full(2, 0.5), np.zeros((2, 4))
    for t in range(y.size):
        predicted, predicted_by = np.zeros(2), np.zeros((2, 4))
        for j in range(2):
            for i in range(2):
                predicted[j] += state[i] * transition[i, j]
                slope = stay[i] * (1.0 - stay[i])
                predicted_by[j, 2 + i] += state[i] * (slope if i == j else -slope)
                for k in range(4):
                    predicted_by[j, k] += by[i, k] * transition[i, j]
        z = np.array([y[t] - low, y[t] - low - gap])
        largest = max(-0.5 * z[0] * z[0], -0.5 * z[1] * z[1])
        total, total_by = 0.0, np.zeros(4)
        for j in range(2):
            likelihood = math.exp(-0.5 * z[j] * z[j] - largest)
            for k in range(4):
                by[j, k] = likelihood * predicted_by[j, k]
            by[j, 0] += likelihood * predicted[j] * z[j]
            if j == 1:
                by[j, 1] += likelihood * predicted[j] * z[j] * gap
            state[j] = likelihood * predicted[j]
            total += state[j]
            total_by += by[j]
        log_density += math.log(total) + largest
        gradient += total_by / total
        for j in range(2):
            by[j] = by[j] / total - state[j] * total_by / (total * total)
            state[j] /= total
    return log_density


@numba.njit(error_model="numpy")
def _epidemic_change(z, by, beta, gamma, change, change_by):
    """S, I and what they derive from log beta and log gamma; new infections in z[2]."""
    flow = beta * z[0] * z[1] / _N_POPULATION
    change[0], change[1], change[2] = -flow, flow - gamma * z[1], flow
    for k in range(2):
        flow_by = beta * (by[0, k] * z[1] + z[0] * by[1, k]) / _N_POPULATION + (flow if k == 0 else 0.0)
        change_by[0, k], change_by[2, k] = -flow_by, flow_by
        change_by[1, k] = flow_by - gamma * by[1, k] - (gamma * z[1] if k == 1 else 0.0)


@numba.njit(error_model="numpy")
def epidemic_density(q, gradient, cases):
    """Poisson counts of new cases: log beta ~ N(-0.7, 0.5), log gamma ~ N(-1.4, 0.5), logit of the share ~ N(0, 1)."""
    beta, gamma, share = math.exp(q[0]), math.exp(q[1]), 1.0 / (1.0 + math.exp(-q[2]))
    log_density = -2.0 * (q[0] + 0.7) ** 2 - 2.0 * (q[1] + 1.4) ** 2 - 0.5 * q[2] * q[2]
    gradient[0], gradient[1], gradient[2] = -4.0 * (q[0] + 0.7), -4.0 * (q[1] + 1.4), -q[2]
    z, by = np.array([_N_POPULATION - 5.0, 5.0, 0.0]), np.zeros((3, 2))
    rates, rates_by = np.zeros((4, 3)), np.zeros((4, 3, 2))
    step, fractions = 1.0 / _STEPS_PER_DAY, (0.0, 0.5, 0.5, 1.0)
    for day in range(cases.size):
        before, before_by = z[2], by[2].copy()
        for _ in range(_STEPS_PER_DAY):  # Runge-Kutta of fourth order: smooth in the parameters
            for stage in range(4):
                ahead, last = fractions[stage] * step, max(stage - 1, 0)
                stage_z, stage_by = z + ahead * rates[last], by + ahead * rates_by[last]
                _epidemic_change(stage_z, stage_by, beta, gamma, rates[stage], rates_by[stage])
            z = z + step / 6.0 * (rates[0] + 2.0 * rates[1] + 2.0 * rates[2] + rates[3])
            by = by + step / 6.0 * (rates_by[0] + 2.0 * rates_by[1] + 2.0 * rates_by[2] + rates_by[3])
        infections = z[2] - before
        if not infections > 0.0:
            return -math.inf
        log_density += cases[day] * math.log(share * infections) - share * infections
        weight = cases[day] / infections - share
        gradient[0] += weight * (by[2, 0] - before_by[0])
        gradient[1] += weight * (by[2, 1] - before_by[1])
        gradient[2] += (cases[day] - share * infections) * (1.0 - share)
    return log_density


@numba.njit(error_model="numpy")
def compartment_density(q, gradient, times, observed):
    """A dose absorbed and eliminated: logs of ka, ke, volume and error; concentrations are log-normal."""
    absorption, elimination, sd = math.exp(q[0]) + math.exp(q[1]), math.exp(q[1]), math.exp(q[3])
    log_density, centres = 0.0, (0.0, -1.5, 2.0, -1.5)
    for k in range(4):
        log_density -= 2.0 * (q[k] - centres[k]) ** 2
        gradient[k] = -4.0 * (q[k] - centres[k])
    # Amounts in gut and blood, and their derivatives by the two logs, by Runge-Kutta of fourth order.
    z, step = np.zeros(6), 0.05
    z[0], time = 100.0, 0.0
    d_absorption, d_elimination = (math.exp(q[0]), elimination), (0.0, elimination)
    matrix = np.zeros((6, 6))
    matrix[0, 0], matrix[1, 0], matrix[1, 1] = -absorption, absorption, -elimination
    for k in range(2):
        gut, blood = 2 + 2 * k, 3 + 2 * k
        matrix[gut, gut], matrix[blood, gut], matrix[blood, blood] = -absorption, absorption, -elimination
        matrix[gut, 0], matrix[blood, 0], matrix[blood, 1] = -d_absorption[k], d_absorption[k], -d_elimination[k]
    scaled = step * matrix
    square = scaled @ scaled
    propagator = np.eye(6) + scaled + square / 2.0 + square @ scaled / 6.0 + square @ square / 24.0
    for i in range(times.size):
        while time < times[i] - 0.5 * step:
            z = propagator @ z
            time += step
        if not z[1] > 0.0:
            return -math.inf
        error = (observed[i] - math.log(z[1]) + q[2]) / sd
        log_density -= 0.5 * error * error + q[3]
        gradient[0] += error / sd * z[3] / z[1]
        gradient[1] += error / sd * z[5] / z[1]
        gradient[2] -= error / sd
        gradient[3] += error * error - 1.0
    return log_density


def hidden_markov() -> grhmc.LogDensity:
    """200 observations, states 2.7 standard deviations apart."""
    rng = np.random.default_rng(7)
    state, y = 0, np.zeros(200)
    for t in range(y.size):
        state = state if rng.random() < 0.85 else 1 - state
        y[t] = rng.normal(2.7 * state, 1.0)
    return grhmc.from_numba(hidden_markov_density, 4, data=(y,))


def susceptible_infected() -> grhmc.LogDensity:
    """An epidemic among 1000 over 40 days, half of whose cases are reported."""
    susceptible, infected, cases = _N_POPULATION - 5.0, 5.0, np.zeros(40)
    for day in range(cases.size):
        for _ in range(100):
            flow = 0.01 * 0.5 * susceptible * infected / _N_POPULATION
            susceptible, infected = susceptible - flow, infected + flow - 0.01 * 0.2 * infected
            cases[day] += flow
    return grhmc.from_numba(epidemic_density, 3, data=(np.random.default_rng(8).poisson(0.5 * cases).astype(float),))


def one_compartment() -> grhmc.LogDensity:
    """Twelve concentrations after a dose of 100."""
    times = np.array([0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 12.0])
    absorption, elimination, volume = 1.5, 0.25, 8.0
    amount = (
        100.0 * absorption / (absorption - elimination) * (np.exp(-elimination * times) - np.exp(-absorption * times))
    )
    noise = np.random.default_rng(9).normal(0.0, 0.15, times.size)
    return grhmc.from_numba(compartment_density, 4, data=(times, np.log(amount / volume) + noise))
