"""Compare scale tuners on one model: runs, effective draws per gradient, and their tables."""

from grhmc.comparison.comparison import Comparison
from grhmc.comparison.paper_measures import PaperRow
from grhmc.comparison.rows import ComparisonRow, TunerSummary
from grhmc.comparison.run import compare, compare_results

__all__ = ["Comparison", "ComparisonRow", "PaperRow", "TunerSummary", "compare", "compare_results"]
