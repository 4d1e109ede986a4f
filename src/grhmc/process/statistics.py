"""The statistics of a draw: their names, and the column of each in `Records.statistics`."""

from __future__ import annotations

STATISTICS = (
    "lp",
    "energy",
    "energy_error",
    "diverging",
    "n_gradients",
    "n_steps",
    "n_rejected",
    "n_events",
    "step_size",
    "process_time",
    "acceptance_rate",
)
"""Columns of `Records.statistics`, one row per draw."""

LP = STATISTICS.index("lp")
ENERGY = STATISTICS.index("energy")
ENERGY_ERROR = STATISTICS.index("energy_error")
DIVERGING = STATISTICS.index("diverging")
N_GRADIENTS = STATISTICS.index("n_gradients")
N_STEPS = STATISTICS.index("n_steps")
N_REJECTED = STATISTICS.index("n_rejected")
N_EVENTS = STATISTICS.index("n_events")
STEP_SIZE = STATISTICS.index("step_size")
PROCESS_TIME = STATISTICS.index("process_time")
ACCEPTANCE_RATE = STATISTICS.index("acceptance_rate")
