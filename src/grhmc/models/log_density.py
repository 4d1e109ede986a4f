"""The contract between a model and the sampler: a C pointer in, named and shaped draws out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from grhmc.argument_checks import reject_masked
from grhmc.density_pointer import DENSITY_PROTOTYPE, FINE
from grhmc.guard_zones import call_guarded, check_reads
from grhmc.models.checks.contract import ContractReport, check_contract
from grhmc.models.checks.gradient import check_gradient, find_unused_coordinates
from grhmc.models.outputs import Outputs, constrain_each
from grhmc.models.pickling import portable
from grhmc.models.variables import (
    Variable,
    as_draws,
    check_coords,
    check_dim,
    check_storable,
    check_variables,
    name_coordinates,
    parse_coords,
)


class LogDensity:
    """A log density with its gradient, and how to give its draws back to the user.

    Front-ends such as `from_numba` make these. To write one, call this class with a pointer, or derive from it and
    override `initial_point`, `constrain`, `unconstrain`, `take_exception` or `for_thread`; see docs/front-ends.md.

    Parameters
    ----------
    dim : int
        Number of unconstrained coordinates, at least 1.
    address : int
        Address of the compiled density, ``int64 f(uint64 dim, const double *q, double *grad,
        double *logp, void *user_data)``. It returns 0, or 1 or 2 where the log density or the
        gradient is not finite (outside the support: the sampler turns back), or 3 after an
        exception (sampling stops). Threads may call it concurrently.
    user_data : int, optional
        Address passed on as the last argument.
    variables : sequence of Variable, optional
        Names, shapes and dims of what `constrain` returns; by default one vector ``x``.
    coordinate_names : sequence of str, optional
        Distinct names of the unconstrained coordinates, for messages; by default the entries of
        `variables` (``beta[2]``), which then must have `dim` entries.
    coords : mapping of str to sequence, optional
        Labels along the dims named by `variables`.
    observed_data, constant_data : mapping of str to array, optional
        Data to store with the results, by name: what the likelihood is of, and all else.
    data_dims : mapping of str to sequence of str, optional
        Names of the axes of data, and of the terms of the log likelihood, by name.
    keep_alive : sequence, optional
        Objects that own what `address` and `user_data` lead to.
    rebuild : tuple (callable, arguments), optional
        Makes an equal model in another process, for pickling; without it, pickling is an error.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type, or names, shapes, dims and coords do not fit together.
    """

    _described = "the log density"  # the function behind the pointer, in messages
    _stays_within_q = False  # whether that is known already

    def __init__(
        self,
        dim: int,
        address: int,
        *,
        user_data: int = 0,
        variables: Sequence[Variable] | None = None,
        coordinate_names: Sequence[str] | None = None,
        coords: Mapping[str, Sequence[Any]] | None = None,
        observed_data: Mapping[str, Any] | None = None,
        constant_data: Mapping[str, Any] | None = None,
        data_dims: Mapping[str, Sequence[str]] | None = None,
        keep_alive: Sequence[Any] = (),
        rebuild: tuple[Callable[..., LogDensity], tuple[Any, ...]] | None = None,
    ) -> None:
        self.dim = check_dim(dim)
        self.address = address
        self.user_data = user_data
        self.variables = (Variable("x", (dim,)),) if variables is None else tuple(variables)
        self.coords = parse_coords(coords)
        self.observed_data = dict(observed_data or {})
        self.constant_data = dict(constant_data or {})
        self.data_dims = {name: tuple(dims) for name, dims in (data_dims or {}).items()}
        self.keep_alive = tuple(keep_alive)
        self._rebuild = rebuild
        check_variables(self.variables)
        for group in ("observed_data", "constant_data"):
            for name in getattr(self, group):
                check_storable(str(name), group)
            reject_masked(group, getattr(self, group))
        check_coords(self.variables, self.coords)
        self.coordinate_names = _coordinate_names(coordinate_names, self.variables, self.dim)
        size = sum(variable.size for variable in self.variables)
        if type(self).constrain is LogDensity.constrain and size != self.dim:
            raise ValueError(
                f"variables have {size} entries but dim = {self.dim}; a model whose variables are "
                "not its coordinates must override constrain()"
            )
        self._c_function = DENSITY_PROTOTYPE(address)

    def initial_point(self, rng: np.random.Generator) -> np.ndarray | None:
        """The model's own starting point, drawn with `rng`: shape (dim,), unconstrained.

        None lets the sampler draw each coordinate uniformly from (-2, 2).
        """
        return None

    def constrain(self, draws: np.ndarray) -> dict[str, np.ndarray]:
        """Turn unconstrained draws into the model's variables.

        Parameters
        ----------
        draws : ndarray, shape (n, dim), float64

        Returns
        -------
        dict of str to ndarray, shape (n, *shape)
            In the order of `variables`. Here, where variables are coordinates, views of `draws`.

        Raises
        ------
        ValueError
            If `draws` has another shape.
        """
        draws = as_draws(draws, self.dim)
        constrained = {}
        start = 0
        for variable in self.variables:
            columns = draws[:, start : start + variable.size]
            constrained[variable.name] = columns.reshape(len(draws), *variable.shape)
            start += variable.size
        return constrained

    def constrain_each(self, draws: np.ndarray) -> Outputs:
        """What `constrain` gives, with NaN in the variables that could not be computed, and a count of those.

        To override where a model knows which of its variables failed; here it is all of a draw's.

        Parameters
        ----------
        draws : ndarray, shape (n, dim), float64
            At least one.

        Raises
        ------
        Exception
            What `constrain` raised, if it did at every draw.
        """
        return constrain_each(self, draws)

    @property
    def start_variables(self) -> tuple[Variable, ...]:
        """Variables that `unconstrain` takes, for starts by name: all where they are coordinates, else none."""
        return self.variables if type(self).constrain is LogDensity.constrain else ()

    def unconstrain(self, values: Mapping[str, np.ndarray], point: np.ndarray) -> np.ndarray:
        """Move a point to where some variables have given values; the rest of it stays.

        Parameters
        ----------
        values : mapping of str to ndarray
            Of some of `start_variables`, in their shapes.
        point : ndarray, shape (dim,)

        Returns
        -------
        ndarray, shape (dim,)
            Where a value is outside the support: anything that `constrain` makes something else of, or a ValueError.
        """
        moved, start = np.array(point, dtype=np.float64), 0
        for variable in self.variables:
            if variable.name in values:
                moved[start : start + variable.size] = np.ravel(values[variable.name])
            start += variable.size
        return moved

    def describe_support(self, name: str) -> str:
        """What values one of `start_variables` may take, in words, or an empty string."""
        return ""

    @property
    def likelihood_terms(self) -> tuple[str, ...]:
        """Names of what `log_likelihood` gives: here a variable that is called log_lik, as Stan's users call it."""
        return tuple(variable.name for variable in self.variables if variable.name == "log_lik")

    def log_likelihood(self, draws: np.ndarray) -> dict[str, np.ndarray]:
        """Log likelihood of each observation at unconstrained draws (n, dim): by name, arrays whose first axis is n."""
        values = self.constrain_each(draws).values
        return {name: values[name] for name in self.likelihood_terms}

    def evaluate(self, q: Any) -> tuple[float, np.ndarray, int]:
        """Evaluate through the pointer, as the sampler does.

        Parameters
        ----------
        q : array_like, shape (dim,)
            Real numbers.

        Returns
        -------
        log_density : float
        gradient : ndarray, shape (dim,)
            Meaningful only if `code` is 0; entries that the density did not write are nan.
        code : int
            0; 1 or 2 if the log density or the gradient is not finite; 3 if the density raised,
            and then `take_exception` has the exception.

        Raises
        ------
        TypeError, ValueError
            If `q` is not an array of `dim` real numbers, or if the density changed it, or wrote beyond it or the
            gradient. The first time that it is finite it is tested, too, whether it reads beyond `q`.
        """
        point = self._check_point(q)
        log_density, gradient, code = call_guarded(self._c_function, self.user_data, point, self._described)
        if code == FINE and not self._stays_within_q:
            self._check_reads(point)
            self._stays_within_q = True
        return log_density, gradient, code

    def _check_reads(self, point: np.ndarray) -> None:
        def results(filling: float) -> np.ndarray:
            log_density, gradient, code = call_guarded(
                self._c_function, self.user_data, point, self._described, filling
            )
            return np.array([code, log_density, *gradient])

        check_reads(results, self._described, self.dim)

    def take_exception(self) -> BaseException | None:
        """Return the exception behind code 3, or None, and forget it."""
        return None

    def attributes(self) -> dict[str, str]:
        """What to say of the model in the attributes of a result: here nothing."""
        return {}

    def take_message(self) -> str:
        """What the density said about the last place it rejected (code 1 or 2), or an empty string; forgets it."""
        return ""

    def for_thread(self) -> LogDensity:
        """A model that another thread may use at the same time as this one: here this one itself.

        To override where the compiled density is not safe to share between threads.
        """
        return self

    def check_gradient(
        self, q: Any, *, tolerance: float = 1e-3, seed: int = 0, n_directions: int | None = None
    ) -> None:
        """Compare the gradient with finite differences of the log density.

        Every coordinate up to 50 dimensions; beyond, random directions and a random subset. What one central difference
        does not confirm is compared with integrals of the gradient over several steps, with error bars for the noise of
        the log density. At a mode, where slopes say little, a point off it is checked, too. A gradient that is wrong at
        `q` and right at a place of higher density (a solver whose tolerance is too rough at `q`) is not rejected.

        Parameters
        ----------
        q : array_like, shape (dim,)
            Where; a point at which log density and gradient are finite.
        tolerance : float, optional
            Largest accepted relative error of a slope. Differences below the log density's rounding do not count.
        seed : int, optional
            For the random directions.
        n_directions : int, optional
            Along so many random directions only, and the coordinates at fault where one disagrees.

        Raises
        ------
        GradientError
            Names the coordinates at fault, with both values; a ValueError.
        ValueError
            If the log density is not finite at `q`, or two evaluations there differ.
        Exception
            Whatever the density raised.

        Warns
        -----
        GradientWarning
            If it is in doubt whether the gradient is right.
        """
        check_gradient(self, self._check_point(q), tolerance=tolerance, seed=seed, n_directions=n_directions)

    def check(
        self,
        points: Any = None,
        *,
        n_points: int = 3,
        n_threads: int = 4,
        tolerance: float = 1e-3,
        seed: int = 0,
    ) -> ContractReport:
        """Test what this class promises, and print what was found.

        For whoever writes a model or a front-end; `sample` itself checks the gradient at every chain's start only.
        Tested are: starting points (real, of the right shape, drawn from `rng` only, finite); the gradient against
        finite differences; that the density is repeatable and does not change `q`; that threads get the values that one
        thread gets; that `constrain` gives the promised names, shapes and values for any number of draws; that places
        far away raise no exception; that the density depends on every coordinate; that pickling rebuilds an equal
        model.

        Parameters
        ----------
        points : array_like, shape (n, dim) or (dim,), optional
            Where to test: points at which log density and gradient are finite. By default starting points.
        n_points : int, optional
            Number of starting points, where `points` are not given.
        n_threads : int, optional
            Number of threads that evaluate at once.
        tolerance : float, optional
            Largest accepted relative error of a slope.
        seed : int, optional
            For starting points and random directions.

        Returns
        -------
        ContractReport
            `passed`, `checks` (each with `name`, `status`, `detail` and the `error` if there was one), and
            `raise_if_failed()` for a test suite.

        Raises
        ------
        TypeError, ValueError
            If an argument is not as described. What is wrong with the model is in the report.
        """
        for name, number in (("n_points", n_points), ("n_threads", n_threads)):
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise ValueError(f"{name} must be an integer of at least 1, got {number!r}")
        chosen = None if points is None else np.array([self._check_point(q) for q in np.atleast_2d(points)])
        report = check_contract(self, chosen, n_points=n_points, n_threads=n_threads, tolerance=tolerance, seed=seed)
        print(report)  # noqa: T201
        return report

    def unused_coordinates(self, q: Any) -> tuple[str, ...]:
        """Names of the coordinates that the log density does not depend on, as seen from `q`.

        Such a density is improper: its draws wander off without bound along these coordinates.

        Parameters
        ----------
        q : array_like, shape (dim,)
            A point at which log density and gradient are finite.
        """
        unused = find_unused_coordinates(self, self._check_point(q))
        return tuple(self.coordinate_names[j] for j in unused)

    def __reduce__(self) -> tuple[Callable[..., LogDensity], tuple[Any, ...]]:
        if self._rebuild is None:
            raise TypeError(
                "this model was made from an address, which means nothing in another process, so "
                "it cannot be pickled; make it there, or pass rebuild=(function, arguments) to "
                "LogDensity"
            )
        return portable(self._rebuild)

    def __repr__(self) -> str:
        shown = ", ".join(f"{v.name}{list(v.shape) if v.shape else ''}" for v in self.variables[:8])
        more = ", ..." if len(self.variables) > 8 else ""
        return f"<{type(self).__name__}: dim={self.dim}, {shown}{more}>"

    def _check_point(self, q: Any) -> np.ndarray:
        """Return `q` as a fresh float64 array of shape (dim,)."""
        reject_masked("q", q)
        point = np.asarray(q)
        if point.dtype.kind not in "biuf":
            raise TypeError(f"q must be an array of {self.dim} real numbers, got dtype {point.dtype}")
        if point.shape != (self.dim,):
            raise ValueError(f"q must have shape ({self.dim},), got {point.shape}")
        return np.array(point, dtype=np.float64)


def _coordinate_names(names: Sequence[str] | None, variables: Sequence[Variable], dim: int) -> tuple[str, ...]:
    result = name_coordinates(variables) if names is None else tuple(names)
    if len(result) != dim:
        raise ValueError(
            f"coordinate_names must give one name per coordinate, dim = {dim} of them; there are "
            f"{len(result)}" + ("" if names is not None else " entries in variables")
        )
    repeated = [name for name, count in Counter(result).items() if count > 1]
    if repeated:
        raise ValueError(
            "the names of the coordinates must be distinct, but "
            f"{', '.join(map(repr, repeated[:5]))} occur more than once; rename the variables"
        )
    return result
