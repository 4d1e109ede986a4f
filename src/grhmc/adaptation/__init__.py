"""Warm-up: its schedule in stages, the tuners, the first standardization, and what chains agree on between stages."""
