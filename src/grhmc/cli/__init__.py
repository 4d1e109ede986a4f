"""The commands `grhmc demo`, `sample`, `compare` and `paper`."""

from grhmc.cli.app import app

__all__ = ["app"]
