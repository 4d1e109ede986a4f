"""The same process and the same tuners on SciPy's LSODA: slow, and independent of our integrators."""
