"""How many threads there are, and which library multiplies matrices."""

from __future__ import annotations

import os

# It loads the BLAS that is looked for.
import numpy  # noqa: F401
import threadpoolctl

from grhmc.doctor.finding import Finding


def thread_finding() -> Finding:
    """Cores that this process may use: chains run on as many threads."""
    of_machine = os.cpu_count() or 1
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else of_machine
    text = f"{allowed} of the machine's {of_machine} cores may be used" if allowed < of_machine else f"{allowed} cores"
    return Finding("threads", "ok", text)


def blas_finding() -> Finding:
    """The BLAS that NumPy uses."""
    found = [library for library in threadpoolctl.threadpool_info() if library.get("user_api") == "blas"]
    if not found:
        return Finding("BLAS", "note", "none that threadpoolctl knows: models that use matrices may be slow")
    parts = [f"{one['internal_api']} {one.get('version')}, {one['num_threads']} threads" for one in found]
    return Finding("BLAS", "ok", "; ".join(dict.fromkeys(parts)))
