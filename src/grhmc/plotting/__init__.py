"""Figures of a run: traces with events, the scale over tuning, crossing times, divergences, and tuners compared.

Only what ArviZ does not draw: process time and what happened before each draw, the ``tuning`` group, a `Comparison`.
Marginals, ranks, energies, ESS, forests and pairs are arviz-plots's, which takes a result as it is (docs/gallery.md).

One comes close to a figure of arviz-plots, `plot_divergences` to ``plot_pair_focus``, and is not built on it. It would
save ten lines, and need a tree of its own (unconstrained coordinates, and where diverging trajectories start instead of
the draws that follow them); importing arviz-plots takes seconds; and on Python 3.11 the newest there is, 0.8, cannot be
imported beside matplotlib 3.11.
"""

from grhmc.plotting.figure_divergences import plot_divergences
from grhmc.plotting.figures import plot_crossing_times, plot_ess_comparison, plot_scale_history, plot_trace_with_events

__all__ = [
    "plot_crossing_times",
    "plot_divergences",
    "plot_ess_comparison",
    "plot_scale_history",
    "plot_trace_with_events",
]
