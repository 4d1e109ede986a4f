"""The race as a picture: one row a target, under a name that says what it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

NAMES = {
    "eight_schools": "eight schools",
    "kidscore_interaction": "test scores, interaction",
    "arK": "time series, AR(5)",
    "garch11": "volatility, GARCH(1,1)",
    "gauss_mix": "mixture of two normals",
    "gp_poisson": "Gaussian process, 11 counts",
    "G1": "normal, 2-d",
    "G2": "normal, 2-d, sds 3 and 32",
    "G3": "normal, 2-d, correlated",
    "NG1": "Student t, 4 degrees of freedom",
    "NG2": "smiley",
    "NG3": "two modes",
    "F1": "funnel",
    "F2": "funnel, narrow",
    "BLR1": "logistic regression, diabetes",
    "BLR2": "logistic regression, credit",
    "LR25": "logistic regression, simulated",
    "N10": "normal, 10-d",
    "N100": "normal, 100-d",
    "N1000": "normal, 1000-d",
    "N100_ill": "normal, 100-d, many scales",
    "rotated": "normal, 50-d, rotated",
    "equicorrelated_0.9": "normal, all correlations 0.9",
    "equicorrelated_0.999": "normal, all correlations 0.999",
    "autoregressive": "normal, autoregressive",
    "kilpisjarvi_like": "trend over years, not centred",
    "log_earnings_like": "earnings and height, not centred",
    "kidscore_like": "test scores, not centred",
    "three_way": "three-way interaction",
    "latent_gp": "latent Gaussian process, 50 counts",
    "varying_intercepts": "radon, varying intercepts",
    "varying_slopes": "radon, varying slopes",
    "banana": "banana",
    "eight_schools_centred": "eight schools, centred",
    "hidden_markov": "hidden Markov model",
    "funnel_of_ten": "funnel, 10-d, mild",
}

_MARKERS = {
    "Stan": ("o", "#4477aa"),
    "nutpie": ("s", "#ee7733"),
    "WALNUTS": ("v", "#228833"),
    "BlackJAX": ("^", "#aa3377"),
}


def draw(targets: Sequence[str], found: Mapping[str, Mapping[str, float]], ours: str, path: Path) -> None:
    """Draw what each sampler reached on each target; the rows are in the order of how well ours does beside the best.

    Parameters
    ----------
    targets : sequence of str
    found : mapping of sampler to mapping of target to float
        Worst effective sample size per 1000 gradients.
    ours : str
        Which of the samplers is ours.
    path : Path
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    def lead(target: str) -> float:
        rivals = [values[target] for sampler, values in found.items() if sampler != ours and target in values]
        return found[ours].get(target, 0.0) / max(rivals, default=1.0)

    rows = sorted(targets, key=lead, reverse=True)
    figure, axes = pyplot.subplots(figsize=(9.5, 10), layout="constrained")
    for sampler, values in found.items():
        shown = [target for target in rows if values.get(target, 0.0) > 0]
        marker, colour = ("*", "black") if sampler == ours else _MARKERS[sampler]
        axes.plot(
            [values[target] for target in shown],
            [rows.index(target) for target in shown],
            marker,
            color=colour,
            markersize=12 if sampler == ours else 6,
            label="grhmc, defaults" if sampler == ours else f"{sampler}, its best configuration",
        )
    axes.set_yticks(range(len(rows)), [f"{NAMES.get(target, target)}  [{target}]" for target in rows], fontsize=9)
    for row, target in enumerate(rows):
        axes.annotate(f"{lead(target):.2f}×", (1.01, row), xycoords=("axes fraction", "data"), va="center", fontsize=9)
    axes.annotate("ours over\nthe best", (1.01, -1.1), xycoords=("axes fraction", "data"), fontsize=8, va="bottom")
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel("effective draws of the worst parameter\nper 1000 gradients, warm-up counted (median of seeds)")
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    figure.savefig(path, dpi=110)
