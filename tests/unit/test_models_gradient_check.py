"""The gradient check finds every kind of wrong gradient, and accepts right ones on any scale."""

import numpy as np
import pytest
from scipy.optimize import minimize

from grhmc.models import GradientError, GradientWarning, from_python


class Counted:
    """A function that counts its calls."""

    def __init__(self, function):
        self.function = function
        self.n_calls = 0

    def __call__(self, q):
        self.n_calls += 1
        return self.function(q)


def normals(sd, mean=0.0):
    sd = np.asarray(sd, dtype=float)

    def density(q):
        z = (q - mean) / sd
        return -0.5 * z @ z, -z / sd

    return density


def cauchy(scale):
    return lambda q: (-np.log1p((q / scale) ** 2).sum(), -2 * q / (scale**2 + q**2))


def with_wrong(density, index, factor):
    def wrong(q):
        log_density, gradient = density(q)
        with np.errstate(invalid="ignore"):  # inf * 0 far out
            gradient[index] *= factor
        return log_density, gradient

    return wrong


def start(dim, seed=0):
    return np.random.default_rng(seed).uniform(-2, 2, dim)


@pytest.mark.parametrize("sd", 10.0 ** np.arange(-6, 7))
@pytest.mark.parametrize("offset", [0.0, 1.0, 1e6])
def test_right_gradients_pass_on_any_scale(sd, offset):
    q = offset + start(3) * sd
    from_python(normals([sd] * 3, offset), 3).check_gradient(q)
    from_python(cauchy(sd), 3).check_gradient(start(3) * sd)


def test_right_gradients_pass_with_all_scales_together():
    from_python(normals(10.0 ** np.arange(-6, 7)), 13).check_gradient(start(13))
    from_python(cauchy(10.0 ** np.arange(-6, 7)), 13).check_gradient(start(13))


def test_right_gradients_pass_at_the_mode():
    from_python(normals([1e-6, 1, 1e6]), 3).check_gradient(np.zeros(3))


@pytest.mark.parametrize("mean", [0.1, 1.0, 3.7, 1e3, 1e6])
@pytest.mark.parametrize("sd", 10.0 ** np.arange(-6, 7))
def test_right_gradients_pass_at_a_mode_off_zero(sd, mean):
    """Where the slope is 0, the finite differences see only how the ends of the step are rounded."""
    from_python(normals([sd] * 3, mean), 3).check_gradient(np.full(3, mean))


def test_a_large_constant_does_not_disturb():
    def shifted(q):
        log_density, gradient = normals([1.0, 10.0])(q)
        return log_density - 1e9, gradient

    from_python(shifted, 2).check_gradient(start(2))


def test_single_precision_densities_pass():
    def rounded(q):
        log_density, gradient = normals([1.0, 3.0])(q)
        return np.float32(log_density - 50), gradient.astype(np.float32)

    from_python(rounded, 2).check_gradient(start(2))


def test_the_edge_of_the_support_may_be_close():
    def half_normal(q):
        return (-0.5 * q @ q if q[0] > 0 else -np.inf), -q

    from_python(half_normal, 2).check_gradient([1e-8, 1.0])


@pytest.mark.parametrize("sd", 10.0 ** np.arange(-6, 7))
@pytest.mark.parametrize("factor", [-1.0, 0.0, 0.5, 1.01, 2.0])
def test_wrong_gradients_fail_on_any_scale(sd, factor):
    for density in (normals([sd] * 3), cauchy(sd)):
        model = from_python(with_wrong(density, 1, factor), 3, ["a", "b", "c"])
        q = start(3) * sd
        with pytest.raises(GradientError) as caught:
            model.check_gradient(q)
        assert caught.value.coordinates == ("b",)
        true_slope = density(q)[1][1]
        assert caught.value.finite_differences[0] == pytest.approx(true_slope, rel=2e-3)
        assert caught.value.gradient[0] == pytest.approx(factor * true_slope)


def test_the_message_names_what_is_wrong():
    model = from_python(with_wrong(normals([1.0] * 3), 1, 2.0), 3, {"mu": (), "beta": (2,)})
    with pytest.raises(GradientError, match=r"(?s)1 of 3 .*beta\[0\]: gradient -2, finite dif.* -1$"):
        model.check_gradient(np.ones(3))


@pytest.mark.parametrize("dim", [3, 200])
def test_a_reversed_sign_is_called_so(dim):
    model = from_python(with_wrong(normals(np.ones(dim)), slice(None), -1.0), dim)
    with pytest.raises(GradientError, match="sign is reversed"):
        model.check_gradient(start(dim))


def test_a_gradient_that_is_never_written_is_called_so():
    model = from_python(with_wrong(normals(np.ones(3)), 0, 0.0), 3)
    with pytest.raises(GradientError, match="does the function write these entries"):
        model.check_gradient(start(3))


def test_a_non_finite_gradient_is_named():
    model = from_python(with_wrong(normals(np.ones(3)), 2, np.nan), 3)
    with pytest.raises(GradientError, match=r"gradient is not, at x\[2\]"):
        model.check_gradient(start(3))


@pytest.mark.parametrize("index", [0, 517, 999])
@pytest.mark.parametrize("factor", [-1.0, 0.0, 1.5])
def test_one_wrong_coordinate_among_a_thousand_is_found(index, factor):
    sd = 10.0 ** np.random.default_rng(1).uniform(-2, 2, 1000)
    density = Counted(with_wrong(normals(sd), index, factor))
    with pytest.raises(GradientError) as caught:
        from_python(density, 1000).check_gradient(start(1000) * sd)
    assert caught.value.coordinates == (f"x[{index}]",)
    assert density.n_calls < 1000


@pytest.mark.parametrize("dim", [2, 25, 1000])
@pytest.mark.parametrize("factor", [-1.0, 0.0, 1.5])
def test_two_directions_find_one_wrong_coordinate(dim, factor):
    sd = 10.0 ** np.random.default_rng(1).uniform(-2, 2, dim)
    model = from_python(with_wrong(normals(sd), dim // 2, factor), dim)
    with pytest.raises(GradientError) as caught:
        model.check_gradient(start(dim) * sd, n_directions=2)
    assert caught.value.coordinates == (f"x[{dim // 2}]",)


@pytest.mark.parametrize("dim", [1, 25, 1000])
def test_two_directions_cost_four_evaluations_besides_those_at_the_point(dim):
    density = Counted(normals(np.ones(dim)))
    from_python(density, dim).check_gradient(start(dim), n_directions=2)
    assert density.n_calls <= 3 + 4


@pytest.mark.parametrize(("n_directions", "error"), [(0, ValueError), (1.5, TypeError)])
def test_a_wrong_number_of_directions_is_named(n_directions, error):
    with pytest.raises(error, match="n_directions"):
        from_python(normals(np.ones(2)), 2).check_gradient(start(2), n_directions=n_directions)


@pytest.mark.parametrize(("dim", "most"), [(1, 5), (50, 103), (1000, 60)])
def test_a_right_gradient_costs_few_evaluations(dim, most):
    density = Counted(normals(np.ones(dim)))
    from_python(density, dim).check_gradient(start(dim))
    assert density.n_calls <= most


def test_a_random_log_density_is_rejected():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="two evaluations at the same point differ"):
        from_python(lambda q: (rng.normal(), -q), 2).check_gradient([1.0, 2.0])


def test_a_gradient_that_accumulates_is_rejected():
    total = np.zeros(2)

    def accumulates(q):
        total[:] -= q
        return -0.5 * q @ q, total

    with pytest.raises(ValueError, match="two evaluations at the same point differ"):
        from_python(accumulates, 2).check_gradient([1.0, 2.0])


def test_outside_the_support_there_is_nothing_to_check():
    with pytest.raises(ValueError, match="the log density is -inf"):
        from_python(lambda q: (-np.inf, q), 1).check_gradient([1.0])


def test_what_the_density_raises_is_raised():
    with pytest.raises(ZeroDivisionError):
        from_python(lambda q: 1 / 0, 1).check_gradient([1.0])


def test_the_tolerance_must_make_sense():
    with pytest.raises(ValueError, match="tolerance must lie between 0 and 1"):
        from_python(normals([1.0]), 1).check_gradient([1.0], tolerance=0)


def test_unused_coordinates_are_reported():
    def partial(q):
        return -0.5 * q[1] ** 2, np.array([0.0, -q[1], 0.0])

    model = from_python(partial, 3, ["a", "b", "c"])
    model.check_gradient([1.0, 1.0, 1.0])
    assert model.unused_coordinates([1.0, 1.0, 1.0]) == ("a", "c")
    assert model.unused_coordinates([1.0, 0.0, 1.0]) == ("a", "c")


def test_a_coordinate_at_its_mode_is_not_unused():
    model = from_python(normals([1e-6, 1, 1e6]), 3)
    assert model.unused_coordinates(np.zeros(3)) == ()
    assert model.unused_coordinates(np.ones(3)) == ()


def test_a_start_at_a_mode_of_a_lopsided_density_is_let_pass():
    """Its gradient is 2e-216 there: only steps of hundreds of units see another slope, that of the other mode."""

    def two_hills(q):
        low, high = -0.5 * q[0] ** 2, -0.5 * (q[0] - 30) ** 2 - 50
        log_density = np.logaddexp(low, high)
        share = np.exp(high - log_density)
        return log_density, -(1 - share) * q - share * (q - 30)

    from_python(two_hills, 1).check_gradient([0.0])
    with pytest.raises(GradientError):
        from_python(lambda q: (two_hills(q)[0], two_hills(q)[1] + 1e-3), 1).check_gradient([0.0])


def lopsided(q):
    z = q - 0.3
    with np.errstate(over="ignore"):
        grows = np.exp(q)
    return -2 * np.log1p(z**2 / 3).sum() - grows.sum(), -4 * z / (3 + z**2) - grows


def mode_of(density, dim):
    return minimize(lambda q: -density(q)[0], np.zeros(dim), jac=lambda q: -density(q)[1], method="BFGS").x


@pytest.mark.parametrize("constant", [0.0, -1e8])
def test_right_gradients_pass_at_a_mode_found_by_an_optimizer(constant):
    def density(q):
        return lopsided(q)[0] + constant, lopsided(q)[1]

    from_python(density, 5).check_gradient(mode_of(lopsided, 5))
    from_python(lambda q: (-(q**4).sum(), -4 * q**3), 20).check_gradient(1e-3 * start(20))


@pytest.mark.parametrize("factor", [-1.0, 0.0, 1.5, 2.0])
def test_wrong_gradients_do_not_pass_at_a_mode(factor):
    """A slope that is 0 anyway is only in doubt if it is never written."""
    with pytest.raises(GradientError if factor else GradientWarning):
        from_python(with_wrong(lopsided, 1, factor), 5).check_gradient(mode_of(lopsided, 5))


@pytest.mark.parametrize("factor", [1.0, -1.0, 1.5])
def test_single_precision_is_no_fault_and_hides_none(factor):
    def rounded(q):
        log_density, gradient = with_wrong(lopsided, 1, factor)(q)
        return np.float32(log_density - 100), gradient.astype(np.float32)

    model = from_python(rounded, 5)
    if factor == 1:
        model.check_gradient(start(5))
    else:
        with pytest.raises(GradientError):
            model.check_gradient(start(5))
