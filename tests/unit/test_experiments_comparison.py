"""Published numbers, verdicts, effective sample sizes and the report's two forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from arviz_stats.base import array_stats

from grhmc.comparison.effective_size import ess_per_trajectory, monitor_ess
from grhmc.models.analytic import gaussian
from grhmc.paper.cells import METHODS
from grhmc.paper.document import Bullets, Grid, Heading, Paragraph, Picture, to_html, to_markdown
from grhmc.paper.published import published_rows
from grhmc.paper.run_cell import exact_quantile
from grhmc.paper.targets import TARGETS
from grhmc.paper.verdicts import Row, Verdict


def test_every_target_and_method_has_its_two_published_rows():
    rows = published_rows()
    assert len(rows) == 66
    for target in (one for one in TARGETS.values() if not one.on_request):
        coordinates = ("min", "max") if target.reports_extremes else ("1", "2")
        for method in METHODS:
            for coordinate in coordinates:
                assert rows[target.name, method, coordinate].table == target.table


def test_published_columns_fit_together():
    for row in published_rows().values():
        # One of the published rows, F2 by VARI, is rounded to a single digit.
        assert row.ess_per_1e5_evals == pytest.approx(1e5 * row.ess / row.n_ode, abs=0.55)


def row(**changes) -> Row:
    """G1, ISG, coordinate 1, exactly as published."""
    published = published_rows()["G1", "isg", "1"]
    values = {
        "table": 1,
        "target": "G1",
        "method": "isg",
        "coordinate": "1",
        "name": "x[0]",
        "ess": published.ess,
        "ess_error": 0.02 * published.ess,
        "s_mean": published.s_mean,
        "s_sd": published.s_sd,
        "n_evaluations": float(published.n_ode),
        "published": published,
        "counts_comparable": True,
    }
    return Row(**{**values, **changes})


def test_the_published_numbers_agree_with_themselves():
    same = row()
    assert (same.s_verdict, same.ess_verdict, same.count_verdict) == (Verdict.AGREE,) * 3
    assert same.s_difference == same.ess_difference == 0.0


def test_a_scale_agrees_within_four_standard_errors_of_the_difference():
    error = math.hypot(0.057, 0.057) / math.sqrt(10)
    assert row(s_mean=2.02 + 4 * error).s_verdict == Verdict.AGREE
    assert row(s_mean=2.02 + 4 * error + 0.0051).s_verdict == Verdict.DISAGREE
    assert row(s_mean=2.02 + 3 * error).s_difference == pytest.approx(3.0)


def test_an_effective_size_agrees_within_fifteen_percent():
    ess = published_rows()["G1", "isg", "1"].ess
    assert row(ess=1.149 * ess).ess_verdict == Verdict.AGREE
    assert row(ess=1.151 * ess).ess_verdict == Verdict.DISAGREE
    assert row(ess=0.849 * ess).ess_verdict == Verdict.DISAGREE


def test_f2_gets_no_verdict_on_its_effective_size():
    published = published_rows()["F2", "isg", "1"]
    assert row(target="F2", published=published).ess_verdict == Verdict.NONE


def test_evaluations_are_judged_only_for_the_published_integrator_and_where_s_agrees():
    assert row(n_evaluations=1.2 * 20195636).count_verdict == Verdict.DISAGREE
    assert row(n_evaluations=1.2 * 20195636, counts_comparable=False).count_verdict == Verdict.NONE
    assert row(n_evaluations=1.2 * 20195636, s_mean=3.0).count_verdict == Verdict.NONE


def autoregression(coefficient: float, chains: int, n: int, seed: int) -> np.ndarray:
    """Stationary AR(1) chains with variance 1, shape (chains, n, 1)."""
    rng = np.random.default_rng(seed)
    noise = math.sqrt(1 - coefficient**2) * rng.standard_normal((chains, n))
    draws = np.empty((chains, n))
    draws[:, 0] = rng.standard_normal(chains)
    for k in range(1, n):
        draws[:, k] = coefficient * draws[:, k - 1] + noise[:, k]
    return draws[..., np.newaxis]


@pytest.mark.statistical
@pytest.mark.parametrize("coefficient", [0.9, 0.5, 0.0, -0.3])
def test_effective_size_of_an_autoregression_is_the_known_one(coefficient):
    # n (1 − φ) / (1 + φ), also for φ < 0, where it exceeds the number of draws.
    chains, n = 10, 20_000
    exact = chains * n * (1 - coefficient) / (1 + coefficient)
    draws = autoregression(coefficient, chains, n, seed=11)
    # Its own standard error is about 2 % here; 0.08 is four of them.
    assert monitor_ess(draws)[0] == pytest.approx(exact, rel=0.08)
    assert ess_per_trajectory(draws).sum() == pytest.approx(exact, rel=0.08)
    # Negative control: the estimate of another autoregression is not accepted.
    other = autoregression(coefficient + 0.08, chains, n, seed=11)
    assert monitor_ess(other)[0] != pytest.approx(exact, rel=0.08)


def test_splitting_chains_makes_no_difference_at_this_length():
    draws = autoregression(0.7, 10, 20_000, seed=3)
    split = np.asarray(array_stats.ess(draws[:, :, 0], method="mean")).item()
    assert monitor_ess(draws)[0] == pytest.approx(split, rel=0.02)


def test_chains_that_disagree_have_few_effective_draws():
    draws = autoregression(0.0, 10, 1000, seed=1) + np.arange(10.0)[:, np.newaxis, np.newaxis]
    assert monitor_ess(draws)[0] < 50


def test_exact_quantiles_of_a_normal():
    target = gaussian([1.0, -2.0], [[4.0, 0.5], [0.5, 9.0]])
    assert exact_quantile(target, 0, 0.95) == pytest.approx(1.0 + 2.0 * 1.6448536269514722)
    assert exact_quantile(target, 1, 0.5) == pytest.approx(-2.0)


def test_the_report_is_one_page_without_references_and_escapes_text(tmp_path):
    picture = tmp_path / "figures" / "dot.png"
    picture.parent.mkdir()
    picture.write_bytes(b"\x89PNG\r\n")
    blocks = [
        Heading("A & B", 1),
        Paragraph("p < 1"),
        Bullets(("one", "two")),
        Grid(("what", "", "x|y"), (("q | r", Verdict.DISAGREE, "1"),)),
        Picture(picture, "a dot"),
    ]
    page = to_html(blocks)
    assert "<title>A &amp; B</title>" in page
    assert "p &lt; 1" in page
    assert 'class="verdict disagree">disagree<' in page
    assert "data:image/png;base64,iVBORw0K" in page
    assert "http" not in page
    markdown = to_markdown(blocks, tmp_path)
    assert "# A & B\n\np < 1\n\n- one\n- two\n" in markdown
    assert "| q \\| r | **disagree** | 1 |" in markdown
    assert "![a dot](figures/dot.png)" in markdown
