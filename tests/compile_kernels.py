"""Compile every kernel into the cache on disk, before the workers of pytest each do it for themselves.

Kernels take the model by a pointer to its density, so that one short run of any model compiles them all.
"""

import numpy as np

import grhmc
from grhmc.models.analytic import independent_normals

if __name__ == "__main__":
    model = independent_normals(np.ones(2)).log_density()
    grhmc.sample(model, draws=10, tune=20, chains=1, seed=1, progress_bar=False, diagnose=False)
