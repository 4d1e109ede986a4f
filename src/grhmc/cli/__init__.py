"""The commands `grhmc demo`, `sample`, `resume`, `extend`, `diagnose`, `compare`, `paper` and `doctor`."""

from grhmc.cli.app import app

__all__ = ["app"]
