"""Standardized Hamiltonian dynamics: one adaptive Nyström step, dense output and integrals over it."""
