"""Say that the kernels are being compiled, before a terminal is silent for so long."""

from __future__ import annotations

from grhmc._jit import is_compiled
from grhmc._terminal import print_if_possible
from grhmc.process.advance import advance


def announce_compilation() -> None:
    """Say on standard error that the first run on a machine compiles, if it does."""
    if not is_compiled(advance):
        text = "Compiling the sampler for this machine: up to a minute, once. Later runs find it on disk."
        print_if_possible(text, style="dim")
