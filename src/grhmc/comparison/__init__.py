"""Compare scale tuners on one model: runs, effective draws per gradient, and their tables."""

from grhmc.comparison.run import Comparison, ComparisonRow, TunerSummary, compare, compare_results

__all__ = ["Comparison", "ComparisonRow", "TunerSummary", "compare", "compare_results"]
