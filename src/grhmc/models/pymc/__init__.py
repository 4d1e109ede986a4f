"""PyMC models as log densities, by way of PyTensor's Numba backend."""
