"""Nothing that is read back runs code, names do not become markup, and files stay in the folder a user names."""

from __future__ import annotations

import io
import pickle
import re
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
import xarray

import grhmc
import synthetic_runs
from grhmc.comparison.run import compare_results
from grhmc.diagnosis import Finding, record_diagnosis
from grhmc.models.variables import Variable
from grhmc.paper.cache import cached
from grhmc.results import build_datatree
from grhmc.results.checkpoint import CheckpointError, load_checkpoint, save_checkpoint

SOURCES = Path(grhmc.__file__).parent
EVIL = "<script>alert(1)</script>"
EVIL_NAME = "<b onmouseover=alert(1)>"


class Bomb:
    """Its unpickling leaves a trace."""

    exploded = False

    def __reduce__(self):
        return (_explode, ())


def _explode() -> None:
    Bomb.exploded = True


def write_pickled_array(path: Path) -> None:
    """A checkpoint as a forger would write it: an array of objects, pickled."""
    save_checkpoint(path, {"innocent": np.zeros(1)}, {})
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.array([Bomb()], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("arrays/bomb.npy", buffer.getvalue())


def test_no_module_that_reads_or_writes_files_knows_pickles() -> None:
    suspicious = re.compile(
        r"^\s*(import|from)\s+(pickle|cloudpickle|marshal|shelve|dill)\b|allow_pickle=True|(?<![.\w])eval\(|pickle\.load"
    )
    found = [
        f"{path.relative_to(SOURCES)}: {line.strip()}"
        for path in SOURCES.rglob("*.py")
        if "models" not in path.parts  # a model can be pickled, to go to another process: no file is read there
        and path.name != "_kernel_cache.py"  # what it reads is machine code, in a folder of the user's own or installed
        for line in path.read_text("utf-8").splitlines()
        if suspicious.search(line)
    ]
    assert found == []


def test_a_checkpoint_with_a_pickle_is_rejected_and_not_run(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    write_pickled_array(path)
    with pytest.raises(CheckpointError, match="damaged"):
        load_checkpoint(path)
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(CheckpointError, match="not a grhmc checkpoint"):
        load_checkpoint(path)
    assert not Bomb.exploded


def test_a_cached_figure_with_a_pickle_is_computed_again(tmp_path: Path) -> None:
    path = tmp_path / "figure.npz"
    write_pickled_array(path)
    arrays = cached(path, lambda: {"x": np.ones(2)})
    assert list(arrays) == ["x"]
    assert not Bomb.exploded


def test_names_in_a_checkpoint_do_not_become_paths(tmp_path: Path) -> None:
    folder = tmp_path / "inner"
    folder.mkdir()
    save_checkpoint(folder / "run.npz", {"../../outside": np.ones(1), "/absolute": np.ones(1)}, {})
    loaded = load_checkpoint(folder / "run.npz").arrays
    assert set(loaded) == {"../../outside", "/absolute"}
    assert [path.name for path in tmp_path.rglob("*")] == ["inner", "run.npz"]


def test_a_diagnosis_read_from_a_file_is_data_only() -> None:
    result = synthetic_runs.make_result(2)
    result.attrs["diagnosis"] = "__import__('os').system('true')"
    with pytest.raises(ValueError, match=r"attribute 'diagnosis' is damaged .*Expecting value"):
        grhmc.diagnose(result)


DAMAGED = [
    "{{{",
    "",
    "null",
    '"text"',
    '{"a": 1}',
    "[1]",
    "[[]]",
    "[{}]",
    "[" * 100_000,
    '[{"code": 1, "severity": "note", "message": ""}]',
    '[{"code": "a", "severity": "worst", "message": ""}]',
    '[{"code": "a", "severity": ["note"], "message": ""}]',
    '[{"code": "a", "severity": "note", "message": "", "value": "x"}]',
    '[{"code": "a", "severity": "note", "message": "", "value": 1' + "0" * 400 + "}]",
    '[{"code": "a", "severity": "note", "message": "", "value": 1' + "0" * 5000 + "}]",
    '[{"code": "a", "severity": "note", "message": "", "variables": "x"}]',
    '[{"code": "a", "severity": "note", "message": "", "variables": {"x": 1}}]',
    '[{"code": "a", "severity": "note", "message": "", "chains": [null]}]',
    '[{"code": "a", "severity": "note", "message": "", "chains": 3}]',
]


@pytest.mark.parametrize("damaged", [*DAMAGED, 3, 2.5, np.ones(2)], ids=range(len(DAMAGED) + 3))
def test_a_damaged_diagnosis_is_a_value_error_that_says_what_to_do(damaged: object) -> None:
    result = synthetic_runs.make_result(2)
    result.attrs["diagnosis"] = damaged
    with pytest.raises(ValueError, match=r"(?s)damaged .*del result\.attrs"):
        grhmc.diagnose(result)


def test_a_run_whose_other_attributes_are_damaged_is_diagnosed() -> None:
    result = synthetic_runs.make_result(2)
    for damaged in ("many", [1], None, np.ones(2), 2.5):
        result.attrs["tune"] = result.attrs["outcomes"] = damaged
        grhmc.diagnose(result)


def test_no_control_sequence_in_a_label_or_a_file_reaches_the_terminal() -> None:
    evil = "\x1b]0;owned\x07\x1b[31m\u202e\x9b2J"
    draws = np.random.default_rng(1).standard_normal((4, 200, 3))
    draws[1] += 5.0
    records = [synthetic_runs.make_record(chain, rows) for chain, rows in enumerate(draws)]
    base = synthetic_runs.make_model()
    axis = [Variable("x", (3,), ("place",))]
    model = grhmc.LogDensity(3, base.address, variables=axis, coords={"place": [evil, "b", "c"]}, keep_alive=[base])
    result = build_datatree(records, model, synthetic_runs.ATTRIBUTES)
    with pytest.warns(grhmc.SamplingWarning) as caught:
        record_diagnosis(result, None)
    shown = [str(caught[0].message), str(grhmc.diagnose(result)), grhmc.summary(result).to_string()]
    assert all("owned" in text for text in shown)
    finding = Finding(evil, "warning", evil, (evil,))
    result.attrs["diagnosis"] = grhmc.Report((Finding("wrong_gradient", "warning", evil), finding)).to_json()
    report = grhmc.diagnose(result)
    shown += [str(report), str(finding), repr(report), repr(finding)]
    assert not [text for text in shown if set(text) & set("\x1b\x07\x9b\u202e")]


def test_names_from_models_are_escaped_in_html() -> None:
    results = {"isg": synthetic_runs.make_result(4, [EVIL_NAME, "b", "c"], n_draws=40)}
    assert "<b on" not in compare_results(results)._repr_html_()
    draws = np.random.default_rng(1).standard_normal((4, 200, 3))
    draws[1] += 5.0
    records = [synthetic_runs.make_record(chain, rows) for chain, rows in enumerate(draws)]
    report = grhmc.diagnose(
        build_datatree(records, synthetic_runs.make_model([EVIL_NAME, "b", "c"]), synthetic_runs.ATTRIBUTES)
    )
    assert EVIL_NAME in str(report)
    assert "<b on" not in report._repr_html_()


def test_names_and_labels_are_escaped_where_xarray_shows_a_result() -> None:
    result = synthetic_runs.make_result(2, [EVIL_NAME, "b", "c"], n_draws=40)
    result.attrs["note"] = EVIL
    labelled = result["posterior"].to_dataset().assign_coords({EVIL_NAME + " axis": [EVIL]})
    shown = xarray.DataTree(labelled, children={"whole": result})._repr_html_() + labelled._repr_html_()
    assert "script&gt;" in shown
    assert "<script>alert" not in shown
    assert "<b on" not in shown


def test_what_failed_and_what_is_in_doubt_is_escaped_in_a_comparison() -> None:
    result = synthetic_runs.make_result(4, ["a", "b", "c"], n_draws=40)
    result.attrs["diagnosis"] = grhmc.Report((Finding(EVIL, "warning", EVIL),)).to_json()
    page = compare_results({"isg": result, EVIL: result}, failures={EVIL: EVIL})._repr_html_()
    assert "script&gt;" in page
    assert "<script>" not in page


def test_a_terminal_is_shown_neither_markup_nor_control_characters() -> None:
    result = synthetic_runs.make_result(4, ["[red]", "b", "c"], n_draws=40)
    comparison = compare_results({"isg": result}, failures={"geo": "a\x1b[2Jb [bold]c"})
    shown = str(comparison)
    assert "[red]" in shown
    assert "[bold]c" in shown
    assert "\x1b" not in shown


def test_names_in_figures_are_not_taken_for_mathematics() -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'grhmc[plot]'")
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from grhmc import plotting

    result = synthetic_runs.make_result(2, ["$\\frac", "$a$", "c"], n_draws=40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for figure in (
            plotting.plot_trace_with_events(result),
            plotting.plot_scale_history(result),
            plotting.plot_crossing_times(result).get_figure(root=True),
            plotting.plot_ess_comparison(compare_results({"isg": result})),
        ):
            assert figure is not None
            figure.savefig(io.BytesIO())
            pyplot.close(figure)


def test_names_from_data_are_escaped_in_a_report_page() -> None:
    from grhmc.paper.document import Bullets, Grid, Heading, Paragraph, to_html

    page = to_html(
        [Heading(EVIL, 1), Paragraph(EVIL), Bullets((EVIL,)), Grid(columns=(EVIL,), rows=((EVIL,),), n_labels=1)]
    )
    assert "<script>" not in page
