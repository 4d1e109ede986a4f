"""Sample posteriors with continuous-time Hamiltonian dynamics and self-tuned diagonal scales."""

from grhmc import datasets
from grhmc._version import __version__
from grhmc.models import GradientError, LogDensity, from_numba, from_pointer, from_python
from grhmc.models.path_functions import path_functions_from_numba
from grhmc.outcomes import InitializationError, Outcome, SamplingError
from grhmc.sampling import Tuned, sample, tune
from grhmc.settings import PaperWarmup

__all__ = [
    "GradientError",
    "InitializationError",
    "LogDensity",
    "Outcome",
    "PaperWarmup",
    "SamplingError",
    "Tuned",
    "__version__",
    "datasets",
    "from_numba",
    "from_pointer",
    "from_python",
    "path_functions_from_numba",
    "sample",
    "tune",
]
