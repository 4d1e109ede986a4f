"""Figures of a run: traces with events, the scale over tuning, crossing times, divergences, and tuners compared."""

from grhmc.plotting.figure_divergences import plot_divergences
from grhmc.plotting.figures import plot_crossing_times, plot_ess_comparison, plot_scale_history, plot_trace_with_events

__all__ = [
    "plot_crossing_times",
    "plot_divergences",
    "plot_ess_comparison",
    "plot_scale_history",
    "plot_trace_with_events",
]
