"""Stan programs, sampled with the default settings, agree with the reference posteriors."""

import pytest

import grhmc
from reference_posteriors import PROGRAMS, large_discrepancies, read_posterior_data

pytest.importorskip("stanli", reason="needs stanli, which runs Stan programs: pip install 'grhmc[stan]'")

pytestmark = pytest.mark.filterwarnings("ignore::grhmc.SamplingWarning")  # tests/statistical/test_false_alarms.py

POSTERIORS = ("eight_schools", "kidscore_interaction", "arK", "garch11", "gauss_mix", "gp_poisson")


@pytest.mark.statistical
@pytest.mark.parametrize("name", POSTERIORS)
def test_default_settings_agree_with_the_reference(name):
    model = grhmc.from_stan(PROGRAMS / f"{name}.stan", read_posterior_data(name))
    result = grhmc.sample(model, seed=3, progress_bar=False)
    assert large_discrepancies(name, result) == []


@pytest.mark.statistical
@pytest.mark.parametrize("seed", [1, 3])
def test_chains_that_start_far_away_arrive(seed):
    """At sigma = 1 the squared gradient along log sigma is a million times what it is in the posterior."""
    name = "kidscore_interaction"
    model = grhmc.from_stan(PROGRAMS / f"{name}.stan", read_posterior_data(name))
    assert large_discrepancies(name, grhmc.sample(model, draws=2000, seed=seed, progress_bar=False)) == []


@pytest.mark.statistical
def test_the_comparison_notices_a_sampler_that_is_off():
    """Negative control: without the prior on tau, eight schools is another posterior."""
    program = (PROGRAMS / "eight_schools.stan").read_text().replace("tau ~ cauchy(0, 5);", "tau ~ normal(0, 2);")
    model = grhmc.from_stan(program, read_posterior_data("eight_schools"))
    result = grhmc.sample(model, seed=2, progress_bar=False)
    assert "tau" in {discrepancy.parameter for discrepancy in large_discrepancies("eight_schools", result)}
