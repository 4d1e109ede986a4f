"""sample() with the signature of `pymc.sample`: changing one import is enough."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from grhmc.argument_checks import check_choice
from grhmc.models.optional_packages import import_for
from grhmc.results.inference_data import to_inference_data
from grhmc.sampling import sample as sample_by_grhmc
from grhmc.settings import Metric, ProcessName, Scale, Seed

_IDATA = ("log_likelihood", "log_prior")
_STARTS = ("auto", "jitter+adapt_diag", "jitter+adapt_diag_grad", "jitter+adapt_full")


def sample(
    draws: int = 1000,
    *,
    tune: int | None = 1000,
    chains: int | None = None,
    cores: int | None = None,
    random_seed: Seed = None,
    progressbar: bool | str = True,
    progressbar_theme: Any = None,
    quiet: bool = False,
    step: Any = None,
    var_names: Sequence[str] | None = None,
    nuts_sampler: str | None = None,
    initvals: Mapping[str, Any] | Sequence[Mapping[str, Any] | None] | None = None,
    init: str = "auto",
    jitter_max_retries: int = 10,
    n_init: int = 200_000,
    trace: Any = None,
    discard_tuned_samples: bool = True,
    compute_convergence_checks: bool = True,
    keep_warning_stat: bool = False,
    return_inferencedata: bool = True,
    idata_kwargs: Mapping[str, Any] | None = None,
    nuts_sampler_kwargs: Mapping[str, Any] | None = None,
    callback: Any = None,
    mp_ctx: Any = None,
    blas_cores: int | str | None = "auto",
    model: Any = None,
    backend: str | None = None,
    compile_kwargs: Mapping[str, Any] | None = None,
    target_accept: float | None = None,
    max_treedepth: int | None = None,
    nuts: Mapping[str, Any] | None = None,
    scale: Scale = "geo",
    metric: Metric = "auto",
    process: ProcessName = "discrete",
) -> Any:
    """Draw from a PyMC model by `grhmc.sample`, called and answered as `pymc.sample` is.

    Parameters
    ----------
    draws, tune, cores, random_seed, var_names, initvals, model, target_accept
        As of `pymc.sample`. Fewer than `tune` draws are spent where the chains agree about the scale sooner. The values
        of `initvals` are kept as they are; other variables are jittered. Numbers of a sequence are one seed together.
    chains : int
        Default: 4, whatever `cores`; chains are tuned together.
    progressbar, quiet
        Whether there is one; its style is our own.
    discard_tuned_samples : bool
        False: keep the draws of the warm-up, in the groups ``warmup_posterior`` and ``warmup_sample_stats``.
    compute_convergence_checks : bool
        Whether `grhmc.diagnose` looks at the draws, and warns.
    idata_kwargs : mapping
        ``log_likelihood`` and ``log_prior``, True or names of variables: groups of these names.
    scale, metric, process
        As of `grhmc.sample`.
    init, jitter_max_retries, n_init, progressbar_theme, keep_warning_stat, nuts_sampler_kwargs, mp_ctx, blas_cores, \
backend, compile_kwargs, max_treedepth, nuts
        Have no counterpart: other values than the default are warned of, and do nothing.
    step, nuts_sampler, trace, callback, return_inferencedata
        Ask for another sampler or another result: other values than the default are an error.

    Returns
    -------
    arviz.InferenceData or xarray.DataTree
        What `pymc.sample` of the installed version returns, with the groups of `grhmc.sample`.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above; and as `grhmc.sample`.
    ImportError
        If PyMC is not installed.

    Warns
    -----
    UserWarning
        If arguments have no effect.
    SamplingWarning
        If the draws are in doubt.
    """
    pymc = import_for("grhmc.pymc.sample", "pymc", "pymc")
    _reject_other_samplers(step, nuts_sampler, trace, callback, return_inferencedata)
    if not isinstance(init, str):
        raise TypeError(f"init must be the name of one of PyMC's methods, got {init!r}; starts are given by initvals")
    without_effect = {
        "init": init not in _STARTS,
        "jitter_max_retries": jitter_max_retries != 10,
        "n_init": n_init != 200_000,
        "progressbar_theme": progressbar_theme is not None,
        "keep_warning_stat": keep_warning_stat,
        "nuts_sampler_kwargs": bool(nuts_sampler_kwargs),
        "mp_ctx": mp_ctx is not None,
        "blas_cores": blas_cores != "auto",
        "backend": backend not in (None, "numba"),
        "compile_kwargs": bool(compile_kwargs),
        "max_treedepth": max_treedepth is not None,
        "nuts": bool(nuts),
    }
    _warn_of_arguments([name for name, is_given in without_effect.items() if is_given])
    wanted = _parse_idata_kwargs(idata_kwargs)
    context = pymc.modelcontext(model)
    result = sample_by_grhmc(
        context,
        scale=scale,
        metric=metric,
        draws=draws,
        tune=1000 if tune is None else tune,
        chains=4 if chains is None else chains,
        cores=cores,
        seed=random_seed,
        init=initvals,
        process=process,
        target_accept=target_accept,
        var_names=var_names,
        save_warmup=not discard_tuned_samples,
        log_likelihood=wanted.get("log_likelihood", False),
        progress_bar=bool(progressbar) and not quiet,
        diagnose=compute_convergence_checks,
    )
    data = to_inference_data(result)
    log_prior = wanted.get("log_prior", False)
    if log_prior:
        names = None if log_prior is True else list(log_prior)
        pymc.stats.compute_log_prior(data, var_names=names, model=context, progressbar=False)
    return data


def _reject_other_samplers(step: Any, nuts_sampler: Any, trace: Any, callback: Any, return_inferencedata: Any) -> None:
    if step is not None:
        raise ValueError("step must be left out: this is one sampler for all variables; pymc.sample mixes step methods")
    if nuts_sampler is not None:
        check_choice("nuts_sampler", nuts_sampler, ["pymc"], otherwise=" (this is grhmc's sampler)")
    if trace is not None:
        raise ValueError("trace must be left out; grhmc.sample(model, store='run.zarr') writes draws as they are made")
    if callback is not None:
        raise ValueError(
            "callback must be left out: PyMC calls it with each draw; grhmc.sample(model, callback=...) calls it with "
            "a snapshot of each chain ten times a second"
        )
    if return_inferencedata is not True:
        raise ValueError(f"return_inferencedata must be True, got {return_inferencedata!r}: there is no MultiTrace")


def _warn_of_arguments(names: list[str]) -> None:
    if names:
        warnings.warn(
            f"{', '.join(names)} {'has' if len(names) == 1 else 'have'} no effect: grhmc's sampler has nothing of the "
            "kind (see the docstring of grhmc.pymc.sample)",
            stacklevel=3,
        )


def _parse_idata_kwargs(idata_kwargs: Any) -> dict[str, Any]:
    if idata_kwargs is None:
        return {}
    if not isinstance(idata_kwargs, Mapping):
        raise TypeError(f"idata_kwargs must be a mapping, got {idata_kwargs!r}")
    for name, value in idata_kwargs.items():
        if name not in _IDATA:
            raise ValueError(f"idata_kwargs[{name!r}] = {value!r} is not supported; it may have {', '.join(_IDATA)}")
        is_sequence = isinstance(value, Sequence) and not isinstance(value, str)
        if not is_sequence and not isinstance(value, bool | np.bool_):
            raise TypeError(f"idata_kwargs[{name!r}] must be True, False or a list of names, got {value!r}")
    return dict(idata_kwargs)
