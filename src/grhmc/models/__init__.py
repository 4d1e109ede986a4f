"""The only door to users' densities: every front-end ends in a `LogDensity`."""

from grhmc.density_pointer import DENSITY_SIGNATURE
from grhmc.models.as_log_density import as_log_density
from grhmc.models.checks.contract import Check, ContractError, ContractReport
from grhmc.models.checks.gradient_error import GradientError, GradientWarning
from grhmc.models.from_numba import from_numba
from grhmc.models.from_pointer import from_pointer
from grhmc.models.from_python import from_python
from grhmc.models.jax.from_jax import from_jax
from grhmc.models.log_density import LogDensity
from grhmc.models.numpyro.from_numpyro import from_numpyro
from grhmc.models.pymc.from_pymc import from_pymc
from grhmc.models.stan.from_stan import from_stan
from grhmc.models.torch.from_torch import from_torch
from grhmc.models.variables import Variable

__all__ = [
    "DENSITY_SIGNATURE",
    "Check",
    "ContractError",
    "ContractReport",
    "GradientError",
    "GradientWarning",
    "LogDensity",
    "Variable",
    "as_log_density",
    "from_jax",
    "from_numba",
    "from_numpyro",
    "from_pointer",
    "from_pymc",
    "from_python",
    "from_stan",
    "from_torch",
]
