"""All checks of an installation in their order, each as soon as it is done."""

from __future__ import annotations

from collections.abc import Iterator

from grhmc.doctor.compiled_kernels import cache_finding, watch_compilations
from grhmc.doctor.core_check import core_findings, run_core
from grhmc.doctor.finding import Finding
from grhmc.doctor.installation import optional_findings, python_finding, requirement_findings
from grhmc.doctor.machine import blas_finding, thread_finding


def examine() -> Iterator[Finding]:
    """Look at versions, optional packages, threads, BLAS, compiled kernels, and the draws of a short run."""
    yield python_finding()
    yield from requirement_findings()
    yield from optional_findings()
    yield thread_finding()
    yield blas_finding()
    try:
        with watch_compilations() as watched:
            run = run_core()
    except Exception as error:
        yield Finding(
            "short run",
            "problem",
            f"it ended with {type(error).__name__}: {error}",
            "install the versions that grhmc needs (above), delete the compiled kernels, and run this command again",
        )
        return
    yield cache_finding(watched)
    yield from core_findings(run)
