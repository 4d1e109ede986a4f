"""Show the measures of the paper's tables: by tuner its worst coordinate, and all coordinates side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from grhmc.comparison.paper_measures import PaperRow, worst_rows
from grhmc.comparison.tables import LARGEST_TABLE, Part, Shown, count_text, left_out, number_text

_WORST_TITLE = "As in Tran & Kleppe (2024): the worst coordinate of each tuner"
_COORDINATE_TITLE = "By coordinate: ESS per 100 000 evaluations, and S, mean ± SD over trajectories"
_NOTE = (
    "ESS: of the mean, rstan's n_eff, all trajectories together; ± its standard error, from their spread. Evaluations "
    "of the gradient: without the one per draw by which the continuous process knows the log density between steps."
)


def paper_parts(rows: Sequence[PaperRow]) -> list[Part]:
    """Both tables, with what has to be known to read them."""
    worst = worst_rows(rows)
    by_tuner = [
        [
            tuner,
            row.coordinate,
            _with_error(row.scale_mean, row.scale_sd),
            _with_error(row.ess, row.ess_error, count_text),
            number_text(row.ess_per_1e5),
            count_text(row.n_evaluations),
            count_text(row.n_tuning),
        ]
        for tuner, row in worst.items()
    ]
    headings = ["tuner", "worst\ncoordinate", "S", "ESS", "per 1e5\nevals.", "evals.\nsampl.", "evals.\ntuning"]
    coordinates = list(dict.fromkeys(row.coordinate for row in rows))
    by_key = {(row.tuner, row.coordinate): row for row in rows}
    by_coordinate = [
        [
            coordinate,
            *(number_text(by_key[tuner, coordinate].ess_per_1e5) for tuner in worst),
            *(_scale(by_key[tuner, coordinate]) for tuner in worst),
        ]
        for coordinate in coordinates[:LARGEST_TABLE]
    ]
    columns = ["coordinate", *(f"ESS\n{tuner}" for tuner in worst), *(f"S\n{tuner}" for tuner in worst)]
    return [
        Shown(_WORST_TITLE, headings, by_tuner),
        _NOTE,
        Shown(_COORDINATE_TITLE, columns, by_coordinate),
        *left_out(len(coordinates), "coordinates"),
    ]


def _scale(row: PaperRow) -> str:
    return _with_error(row.scale_mean, row.scale_sd)


def _with_error(value: float, error: float, text: Callable[[float], str] = number_text) -> str:
    return text(value) if math.isnan(error) else f"{text(value)} ± {text(error)}"
