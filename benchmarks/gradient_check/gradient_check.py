"""How often the gradient check rejects right gradients, and how often it lets wrong ones pass.

    python benchmarks/gradient_check/gradient_check.py [seeds] ["fault" ...]    # all, or some faults only
    python benchmarks/gradient_check/gradient_check.py --directions 2 [seeds]   # as at the second chain's start

Right models: scales from 1e-6 to 1e6, flat and lopsided densities, modes, constants, single precision, ODE solvers with
their noise. Wrong ones: the same with a sign, a factor, a term, a coordinate or an order of coordinates at fault.
Prints a table each.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

import grhmc
from grhmc.datasets import pima
from grhmc.models import GradientError, GradientWarning
from grhmc.models.analytic import logistic_regression

Density = Callable[[np.ndarray], tuple[Any, np.ndarray]]
Case = tuple[Density, np.ndarray]


def normals(sd: np.ndarray) -> Density:
    return lambda q: (-0.5 * float(np.sum((q / sd) ** 2)), -q / sd**2)


def quartic(q: np.ndarray) -> tuple[float, np.ndarray]:
    return -float(np.sum(q**4)), -4 * q**3


def student(q: np.ndarray) -> tuple[float, np.ndarray]:
    z = q - 0.3
    return -2 * float(np.log1p(z**2 / 3).sum()) - float(np.exp(q).sum()), -4 * z / (3 + z**2) - np.exp(q)


def correlated(q: np.ndarray) -> tuple[float, np.ndarray]:
    """A random walk with steps of 0.1, seen with an error of 1."""
    steps = np.diff(q, prepend=0.0) / 0.1
    gradient = -q - steps / 0.1
    gradient[:-1] += steps[1:] / 0.1
    return -0.5 * float(q @ q + steps @ steps), gradient


def pima_density() -> tuple[Density, int]:
    data = pima()
    model = logistic_regression(data.design_matrix, data.response, names=data.names)
    return lambda q: model.evaluate(q)[:2], model.dim


def shifted(density: Density, constant: float) -> Density:
    def f(q):
        value, gradient = density(q)
        return value + constant, gradient

    return f


def single(density: Density, constant: float) -> Density:
    """Value and gradient rounded to single precision, as on a GPU."""

    def f(q):
        value, gradient = density(q)
        return np.float32(value + constant), gradient.astype(np.float32)

    return f


_TIMES = np.linspace(1.0, 20.0, 20)


def _predator_prey(_time, state, theta):
    prey, predators = state[:2]
    a, b, c, d = theta
    rates = np.array([a * prey - b * prey * predators, -c * predators + d * prey * predators])
    jacobian = np.array([[a - b * predators, -b * prey], [d * predators, -c + d * prey]])
    by_theta = np.array([[prey, -prey * predators, 0, 0], [0, 0, -predators, prey * predators]])
    sensitivity = state[2:].reshape(2, 6)
    return np.concatenate([rates, (jacobian @ sensitivity + np.hstack([by_theta, np.zeros((2, 2))])).ravel()])


_SEEN = np.abs(np.random.default_rng(5).normal(20, 12, (2, _TIMES.size))) + 1


def predator_prey(tolerance: float) -> Density:
    """Lotka-Volterra with log-normal errors of 0.25, by an adaptive solver: six log parameters."""

    def f(q):
        x = np.exp(q)
        start = np.concatenate([x[4:], np.hstack([np.zeros((2, 4)), np.eye(2)]).ravel()])
        solved = solve_ivp(_predator_prey, (0, 20), start, t_eval=_TIMES, rtol=tolerance, atol=tolerance, args=(x[:4],))
        states, sensitivities = solved.y[:2], solved.y[2:].reshape(2, 6, -1)
        with np.errstate(all="ignore"):
            errors = (np.log(_SEEN) - np.log(states)) / 0.25
            gradient = np.einsum("it,ijt->j", errors / 0.25 / states, sensitivities) * x
        centre = q - np.log([0.6, 0.03, 0.8, 0.025, 20, 10])
        return -0.5 * float((errors**2).sum()) - 0.5 * float(centre @ centre) / 0.25, gradient - centre / 0.25

    return f


def mode_of(density: Density, start: np.ndarray, method: str) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return minimize(lambda q: -density(q)[0], start, jac=lambda q: -density(q)[1], method=method).x


def right_models(seed: int) -> dict[str, Case]:
    rng = np.random.default_rng(seed)
    regression, dim = pima_density()
    sds = 10.0 ** rng.uniform(-6, 6, 10)
    wide = 10.0 ** rng.uniform(-2, 2, 200)
    method = ("L-BFGS-B", "BFGS", "Newton-CG")[seed % 3]
    ode_start = np.log([0.6, 0.03, 0.8, 0.025, 20, 10]) + 0.2 * rng.normal(size=6)
    return {
        "normals, sds 1e-6 to 1e6": (normals(sds), sds * rng.uniform(-2, 2, 10)),
        "the same from uniform(-2, 2)": (normals(sds), rng.uniform(-2, 2, 10)),
        "normals at the mode": (normals(sds), np.zeros(10)),
        "normals within 1e-6 sd of the mode": (normals(sds), 1e-6 * sds * rng.normal(size=10)),
        "200 normals near the mode": (normals(wide), 1e-5 * wide * rng.normal(size=200)),
        "200 normals": (normals(wide), wide * rng.normal(size=200)),
        "x^4 in 20 d": (quartic, rng.uniform(-2, 2, 20)),
        "x^4 within 0.001 of 0": (quartic, 1e-3 * rng.normal(size=20)),
        "Student t and exp": (student, rng.uniform(-2, 2, 5)),
        "the same at its mode": (student, mode_of(student, rng.uniform(-1, 1, 5), method)),
        "random walk": (correlated, rng.uniform(-2, 2, 30)),
        "random walk near its mode": (correlated, 1e-4 * rng.normal(size=30)),
        "logistic regression": (regression, rng.uniform(-2, 2, dim)),
        "logistic regression at its MAP": (regression, mode_of(regression, np.zeros(dim), method)),
        "normals, with -1e8 added": (shifted(normals(np.ones(5)), -1e8), rng.uniform(-2, 2, 5)),
        "the same at the mode": (shifted(student, -1e8), mode_of(student, np.zeros(5), method)),
        "single precision": (single(student, -100.0), rng.uniform(-2, 2, 5)),
        "single precision, at -2000": (single(student, -2e3), rng.uniform(-2, 2, 5)),
        "single precision at the mode": (single(student, -100.0), mode_of(student, np.zeros(5), method)),
        "single precision, logistic regression": (single(regression, 0.0), 0.3 * rng.uniform(-2, 2, dim)),
        "ODE, solver's tolerance 1e-6": (predator_prey(1e-6), ode_start),
        "ODE, solver's tolerance 1e-4": (predator_prey(1e-4), ode_start),
    }


def scaled(density: Density, index: Any, factor: float) -> Density:
    def f(q):
        value, gradient = density(q)
        gradient = np.array(gradient)
        gradient[index] *= factor
        return value, gradient

    return f


def swapped(density: Density) -> Density:
    return lambda q: (density(q)[0], density(q)[1][[1, 0, *range(2, q.size)]])


def without_prior(density: Density, sd: float) -> Density:
    """The value has a prior that the gradient forgets."""
    return lambda q: (density(q)[0] - 0.5 * float((q - 0.5) @ (q - 0.5)) / sd**2, density(q)[1])


def wrong_models(seed: int) -> dict[str, list[Case]]:
    """Each fault in ordinary models, at starts both ordinary and near the mode."""
    rng = np.random.default_rng(seed)
    regression, dim = pima_density()
    places: list[Case] = [
        (student, rng.uniform(-2, 2, 5)),
        (student, mode_of(student, rng.uniform(-1, 1, 5), "BFGS")),
        (correlated, rng.uniform(-2, 2, 50)),
        (correlated, 1e-4 * rng.normal(size=50)),
        (quartic, rng.uniform(-2, 2, 20)),
        (quartic, 1e-3 * rng.normal(size=20)),
        (regression, rng.uniform(-2, 2, dim)),
        (regression, mode_of(regression, np.zeros(dim), "BFGS")),
        (single(student, -100.0), rng.uniform(-2, 2, 5)),
        (shifted(student, -1e8), rng.uniform(-2, 2, 5)),
        (predator_prey(1e-6), np.log([0.6, 0.03, 0.8, 0.025, 20, 10]) + 0.2 * rng.normal(size=6)),
    ]
    faults: dict[str, Callable[[Density], Density]] = {
        "sign": lambda f: scaled(f, slice(None), -1.0),
        "factor 2": lambda f: scaled(f, slice(None), 2.0),
        "factor 1.5": lambda f: scaled(f, slice(None), 1.5),
        "factor 1.05": lambda f: scaled(f, slice(None), 1.05),
        "a coordinate's sign": lambda f: scaled(f, 1, -1.0),
        "a coordinate not written (0)": lambda f: scaled(f, 1, 0.0),
        "a coordinate's factor 1.05": lambda f: scaled(f, 1, 1.05),
        "prior forgotten": lambda f: without_prior(f, 1.0),
        "two coordinates swapped": swapped,
    }
    cases = {name: [(fault(f), q) for f, q in places] for name, fault in faults.items()}
    wide = 10.0 ** rng.uniform(-2, 2, 1000)
    cases["one of 1000, factor 1.5"] = [
        (scaled(normals(wide), int(rng.integers(1000)), 1.5), wide * rng.normal(size=1000))
    ]
    return cases


def verdict(density: Density, start: np.ndarray, n_directions: int | None) -> tuple[str, int]:
    """What the check says, and its evaluations."""
    n_calls = 0

    def counted(q):
        nonlocal n_calls
        n_calls += 1
        return density(q)

    model = grhmc.from_python(counted, start.size)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", GradientWarning)
            model.check_gradient(start, n_directions=n_directions)
    except GradientError:
        return "rejected", n_calls
    except GradientWarning:
        return "warned", n_calls
    return "passed", n_calls


def show(name: str, dim: int, verdicts: list[tuple[str, int]]) -> None:
    counts = [sum(v == which for v, _ in verdicts) for which in ("passed", "warned", "rejected")]
    calls = np.array([n for _, n in verdicts])
    print(
        f"| {name} | {dim} | {counts[0]} | {counts[1]} | {counts[2]} | {np.median(calls):.0f} | {calls.max()} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("n_seeds", nargs="?", type=int, default=20)
    parser.add_argument("faults", nargs="*")
    parser.add_argument("--directions", type=int)
    given = parser.parse_args()
    n_seeds, asked, n_directions = given.n_seeds, given.faults, given.directions
    header = "| dim | passed | warned | rejected | evaluations, median | most |\n|---|---|---|---|---|---|---|"
    if not asked:
        print(f"| right gradients {header}")
        right = [right_models(seed) for seed in range(n_seeds)]
        for name in right[0]:
            show(name, right[0][name][1].size, [verdict(*cases[name], n_directions) for cases in right])
    print(f"\n| wrong gradients {header}")
    wrong = [wrong_models(seed) for seed in range(n_seeds)]
    for name in asked or wrong[0]:
        cases = [case for models in wrong for case in models[name]]
        show(name, 0, [verdict(*case, n_directions) for case in cases])


if __name__ == "__main__":
    main()
