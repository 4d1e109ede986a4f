"""Arguments of NumPyro's distributions that are invalid at some points (a scale below 0): outside the support."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

Started = TypeVar("Started")

MAX_TRIES = 100
"""Starts that are drawn before the error of NumPyro's validation is passed on."""


def draw_until_valid(start: Callable[[int], Started], number: int) -> Started:
    """The first of the starts `number`, `number` + 1, ... at which NumPyro's validation accepts all arguments.

    Raises
    ------
    ValueError
        That of NumPyro's validation, if there is none among `MAX_TRIES`.
    Exception
        Whatever else `start` raises, at once.
    """
    for tried in range(MAX_TRIES - 1):
        try:
            return start(number + tried)
        except ValueError as error:
            if not _is_of_validation(error):
                raise
    return start(number + MAX_TRIES - 1)


def _is_of_validation(error: ValueError) -> bool:
    """Whether NumPyro's check of a distribution's arguments raised it, and not the model or another check."""
    from numpyro.distributions import Distribution

    methods = (getattr(Distribution, name, None) for name in ("validate_args", "__init__"))  # where it is varies
    codes = [method.__code__ for method in methods if method is not None]
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return place is not None and place.tb_frame.f_code in codes


def arguments_are_valid(sites: Iterable[Mapping[str, Any]]) -> Any:
    """Whether the arguments of all distributions keep their constraints, as a JAX scalar; None if nothing is to check.

    NumPyro looks at concrete arguments only, not at those of a compiled model, and some densities of invalid arguments
    are finite (``Gamma(-1.5, 1)``, ``Beta(-0.5, 1)``). Distributions whose validation is switched off are left alone.
    """
    import jax.numpy as jnp

    valid = None
    for site in sites:
        if site["type"] != "sample":
            continue
        for constraint, value in _arguments(site["fn"]):
            here = jnp.all(constraint(value))
            valid = here if valid is None else valid & here
    return valid


def _arguments(distribution: Any) -> Iterator[tuple[Any, Any]]:
    """Constraint and value of each argument that varies and can be checked, of distributions inside others too.

    Left out are real numbers (a NaN is seen in the density), matrices (a Cholesky factor tells, at no extra cost), and
    what is behind a mask, which may hide invalid arguments on purpose.
    """
    from jax.core import Tracer
    from numpyro.distributions import Distribution, MaskedDistribution, constraints

    if isinstance(distribution, MaskedDistribution):
        return
    validated = distribution._validate_args
    if validated is None:  # of a distribution that JAX has taken apart and put together again, as in a scan
        validated = type(distribution)._validate_args
    if validated:
        for name, constraint in distribution.arg_constraints.items():
            value = vars(distribution).get(name)
            if not isinstance(value, Tracer) or constraints.is_dependent(constraint):
                continue
            if constraint in (constraints.real, constraints.real_vector) or constraint.event_dim > 1:
                continue
            yield constraint, value
    for part in vars(distribution).values():
        for inner in part if isinstance(part, list | tuple) else (part,):
            if isinstance(inner, Distribution):
                yield from _arguments(inner)
