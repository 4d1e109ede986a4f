"""What a NumPyro model computes, in double precision: log density, constrained values, starting points."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from grhmc.models.jax.function import double_precision, unflatten_parts
from grhmc.models.numpyro.arguments import arguments_are_valid, draw_until_valid
from grhmc.models.tree_names import Leaf
from grhmc.models.variables import Variable

_SEED = 0  # for random keys that a model asks for outside its sample statements


class NumpyroModel(NamedTuple):
    """A NumPyro model with its arguments.

    Attributes
    ----------
    leaves : tuple of Leaf
        Latent sites, with the shapes of their unconstrained values.
    variables : tuple of Variable
        Latent and deterministic sites in the order of the model, with plates as dims.
    starts : tuple of Variable
        Latent sites, with the shapes of their constrained values.
    observed_data : dict of str to ndarray
    data_dims : dict of str to tuple of str
        Names of the axes of the observed sites.
    log_density, constrain : callable
        JAX functions of the unconstrained vector, shape (dim,).
    initial_point : callable
        ``f(seed) -> ndarray, shape (dim,)``.
    unconstrain : callable
        ``f(values, point) -> ndarray, shape (dim,)``: the point where some latent sites have these values.
    log_likelihood : callable
        JAX function of the unconstrained vector: the log density of each value of the observed sites.
    supports : dict of str to str
        Of the latent sites, in words.
    """

    leaves: tuple[Leaf, ...]
    variables: tuple[Variable, ...]
    starts: tuple[Variable, ...]
    observed_data: dict[str, np.ndarray]
    data_dims: dict[str, tuple[str, ...]]
    log_density: Callable[[Any], Any]
    constrain: Callable[[Any], dict[str, Any]]
    initial_point: Callable[[int], np.ndarray]
    unconstrain: Callable[[Mapping[str, np.ndarray], np.ndarray], np.ndarray]
    log_likelihood: Callable[[Any], dict[str, Any]]
    supports: dict[str, str]

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return sum(leaf.size for leaf in self.leaves)


def read_model(
    model: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], init_strategy: Any
) -> NumpyroModel:
    """Run a NumPyro model once and say what it holds.

    Raises
    ------
    TypeError, ValueError
        If there are discrete latent sites, none at all, or sites that have no density.
    Exception
        Whatever the model raises.
    """
    import jax
    from numpyro.handlers import seed, substitute, trace
    from numpyro.infer.util import constrain_fn, potential_energy

    with double_precision()():
        args, kwargs = _in_double_precision((args, dict(kwargs)))
    start = functools.partial(
        draw_until_valid, functools.partial(_unconstrained_start, model, args, kwargs, init_strategy)
    )
    with double_precision()():
        sites, unconstrained = start(_SEED)
        # A model with numpyro.param keeps what the first run made.
        parameters = {name: site["value"] for name, site in sites.items() if site["type"] in ("param", "mutable")}

    def seeded():
        # Anew for each trace: a seed handler keeps the key it has come to, which must not outlive the trace.
        return seed(substitute(model, data=parameters), jax.random.PRNGKey(_SEED))

    observed = _observed_data(sites)
    leaves = tuple(Leaf(name, np.shape(value)) for name, value in unconstrained.items())

    def as_sites(q):
        return dict(zip(unconstrained, unflatten_parts(q, leaves), strict=True))

    def initial_point(number: int) -> np.ndarray:
        with double_precision()():
            values = start(number)[1]
        return np.concatenate([np.ravel(value) for value in values.values()]).astype(np.float64)

    def constrain(q):
        return constrain_fn(seeded(), args, dict(kwargs), as_sites(q), return_deterministic=True)

    def unconstrain(values: Mapping[str, np.ndarray], point: np.ndarray) -> np.ndarray:
        with double_precision()():
            return _unconstrained(seeded(), args, kwargs, values, as_sites(jax.numpy.asarray(point)))

    def log_likelihood(q):
        values = constrain_fn(seeded(), args, kwargs, as_sites(q))
        at_draw = trace(substitute(seeded(), data=values)).get_trace(*args, **kwargs)
        return {name: at_draw[name]["fn"].log_prob(at_draw[name]["value"]) for name in observed}

    def log_density(q):
        sites_here = trace(seeded())
        value = -potential_energy(sites_here, args, dict(kwargs), as_sites(q))
        valid = arguments_are_valid(sites_here.trace.values())
        return value if valid is None else jax.numpy.where(valid, value, -np.inf)

    with double_precision()():
        shapes = jax.eval_shape(constrain, jax.ShapeDtypeStruct((sum(leaf.size for leaf in leaves),), np.float64))
    return NumpyroModel(
        leaves,
        tuple(Variable(name, tuple(shapes[name].shape), _dims(sites[name])) for name in sites if name in shapes),
        tuple(Variable(name, np.shape(sites[name]["value"]), _dims(sites[name])) for name in unconstrained),
        observed,
        {name: dims for name in observed if (dims := _dims(sites[name])) is not None},
        log_density,
        constrain,
        initial_point,
        unconstrain,
        log_likelihood,
        {name: str(sites[name]["fn"].support) for name in unconstrained},
    )


def _unconstrained_start(
    model: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], init_strategy: Any, number: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A trace of the model from the starting strategy, and its latent sites' unconstrained values."""
    import jax
    from numpyro.distributions import biject_to
    from numpyro.handlers import seed, substitute, trace

    started = substitute(seed(model, jax.random.PRNGKey(number)), substitute_fn=init_strategy)
    sites = trace(started).get_trace(*args, **kwargs)
    latent = {name: site for name, site in sites.items() if site["type"] == "sample" and not site["is_observed"]}
    _check_sites(sites, latent)
    return sites, {name: biject_to(site["fn"].support).inv(site["value"]) for name, site in latent.items()}


def _in_double_precision(arguments: Any) -> Any:
    """Arguments of a model with JAX's arrays in double precision, whatever they were made in, and as new arrays."""
    import jax

    def converted(leaf: Any) -> Any:
        if not isinstance(leaf, jax.Array) or jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return leaf
        values = np.asarray(leaf)
        is_real = jax.numpy.issubdtype(leaf.dtype, jax.numpy.floating)
        return jax.numpy.array(values, dtype=np.float64 if is_real else values.dtype)

    return jax.tree_util.tree_map(converted, arguments)


def _unconstrained(
    model: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    values: Mapping[str, np.ndarray],
    point: Mapping[str, Any],
) -> np.ndarray:
    """The unconstrained vector where sites have these values, and else those of the point; site after site."""
    from numpyro.distributions import biject_to
    from numpyro.handlers import substitute, trace

    def value_of(site: Mapping[str, Any]) -> Any:
        if site["type"] != "sample" or site["name"] not in point:
            return None
        if site["name"] in values:
            return np.asarray(values[site["name"]])
        return biject_to(site["fn"].support)(point[site["name"]])

    sites = trace(substitute(model, substitute_fn=value_of)).get_trace(*args, **kwargs)
    parts = [
        biject_to(sites[name]["fn"].support).inv(sites[name]["value"]) if name in values else here
        for name, here in point.items()
    ]
    return np.concatenate([np.ravel(part) for part in parts]).astype(np.float64)


def _check_sites(sites: Mapping[str, Any], latent: Mapping[str, Any]) -> None:
    from numpyro.distributions import Delta

    discrete = [name for name, site in latent.items() if site["fn"].support.is_discrete]
    if discrete:
        raise TypeError(
            f"the NumPyro model has discrete latent sites, {', '.join(discrete)}, which have no gradient; marginalize "
            "them out of the model, for instance with numpyro.distributions.MixtureSameFamily"
        )
    fixed = [name for name, site in latent.items() if isinstance(site["fn"], Delta)]
    if fixed:
        raise ValueError(f"the sites {', '.join(fixed)} have a Delta distribution; use numpyro.deterministic instead")
    subsampled = [
        name
        for name, site in sites.items()
        if site["type"] == "plate" and site["args"][1] not in (None, site["args"][0])
    ]
    if subsampled:
        raise ValueError(
            f"the plates {', '.join(subsampled)} take subsamples, which makes the log density random; leave out "
            "subsample_size"
        )
    if not latent:
        raise ValueError("the NumPyro model has no latent sites, so there is nothing to sample")


def _dims(site: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Names of a site's axes: those of its plates, where NumPyro tells which axis is whose."""
    shape = np.shape(site["value"])
    plates = site.get("cond_indep_stack") or ()
    is_random = site["type"] == "sample"
    n_batch = len(shape) - site["fn"].event_dim if is_random else max((-plate.dim for plate in plates), default=0)
    dims = [f"{site['name']}_dim_{axis}" for axis in range(len(shape))]
    for plate in plates:
        axis = n_batch + plate.dim
        if 0 <= axis < len(shape) and shape[axis] == plate.size:
            dims[axis] = plate.name
    named = (site.get("infer") or {}).get("event_dims")  # as ArviZ reads them
    if named is not None and len(named) == len(shape) - n_batch:
        dims[n_batch:] = map(str, named)
    return tuple(dims) if dims else None


def _observed_data(sites: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Values of the observed sites; factors have none."""
    return {
        name: np.asarray(site["value"])
        for name, site in sites.items()
        if site["type"] == "sample" and site["is_observed"] and type(site["fn"]).__name__ != "Unit"
    }
