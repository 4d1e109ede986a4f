"""Hamiltonian Monte Carlo for Bayesian posteriors, with a scale (mass) matrix that tunes itself."""

from grhmc import datasets, pymc
from grhmc._version import __version__
from grhmc.comparison import Comparison, compare
from grhmc.continuing import extend, resume
from grhmc.diagnosis import Report, SamplingWarning, diagnose
from grhmc.models import (
    GradientError,
    LogDensity,
    from_jax,
    from_numba,
    from_numpyro,
    from_pointer,
    from_pymc,
    from_python,
    from_stan,
    from_torch,
)
from grhmc.models.path_functions import path_functions_from_numba
from grhmc.outcomes import InitializationError, Outcome, SamplingError
from grhmc.plotting import (
    plot_crossing_times,
    plot_divergences,
    plot_ess_comparison,
    plot_scale_history,
    plot_trace_with_events,
)
from grhmc.results.divergences import divergences
from grhmc.results.inference_data import to_inference_data
from grhmc.results.log_likelihood import compute_log_likelihood
from grhmc.results.summaries import summary
from grhmc.run.chain_snapshot import ChainSnapshot
from grhmc.sampling import sample
from grhmc.sampling_run import SamplingRun
from grhmc.settings import MCT, Continuous, Discrete, PaperWarmup
from grhmc.tuned import Tuned, tune

__all__ = [
    "MCT",
    "ChainSnapshot",
    "Comparison",
    "Continuous",
    "Discrete",
    "GradientError",
    "InitializationError",
    "LogDensity",
    "Outcome",
    "PaperWarmup",
    "Report",
    "SamplingError",
    "SamplingRun",
    "SamplingWarning",
    "Tuned",
    "__version__",
    "compare",
    "compute_log_likelihood",
    "datasets",
    "diagnose",
    "divergences",
    "extend",
    "from_jax",
    "from_numba",
    "from_numpyro",
    "from_pointer",
    "from_pymc",
    "from_python",
    "from_stan",
    "from_torch",
    "path_functions_from_numba",
    "plot_crossing_times",
    "plot_divergences",
    "plot_ess_comparison",
    "plot_scale_history",
    "plot_trace_with_events",
    "pymc",
    "resume",
    "sample",
    "summary",
    "to_inference_data",
    "tune",
]
