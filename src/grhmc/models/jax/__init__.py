"""JAX functions as log densities."""
