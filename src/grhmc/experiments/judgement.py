"""The experiments compare their draws with what is known of the targets: no need to warn of them as of a user's run."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from grhmc import SamplingWarning


@contextmanager
def judged_by_the_report() -> Iterator[None]:
    """Silence the diagnosis at the end of `sample`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SamplingWarning)
        yield
