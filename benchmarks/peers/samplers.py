"""The field: every sampler as a function from a target and a seed to draws and what they cost."""

from __future__ import annotations

import importlib.metadata
import inspect
import os
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from counted_density import CountedDensity
from targets import Target, starting_points

import grhmc

CHAINS, TUNE, DRAWS = 4, 1000, 1000
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # XLA calls BlackJAX's way to the density unsupported, and runs it


@dataclass
class Run:
    """What a sampler delivers.

    Attributes
    ----------
    draws : ndarray, shape (chains, n, dim), unconstrained; or None, and then
    values : ndarray, shape (chains, n, len(parameters))
    warmup_gradients, sampling_gradients : int
        Over all chains.
    seconds : float
        Processor time of the whole call, warm-up included, compilation not.
    n_divergent : int
    draw_gradients : ndarray, shape (n,), optional
        Over all chains, up to a factor; None: as if all draws cost the same.
    asked_draws : int, optional
        What `Sampler.run` was asked for, where n is another number.
    """

    warmup_gradients: int
    sampling_gradients: int
    seconds: float
    draws: np.ndarray | None = None
    values: np.ndarray | None = None
    n_divergent: int = -1
    draw_gradients: np.ndarray | None = None
    asked_draws: int | None = None


@dataclass
class Sampler:
    """A name, the distribution whose version counts, and how to run it."""

    name: str
    package: str
    run: Callable[..., Run]  # (target, seed, draws=DRAWS)
    is_native: bool = True  # calls the shared compiled density without Python in between
    arguments: dict[str, Any] = field(default_factory=dict)

    @property
    def version(self) -> str:
        """Of the installed package."""
        return importlib.metadata.version(self.package)


class _Watch:
    seconds = 0.0


@contextmanager
def _processor_time():
    """Processor time of all threads: other work on the machine counts less than in wall-clock time."""
    watch, began = _Watch(), time.process_time()
    yield watch
    watch.seconds = time.process_time() - began


def run_stan(metric: str, target: Target, seed: int, draws: int = DRAWS) -> Run:
    """Stan's NUTS, default settings but for the metric, through stanli, on the Stan program.

    Gradients are the sum of n_leapfrog: Stan's search for its first step sizes and the one evaluation at the start of
    each transition are not reported, so they are not counted.
    """
    import stanli

    model = stanli.Model(stan_code=target.program, data=dict(target.data))
    starts = starting_points(target, seed, CHAINS)
    with _processor_time() as watch:
        fit = model.sample(
            chains=CHAINS,
            seed=seed,
            warmup=TUNE,
            samples=draws,
            save_warmup=True,
            inits=starts,
            parallel_chains=1,
            refresh=0,
            metric=metric,
        )
    steps = fit.sampler_stats[:, :, stanli.SAMPLER_COLUMNS.index("n_leapfrog__")].sum(axis=0)
    columns = [fit.draws(name)[:, TUNE:] for name in target.parameters]
    return Run(
        warmup_gradients=int(steps[:TUNE].sum()),
        sampling_gradients=int(steps[TUNE:].sum()),
        seconds=watch.seconds,
        values=np.stack(columns, axis=-1),
        n_divergent=int(np.sum(fit.divergences)),
        draw_gradients=steps[TUNE:],
    )


def run_nutpie(adaptation: str, tune: int, target: Target, seed: int, draws: int = DRAWS) -> Run:
    """nutpie, default settings but for the kind of scale and the warm-up's length, on the compiled density."""
    import nutpie
    from nutpie_model import PointerModel

    density = CountedDensity(target.model)
    starts = starting_points(target, seed, CHAINS)
    model = PointerModel(density.address, density.user_data, target.dim, starts)
    with _processor_time() as watch:
        trace = nutpie.sample(
            model,
            draws=draws,
            tune=tune,
            chains=CHAINS,
            cores=1,
            seed=seed,
            adaptation=adaptation,
            progress_bar=False,
            save_warmup=True,
        )
    steps = trace.sample_stats["n_steps"].to_numpy().sum(axis=0)
    sampling = int(steps.sum())
    return Run(
        warmup_gradients=density.count - sampling,
        sampling_gradients=sampling,
        seconds=watch.seconds,
        draws=trace.posterior["x"].to_numpy(),
        n_divergent=int(trace.sample_stats["diverging"].sum()),
        draw_gradients=steps,
    )


def run_walnutpie(target: Target, seed: int, draws: int = DRAWS) -> Run:
    """walnutpie, default settings but a fixed number of draws.

    It does not say what its warm-up cost; a second run with the same seed and one draw does.
    """
    import walnutpie
    from walnutpie._ffi import logp_cfunc_type

    density = CountedDensity(target.model, reject_with_minus_infinity=True)
    starts = starting_points(target, seed, CHAINS)
    function = logp_cfunc_type(density.address)

    def sample(n_draws: int) -> list[np.ndarray]:
        return walnutpie.walnuts_pyfunc(
            (function, density.user_data),
            inits=starts,
            num_chains=CHAINS,
            seed=seed,
            min_warmup_iter=TUNE,
            max_warmup_iter=TUNE,
            min_sampling_iter=n_draws,
            max_sampling_iter=n_draws,
        )

    sample(1)
    warmup = density.count
    density.reset()
    with _processor_time() as watch:
        kept = np.stack([np.asarray(chain) for chain in sample(draws)])
    return Run(
        warmup_gradients=warmup,
        sampling_gradients=density.count - warmup,
        seconds=watch.seconds,
        draws=kept,
    )


def run_owalnuts(target: Target, seed: int, draws: int = DRAWS) -> Run:
    """oWALNUTS, default settings."""
    import owalnuts

    density = CountedDensity(target.model, reject_with_minus_infinity=True)
    starts = starting_points(target, seed, CHAINS)
    target_function = owalnuts.from_cfunc(density.value_address, target.dim, user_data=density.user_data)
    with _processor_time() as watch:
        result = owalnuts.sample(
            target_function,
            init=starts,
            chains=CHAINS,
            warmup=TUNE,
            draws=draws,
            seed=seed,
            threads=1,
        )
    sampling = result.retained_target_calls
    return Run(
        warmup_gradients=density.count - sampling,
        sampling_gradients=sampling,
        seconds=watch.seconds,
        draws=np.asarray(result.samples),
        n_divergent=int(np.sum(result.divergent[:, TUNE:])),
    )


def run_blackjax(target: Target, seed: int, draws: int = DRAWS) -> Run:
    """BlackJAX NUTS after its window adaptation; the density is called back from JAX."""
    from blackjax_nuts import sample_nuts

    density = CountedDensity(target.model, reject_with_minus_infinity=True)
    starts = starting_points(target, seed, CHAINS)
    with _processor_time() as watch:
        kept, warmup, n_divergent = sample_nuts(density, starts, seed, TUNE, draws)
    return Run(
        warmup_gradients=warmup,
        sampling_gradients=density.count - warmup,
        seconds=watch.seconds,
        draws=kept,
        n_divergent=n_divergent,
    )


MAMS_DRAWS = 5
"""For each draw of the others: it moves by four gradients a draw, and its tuning is a share of the draws."""


def run_mams(target: Target, seed: int, draws: int = DRAWS) -> Run:
    """BlackJAX's adjusted MCLMC after its own tuning; five times as many draws, because they are short."""
    from blackjax_mams import sample_mams

    density = CountedDensity(target.model, reject_with_minus_infinity=True)
    starts = starting_points(target, seed, CHAINS)
    with _processor_time() as watch:
        kept, warmup, steps, n_divergent = sample_mams(density, starts, seed, MAMS_DRAWS * DRAWS, MAMS_DRAWS * draws)
    return Run(
        warmup_gradients=warmup,
        sampling_gradients=density.count - warmup,
        seconds=watch.seconds,
        draws=kept,
        n_divergent=n_divergent,
        draw_gradients=steps,
        asked_draws=draws,
    )


def run_grhmc(arguments: dict[str, Any], target: Target, seed: int, draws: int = DRAWS) -> Run:
    """Run grhmc with any arguments of `sample`; none are its defaults."""
    density = CountedDensity(target.model)
    model = grhmc.from_pointer(density.address, target.dim, user_data=density.user_data)
    starts = starting_points(target, seed, CHAINS)
    settings = {"draws": draws, "tune": TUNE, **arguments}
    with _processor_time() as watch:
        result = grhmc.sample(
            model,
            chains=CHAINS,
            cores=1,
            seed=seed,
            init=starts,
            progress_bar=False,
            diagnose=False,  # R-hat and all that: the others do not compute it
            **settings,
        )
    gradients = result["sample_stats"]["n_gradients"].to_numpy().sum(axis=0)
    sampling = int(gradients.sum())
    return Run(
        warmup_gradients=density.count - sampling,
        sampling_gradients=sampling,
        seconds=watch.seconds,
        draws=result["unconstrained_posterior"]["position"].to_numpy(),
        n_divergent=int(result["sample_stats"]["diverging"].sum()),
        draw_gradients=gradients,
    )


PEERS = (
    Sampler("stan_nuts", "stanli", partial(run_stan, "diag_e")),
    Sampler("stan_dense", "stanli", partial(run_stan, "dense_e")),
    Sampler("nutpie", "nutpie", partial(run_nutpie, "diag", TUNE)),
    Sampler("nutpie_400", "nutpie", partial(run_nutpie, "diag", 400)),
    Sampler("nutpie_low_rank", "nutpie", partial(run_nutpie, "low_rank", TUNE)),
    Sampler("nutpie_low_rank_800", "nutpie", partial(run_nutpie, "low_rank", 800)),
    Sampler("nutpie_low_rank_400", "nutpie", partial(run_nutpie, "low_rank", 400)),
    Sampler("walnutpie", "walnutpie", run_walnutpie),
    Sampler("owalnuts", "owalnuts", run_owalnuts),
    Sampler("blackjax_nuts", "blackjax", run_blackjax, is_native=False),
    Sampler("blackjax_mams", "blackjax", run_mams, is_native=False),
)

FAMILIES: MappingProxyType[str, tuple[str, ...]] = MappingProxyType(
    {
        "Stan": ("stan_nuts", "stan_dense"),
        "nutpie": ("nutpie", "nutpie_400", "nutpie_low_rank", "nutpie_low_rank_800", "nutpie_low_rank_400"),
        "WALNUTS": ("walnutpie", "owalnuts"),
        "BlackJAX": ("blackjax_nuts", "blackjax_mams"),
    }
)
"""Configurations of one peer, of which the best counts, target by target."""

CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "isg": {"scale": "isg"},
    "vari": {"scale": "vari"},
    "mct": {"scale": "mct"},
    "continuous": {"process": "continuous"},
    "continuous_isg": {"process": "continuous", "scale": "isg"},
    "fresh": {"process": grhmc.Discrete(momentum="fresh")},
    "discrete_leapfrog": {"process": grhmc.Discrete(integrator="leapfrog")},
    "discrete_splitting": {"process": grhmc.Discrete(integrator="splitting")},
}
"""Ours: a name, and the arguments of `sample` that make it."""

for _metric in ("diagonal", "low_rank"):
    if "metric" in inspect.signature(grhmc.sample).parameters:
        CONFIGURATIONS[_metric] = {"metric": _metric}

OURS = tuple(
    Sampler(f"grhmc_{name}", "grhmc", partial(run_grhmc, arguments), arguments=arguments)
    for name, arguments in CONFIGURATIONS.items()
)

SAMPLERS = MappingProxyType({sampler.name: sampler for sampler in (*PEERS, *OURS)})
