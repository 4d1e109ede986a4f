"""NumPyro models as log densities."""
