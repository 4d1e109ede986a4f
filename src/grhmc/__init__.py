"""Sample posteriors with continuous-time Hamiltonian dynamics and self-tuned diagonal scales."""

from grhmc._version import __version__

__all__ = ["__version__"]
