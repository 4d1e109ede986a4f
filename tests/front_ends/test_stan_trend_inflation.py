"""The trend inflation model as a Stan program and in Numba: one density."""

import numpy as np
import pytest

import grhmc
from grhmc.datasets import us_inflation
from grhmc.models.trend_inflation import trend_inflation
from reference_posteriors import PROGRAMS

pytest.importorskip("stanli", reason="needs stanli, which runs Stan programs: pip install 'grhmc[stan]'")


def test_the_stan_program_and_the_compiled_density_are_equal_up_to_a_constant():
    y = us_inflation()
    stan = grhmc.from_stan(PROGRAMS / "trend_inflation.stan", {"n": len(y), "y": y})
    numba = trend_inflation(y)
    points = np.random.default_rng(8).standard_normal((4, 756)) * np.array([0.2, 0.5, 1.0, 2.0])[:, np.newaxis]
    found = [(stan.evaluate(q), numba.evaluate(q)) for q in points]
    differences = [of_stan[0] - of_numba[0] for of_stan, of_numba in found]
    np.testing.assert_allclose(differences, differences[0], atol=1e-7)
    for of_stan, of_numba in found:
        np.testing.assert_allclose(of_stan[1], of_numba[1], rtol=1e-7, atol=1e-7)
    of_stan, of_numba = stan.constrain(points), numba.constrain(points)
    for name, values in of_numba.items():
        np.testing.assert_allclose(of_stan[name], values, rtol=1e-7, atol=1e-7)
