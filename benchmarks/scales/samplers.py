"""Each sampler with its own adaptation and with a metric of `grhmc.tune`: draws, and gradients before and after."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import prophet_model
from models import PARAMETERS, data_of, numpyro_model, pymc_model, stan_program

import grhmc

CHAINS, DRAWS, TUNE, STEP_SIZE_TUNE = 4, 1000, 1000, 140
METRICS = ("own diagonal", "own dense", "grhmc diagonal", "grhmc")
"""Of `grhmc`: the metric that `tune` finds by default, dense where it has directions."""
FROM_CENTRE = "grhmc from its centre"
"""The same, and chains start at the centre that `tune` found; CmdStan only."""


@dataclass
class Run:
    """Gradients over all chains; `tune_gradients` are those of `grhmc.tune`, `warmup_gradients` the sampler's."""

    draws: dict[str, np.ndarray]  # (chains, draws, ...)
    tune_gradients: int
    warmup_gradients: int
    sampling_gradients: int
    n_divergent: int


def _tuned(metric: str, model: Any, seed: int) -> Any:
    """None for the sampler's own."""
    if metric.startswith("own"):
        return None
    kind = "diagonal" if metric.endswith("diagonal") else "auto"
    return grhmc.tune(model, metric=kind, seed=seed, chains=CHAINS, cores=1, progress_bar=False)


def run_stan(name: str, metric: str, seed: int) -> Run:
    """stanli: Stan's NUTS."""
    import stanli

    program, data = stan_program(name), data_of(name)
    tuned = _tuned(metric, grhmc.from_stan(program, data), seed)
    if tuned is None:
        arguments = {"metric": "dense_e" if metric.endswith("dense") else "diag_e", "warmup": TUNE}
    else:
        arguments = {"warmup": STEP_SIZE_TUNE, **tuned.for_stan().arguments()}
    model = stanli.Model(stan_code=program, data=data)
    fit = model.sample(chains=CHAINS, seed=seed, samples=DRAWS, save_warmup=True, refresh=0, **arguments)
    steps = fit.sampler_stats[:, :, stanli.SAMPLER_COLUMNS.index("n_leapfrog__")].sum(axis=0)
    n_warmup = int(arguments["warmup"])
    return Run(
        {parameter: fit.draws(parameter)[:, n_warmup:] for parameter in PARAMETERS[name]},
        0 if tuned is None else tuned.n_gradients,
        int(steps[:n_warmup].sum()),
        int(steps[n_warmup:].sum()),
        int(np.sum(fit.divergences)),
    )


def run_cmdstan(name: str, metric: str, seed: int) -> Run:
    """CmdStan's NUTS by CmdStanPy, as docs/scales-for-other-samplers.md says to call it."""
    import cmdstanpy

    model = grhmc.from_stan(stan_program(name), data_of(name))
    tuned = _tuned(metric, model, seed)
    if tuned is None:
        n_warmup = TUNE
        arguments: dict[str, Any] = {"metric": "dense_e" if metric.endswith("dense") else "diag_e"}
    else:
        n_warmup = STEP_SIZE_TUNE
        windows = {"adapt_init_phase": 0, "adapt_metric_window": 0, "adapt_step_size": n_warmup}
        arguments = {**windows, **tuned.for_stan().arguments()}
    if tuned is not None and metric == FROM_CENTRE:
        arguments["inits"] = {k: v[0] for k, v in model.constrain(tuned.centre[np.newaxis]).items()}
    fit = cmdstanpy.CmdStanModel(exe_file=prophet_model.executable()).sample(
        data_of(name), chains=CHAINS, parallel_chains=1, seed=seed, iter_warmup=n_warmup, iter_sampling=DRAWS,
        save_warmup=True, show_progress=False, **arguments,
    )  # fmt: skip
    if tuned is not None:
        np.testing.assert_allclose(fit.inv_metric[0], tuned.for_stan().inv_metric, rtol=1e-5)
    statistics = fit.method_variables()
    steps = statistics["n_leapfrog__"].sum(axis=1)
    draws = {parameter: fit.stan_variable(parameter) for parameter in PARAMETERS[name]}
    return Run(
        {parameter: values.reshape(CHAINS, DRAWS, *values.shape[1:]) for parameter, values in draws.items()},
        0 if tuned is None else tuned.n_gradients,
        int(steps[:n_warmup].sum()),
        int(steps[n_warmup:].sum()),
        int(statistics["divergent__"][n_warmup:].sum()),
    )


def run_pymc(name: str, metric: str, seed: int) -> Run:
    """PyMC's own NUTS."""
    import pymc

    model = pymc_model(name)
    tuned = _tuned(metric, model, seed)
    settings: dict[str, Any] = {"tune": TUNE, "init": "jitter+adapt_diag"}
    if metric == "own dense":
        settings["init"] = "jitter+adapt_full"
    with model, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if tuned is not None:
            settings = {"tune": STEP_SIZE_TUNE, "step": pymc.NUTS(potential=tuned.for_pymc())}
        result = pymc.sample(
            DRAWS, chains=CHAINS, cores=1, random_seed=seed, progressbar=False, discard_tuned_samples=False,
            compute_convergence_checks=False, **settings,
        )  # fmt: skip
    return Run(
        {parameter: result.posterior[parameter].to_numpy() for parameter in PARAMETERS[name]},
        0 if tuned is None else tuned.n_gradients,
        int(result.warmup_sample_stats["n_steps"].sum()),
        int(result.sample_stats["n_steps"].sum()),
        int(result.sample_stats["diverging"].sum()),
    )


def run_numpyro(name: str, metric: str, seed: int) -> Run:
    """NumPyro's NUTS."""
    import jax
    from numpyro.infer import MCMC, NUTS

    model = numpyro_model(name)
    tuned = _tuned(metric, grhmc.from_numpyro(model), seed)
    settings: dict[str, Any] = {"dense_mass": metric.endswith("dense")} if tuned is None else tuned.for_numpyro()
    sampler = MCMC(
        NUTS(model, **settings), num_warmup=TUNE if tuned is None else STEP_SIZE_TUNE, num_samples=DRAWS,
        num_chains=CHAINS, chain_method="sequential", progress_bar=False,
    )  # fmt: skip
    sampler.warmup(jax.random.PRNGKey(seed), collect_warmup=True, extra_fields=("num_steps",))
    warmup = int(sampler.get_extra_fields()["num_steps"].sum())
    sampler.run(jax.random.PRNGKey(seed + 1000), extra_fields=("num_steps", "diverging"))
    fields = sampler.get_extra_fields()
    draws = sampler.get_samples(group_by_chain=True)
    return Run(
        {parameter: np.asarray(draws[parameter], dtype=float) for parameter in PARAMETERS[name]},
        0 if tuned is None else tuned.n_gradients,
        warmup,
        int(fields["num_steps"].sum()),
        int(fields["diverging"].sum()),
    )


def run_blackjax(name: str, metric: str, seed: int) -> Run:
    """BlackJAX's NUTS on the NumPyro model's dict of unconstrained sites."""
    import blackjax
    import jax
    from blackjax.adaptation.step_size import dual_averaging_adaptation
    from numpyro.infer.util import initialize_model

    jax.config.update("jax_enable_x64", True)
    model = numpyro_model(name)
    tuned = _tuned(metric, grhmc.from_numpyro(model), seed)
    prepared = initialize_model(jax.random.PRNGKey(0), model)
    constrain = jax.vmap(prepared.postprocess_fn)

    def logp(position: Any) -> Any:
        return -prepared.potential_fn(position)

    begin, adapt, finish = dual_averaging_adaptation(target=0.8)

    @jax.jit
    def adapt_step_size(key: Any, position: Any) -> Any:
        kernel, matrix = blackjax.nuts.build_kernel(), jax.numpy.asarray(tuned.for_blackjax())

        def step(carry: Any, key: Any) -> Any:
            state, averaging = carry
            state, info = kernel(key, state, logp, jax.numpy.exp(averaging.log_step_size), matrix)
            return (state, adapt(averaging, info.acceptance_rate)), info.num_integration_steps

        first = (blackjax.nuts.init(position, logp), begin(0.1))
        (state, averaging), steps = jax.lax.scan(step, first, jax.random.split(key, STEP_SIZE_TUNE))
        return state, {"step_size": finish(averaging), "inverse_mass_matrix": matrix}, steps.sum()

    @jax.jit
    def adapt_all(key: Any, position: Any) -> Any:
        own = blackjax.window_adaptation(blackjax.nuts, logp, is_mass_matrix_diagonal=not metric.endswith("dense"))
        (state, parameters), info = own.run(key, position, num_steps=TUNE)
        return state, parameters, info.info.num_integration_steps.sum()

    @jax.jit
    def run(key: Any, state: Any, parameters: Any) -> Any:
        kernel = blackjax.nuts(logp, **parameters).step

        def step(state: Any, key: Any) -> Any:
            state, info = kernel(key, state)
            return state, (state.position, info.num_integration_steps, info.is_divergent)

        return jax.lax.scan(step, state, jax.random.split(key, DRAWS))[1]

    chains, warmup, sampling, n_divergent = [], 0, 0, 0
    for key in jax.random.split(jax.random.PRNGKey(seed), CHAINS):
        start, first, second = jax.random.split(key, 3)
        position = initialize_model(start, model).param_info.z
        state, parameters, steps = (adapt_all if tuned is None else adapt_step_size)(first, position)
        positions, n_steps, diverging = run(second, state, parameters)
        chains.append({site: np.asarray(values) for site, values in constrain(positions).items()})
        warmup, sampling = warmup + int(steps), sampling + int(n_steps.sum())
        n_divergent += int(diverging.sum())
    return Run(
        {parameter: np.stack([chain[parameter] for chain in chains]) for parameter in PARAMETERS[name]},
        0 if tuned is None else tuned.n_gradients,
        warmup,
        sampling,
        n_divergent,
    )


SAMPLERS: dict[str, Callable[[str, str, int], Run]] = {
    "stan": run_stan,
    "cmdstan": run_cmdstan,
    "pymc": run_pymc,
    "numpyro": run_numpyro,
    "blackjax": run_blackjax,
}
PACKAGES = {"stan": "stanli", "cmdstan": "prophet", "pymc": "pymc", "numpyro": "numpyro", "blackjax": "blackjax"}


@functools.cache
def smallest_ess_of(kind: str) -> Any:
    """ArviZ's ESS, "bulk" or "tail", of one scalar's draws, shape (chains, draws)."""
    from arviz_stats.base import array_stats

    return functools.partial(array_stats.ess, chain_axis=0, draw_axis=1, method=kind)


def smallest_ess(draws: dict[str, np.ndarray]) -> float:
    """The smaller of bulk and tail ESS, of the parameter where it is smallest."""
    scalars = np.concatenate([values.reshape(*values.shape[:2], -1) for values in draws.values()], axis=-1)
    bulk = smallest_ess_of("bulk")(scalars)
    tail = smallest_ess_of("tail")(scalars, prob=(0.05, 0.95))
    return float(min(np.min(bulk), np.min(tail)))
