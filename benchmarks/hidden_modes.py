"""How often a run misses a mode without a word: posteriors whose other mode is hard to find, twenty seeds each.

Run with `python benchmarks/hidden_modes.py` (`--seeds 20`, `--targets NAME ...`; `--peer` for nutpie as well, if it is
installed). A run is *wrong* if a mean or a standard deviation is off by more than a quarter of the true standard
deviation, *silent* if nothing warned of it: for grhmc a SamplingWarning; for the peer, which has no warnings of its
own, R-hat above 1.05, fewer than 100 effective draws per chain or a divergence, as its users check.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from arviz_stats.base import array_stats

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from mode_targets import TARGETS, count, run_grhmc


def run_nutpie(target, seed):
    """The same of nutpie, started at uniform(−2, 2)."""
    import nutpie
    from peers.nutpie_model import PointerModel

    model = target.model
    starts = np.random.default_rng(seed).uniform(-2.0, 2.0, (4, model.dim))
    trace = nutpie.sample(
        PointerModel(model.address, model.user_data, model.dim, starts),
        draws=1000, tune=1000, chains=4, cores=1, seed=seed, progress_bar=False,
    )  # fmt: skip
    draws = trace["posterior"]["x"].transpose("chain", "draw", ...).to_numpy()
    columns = [draws[..., j] for j in range(model.dim)]
    codes = []
    if max(float(array_stats.rhat(column)) for column in columns) > 1.05:
        codes.append("r_hat")
    sizes = [
        float(array_stats.ess(column, method=method, prob=(0.05, 0.95) if method == "tail" else None))
        for column in columns
        for method in ("bulk", "tail")
    ]
    if min(sizes) < 400.0:
        codes.append("ess")
    if bool(trace["sample_stats"]["diverging"].any()):
        codes.append("diverging")
    return draws, codes, 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--targets", nargs="*", default=list(TARGETS))
    parser.add_argument("--peer", action="store_true")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.seeds)
    print(f"{'target':32} {'sampler':8} silent warned right   gradients of warm-up, median   warnings")
    for name in options.targets:
        target = TARGETS[name]()
        for sampler, run in [("grhmc", run_grhmc), ("nutpie", run_nutpie)][: 2 if options.peer else 1]:
            found = count(target, run, seeds)
            print(
                f"{name:32} {sampler:8} {found.silent:6} {found.warned:6} {found.right:5} "
                f"{int(np.median(found.gradients)):8}   {found.codes}",
                flush=True,
            )


if __name__ == "__main__":
    main()
