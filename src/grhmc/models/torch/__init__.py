"""PyTorch functions as log densities."""
