"""What `tune` found, and the forms in which other samplers take it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from grhmc.tuned.in_jax import blackjax_matrix, numpyro_arguments
from grhmc.tuned.in_pymc import pymc_potential
from grhmc.tuned.origin import NUMPYRO, PYMC, STAN, Origin
from grhmc.tuned.stan_metric import StanMetric


@dataclass(frozen=True)
class Tuned:
    """What tuning found, to look at or to hand to another sampler.

    Attributes
    ----------
    scale, centre : ndarray, shape (dim,)
        Geometric and arithmetic means over chains, in the units of the unconstrained parameters. Without directions the
        mass matrix is diag(scale**-2); other samplers call scale**2 the (inverse mass or metric) variances. Beside
        directions the scale has a factor that all parameters have in common (docs/metric.md).
    event_rate, time_to_u_turn : float
        Geometric means over chains; per process time, and in process time. The rate of the discrete process is one over
        the time that a momentum lasts.
    n_gradients : int
        Gradients spent by all chains together.
    names : tuple of str
        Of the unconstrained coordinates.
    directions : ndarray, shape (k, dim)
        Uᵀ: orthonormal directions of the parameters over their scales, on top of the scale; k may be 0. All chains have
        the same but those that stayed in a place of their own.
    eigenvalues : ndarray, shape (k,)
        Λ: variances of the scaled parameters along them.
    scale_per_chain, centre_per_chain : ndarray, shape (chains, dim)
    event_rate_per_chain : ndarray, shape (chains,)
    origin : Origin
        The kind of model that was tuned.

    Notes
    -----
    The methods `for_pymc`, `for_stan`, `for_numpyro` and `for_blackjax` write the metric in the form and the order of
    these samplers. Where directions were found it is dense there, which costs dim² numbers, and dim² multiplications a
    step; ``dense=False`` leaves the directions out. docs/scales-for-other-samplers.md has examples and what it gained.
    """

    scale: np.ndarray
    centre: np.ndarray
    event_rate: float
    time_to_u_turn: float
    n_gradients: int
    names: tuple[str, ...]
    directions: np.ndarray
    eigenvalues: np.ndarray
    scale_per_chain: np.ndarray
    centre_per_chain: np.ndarray
    event_rate_per_chain: np.ndarray
    origin: Origin

    def covariance(self) -> np.ndarray:
        """S F² S as a dense matrix, shape (dim, dim): the covariance of a normal that this metric would suit best.

        Samplers with a dense metric call it the inverse mass matrix. Without directions it is diag(scale**2).
        """
        factor = np.eye(len(self.scale)) + (self.directions.T * (self.eigenvalues - 1.0)) @ self.directions
        return self.scale[:, np.newaxis] * factor * self.scale

    def inverse_mass_matrix(self, dense: bool | None = None) -> np.ndarray:
        """The metric as most samplers define it: variances, shape (dim,), or a covariance, shape (dim, dim).

        Parameters
        ----------
        dense : bool, optional
            By default where directions were found. False leaves these out.
        """
        if dense is None:
            dense = len(self.directions) > 0
        return self.covariance() if dense else self.scale**2

    def for_stan(self, *, dense: bool | None = None) -> StanMetric:
        """Write the metric for CmdStan, CmdStanPy, CmdStanR and stanli.

        Parameters
        ----------
        dense : bool, optional
            ``dense_e``, by default where directions were found, or ``diag_e``.

        Returns
        -------
        StanMetric
            In the order in which Stan reads unconstrained parameters.

        Raises
        ------
        ValueError
            If a PyMC or NumPyro model was tuned. A density of coordinates (`from_pointer`, `from_python`, ...) is taken
            to have Stan's order.

        Examples
        --------
        >>> metric = grhmc.tune(grhmc.from_stan("model.stan", data)).for_stan()  # doctest: +SKIP
        >>> stanli_model.sample(warmup=140, **metric.arguments())  # doctest: +SKIP
        >>> windows = {"adapt_init_phase": 0, "adapt_metric_window": 0, "adapt_step_size": 140, "iter_warmup": 140}
        >>> cmdstan_model.sample(data, **windows, **metric.arguments())  # doctest: +SKIP

        Stan adapts the metric again unless it is told not to; stanli with a warm-up shorter than 150 does not. For
        CmdStan the same is ``adapt init_buffer=0 window=0 term_buffer=140``.
        """
        self.origin.require("for_stan", STAN)
        return StanMetric(self.inverse_mass_matrix(dense))

    def for_pymc(self, model: Any = None, *, dense: bool | None = None) -> Any:
        """Make a potential for PyMC's own NUTS and HMC; the step size is still adapted, the metric is not.

        Parameters
        ----------
        model : pymc.Model, optional
            That will be sampled: its parameters are found by name, whatever their order. By default the model of the
            ``with`` block, or else the one that was tuned.
        dense : bool, optional
            By default where directions were found.

        Returns
        -------
        pymc.step_methods.hmc.quadpotential.QuadPotential
            A fresh one each time: it holds random numbers, so give each step method its own.

        Raises
        ------
        ValueError
            If a Stan or NumPyro model was tuned, or `model` has other parameters.
        ImportError
            If PyMC is not installed.

        Examples
        --------
        >>> tuned = grhmc.tune(model)  # doctest: +SKIP
        >>> with model:
        ...     pymc.sample(step=pymc.NUTS(potential=tuned.for_pymc()))  # doctest: +SKIP
        """
        self.origin.require("for_pymc", PYMC)
        return pymc_potential(self.inverse_mass_matrix(dense), self.names, self.origin, model)

    def for_numpyro(self, *, dense: bool | None = None) -> dict[str, Any]:
        """Write arguments of NumPyro's ``NUTS`` and ``HMC``; the step size is still adapted, the metric is not.

        Parameters
        ----------
        dense : bool, optional
            By default where directions were found.

        Returns
        -------
        dict
            ``inverse_mass_matrix``, ``dense_mass`` and ``adapt_mass_matrix=False``. Of a NumPyro model the matrix has
            the names of the sites: for ``NUTS(model, ...)``. Of other models it is an array in the order of the
            coordinates: for ``NUTS(potential_fn=..., ...)``, and of `from_jax` in the order of the flattened pytree.
            NumPyro writes into it, so call this once for each kernel.

        Raises
        ------
        ValueError
            If a Stan model was tuned.

        Examples
        --------
        >>> tuned = grhmc.tune(grhmc.from_numpyro(model, x, y=y))  # doctest: +SKIP
        >>> MCMC(NUTS(model, **tuned.for_numpyro()), num_warmup=200, num_samples=1000)  # doctest: +SKIP
        """
        self.origin.require("for_numpyro", NUMPYRO, PYMC)
        return numpyro_arguments(self.inverse_mass_matrix(dense), self.origin)

    def for_blackjax(self, *, dense: bool | None = None) -> np.ndarray:
        """Write the ``inverse_mass_matrix`` of BlackJAX's ``nuts`` and ``hmc``.

        Parameters
        ----------
        dense : bool, optional
            By default where directions were found.

        Returns
        -------
        ndarray, shape (dim,) or (dim, dim)
            In the order of the flattened position (``jax.flatten_util.ravel_pytree``). Of `from_jax` that is the pytree
            of its example; of a NumPyro model the dict of unconstrained sites that ``initialize_model`` gives; of other
            models one array of the coordinates in their order (`names`).

        Examples
        --------
        >>> tuned = grhmc.tune(grhmc.from_jax(logp, position))  # doctest: +SKIP
        >>> blackjax.nuts(logp, step_size, tuned.for_blackjax())  # doctest: +SKIP
        """
        return blackjax_matrix(self.inverse_mass_matrix(dense), self.origin)

    def for_nutpie(self) -> None:
        """Nutpie takes no metric: always an error that says so.

        Raises
        ------
        NotImplementedError
        """
        raise NotImplementedError(
            "nutpie (up to 0.16) takes no metric: it begins with one from the gradients where its chains start, and "
            "adapts that. Give this one to PyMC, Stan, NumPyro or BlackJAX (for_pymc, for_stan, for_numpyro, "
            "for_blackjax)"
        )
