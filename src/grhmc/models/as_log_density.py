"""Everything that `sample` accepts as a model, turned into a log density: a front-end adds a line here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from grhmc.models.log_density import LogDensity
from grhmc.models.pymc.from_pymc import from_pymc
from grhmc.models.stan.from_stan import from_stan

# Package and class of a model that can be passed as it is, and what turns it into a log density.
_FRONT_ENDS: tuple[tuple[str, str, Callable[[Any], LogDensity]], ...] = (
    ("pymc", "Model", from_pymc),
    ("bridgestan", "StanModel", from_stan),
)


def as_log_density(model: Any) -> LogDensity:
    """Turn a model into a log density.

    Parameters
    ----------
    model : LogDensity, pymc.Model, bridgestan.StanModel or None
        None: the PyMC model whose ``with`` block this is called in.

    Raises
    ------
    TypeError
        If it is something else; functions among it, for nothing tells what kind of function it is. If it is None
        outside a PyMC model's ``with`` block.
    """
    if model is None:
        model = _model_in_context()
    if isinstance(model, LogDensity):
        return model
    for package, name, front_end in _FRONT_ENDS:
        module = sys.modules.get(package)  # a model of a package that nobody has imported cannot be here
        if module is not None and isinstance(model, getattr(module, name, ())):
            return front_end(model)
    accepted = ", a ".join(f"{package}.{name}" for package, name, _ in _FRONT_ENDS)
    raise TypeError(
        f"model must be a {accepted}, or a log density made by grhmc.from_stan, from_numpyro, from_jax, from_torch, "
        f"from_numba, from_python or from_pointer; got {type(model).__name__}: {model!r:.200}{_hint(model)}"
    )


def _model_in_context() -> Any:
    pymc = sys.modules.get("pymc")  # there is no block of a package that nobody has imported
    try:
        if pymc is not None:
            return pymc.modelcontext(None)
    except TypeError:
        pass
    raise TypeError(
        "there is no model: pass one as the first argument, made by grhmc.from_stan, from_numpyro, from_jax, "
        "from_torch, from_numba, from_python or from_pointer, or call this in the block of a PyMC model, "
        "with model: grhmc.sample()"
    )


def _hint(model: Any) -> str:
    if isinstance(model, str):
        return "; for a Stan program write grhmc.from_stan(program, data)"
    if callable(model):
        return (
            "; a function does not tell what it is: write grhmc.from_numpyro(model, *args) for a NumPyro model, "
            "from_jax(logp, example) or from_torch(logp, example) for a log density, from_numba(f, dim) or "
            "from_python(f, dim) for a log density with its gradient"
        )
    return ""
