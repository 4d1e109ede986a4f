"""Progress: a table on a terminal, lines in a log, nothing if not wanted."""

import dataclasses
import io
import math
import sys
import types

import pytest
from rich.console import Console

from grhmc._terminal import format_count
from grhmc.run import progress, recent_rate
from grhmc.run.chain_snapshot import ChainSnapshot
from grhmc.run.progress import (
    format_seconds,
    progress_table,
    progress_view,
    summary_line,
)
from grhmc.run.standing import Standing

SNAPSHOT = ChainSnapshot(
    chain=0,
    stage="window 2",
    warmup_done=500,
    warmup_total=1000,
    draws_done=0,
    draws_total=1000,
    n_gradients=12_345,
    seconds=2.0,
    is_discrete=False,
    event_rate=0.3123,
    step_size=0.8123,
    rejected_fraction=0.0213,
    n_diverging=0,
    finished=False,
)


DONE = {"warmup_done": 1000, "draws_done": 1000, "stage": "sampling", "finished": True}


def snapshots(n_chains: int = 4, **changes) -> list[ChainSnapshot]:
    return [dataclasses.replace(SNAPSHOT, chain=chain, **changes) for chain in range(n_chains)]


def console(*, terminal: bool, width: int = 80, height: int = 25) -> Console:
    return Console(
        file=io.StringIO(),
        force_terminal=terminal,
        width=width,
        height=height,
        color_system=None,
        force_jupyter=False,
    )


def written(to: Console) -> str:
    assert isinstance(to.file, io.StringIO)
    return to.file.getvalue()


def test_the_table_shows_every_chain_and_fits_a_narrow_terminal():
    terminal = console(terminal=True)
    terminal.print(progress_table(snapshots(), 10.0, room=20, width=80))
    lines = written(terminal).splitlines()
    assert lines[0].split() == [
        "chain", "progress", "draws", "grad/s", "diverging", "stage", "λ", "step", "rejected",
    ]  # fmt: skip
    for word in ("0/1000", "6.17k", "window 2", "0.31", "0.81", "2.1%"):
        assert all(word in line for line in lines[1:5])
    assert lines[5].split() == ["all", lines[5].split()[1], "0/4000", "4.94k", "0"]
    assert "10.0 s, about 30.0 s left" in lines[6]
    assert "…" not in written(terminal)


def test_on_a_very_narrow_terminal_columns_are_left_out_rather_than_cut():
    terminal = console(terminal=True, width=50)
    terminal.print(progress_table(snapshots(), 10.0, room=20, width=50))
    assert "0/1000" in written(terminal)
    assert "…" not in written(terminal)


def test_a_terminal_too_low_for_all_chains_shows_those_that_still_run():
    chains = snapshots(30)
    chains[:20] = [dataclasses.replace(chain, finished=True) for chain in chains[:20]]
    terminal = console(terminal=True)
    terminal.print(progress_table(chains, 10.0, room=5))
    lines = written(terminal).splitlines()
    assert [int(line.split()[0]) for line in lines[1:6]] == [20, 21, 22, 23, 24]
    assert lines[6].split()[0] == "all"
    assert "20 of 30 chains finished, 5 shown" in lines[7]


def test_a_live_table_is_never_taller_than_the_terminal():
    for height in (4, 8, 20):
        terminal = console(terminal=True, height=height)
        with progress_view(True, terminal) as view:
            view.update(snapshots(30))
        rows = dict.fromkeys(line.split()[0] for line in written(terminal).splitlines() if " 0/" in line)
        assert list(rows) == [*map(str, range(max(0, height - 6))), "all"]


def test_only_the_continuous_process_has_an_event_rate():
    terminal = console(terminal=True, width=100)
    terminal.print(progress_table(snapshots(is_discrete=True, event_rate=None), 10.0, room=20, width=100))
    heading, first = written(terminal).splitlines()[:2]
    assert "λ" not in heading
    assert "500/1000" in first  # of the warm-up
    assert "0/1000" in first


def test_what_was_not_tried_yet_has_no_share_of_rejections():
    terminal = console(terminal=True)
    terminal.print(progress_table(snapshots(1, rejected_fraction=None), 10.0, room=20))
    row = written(terminal).splitlines()[1]
    assert row.split()[-1] == "–"


def test_one_chain_needs_no_total():
    terminal = console(terminal=True)
    terminal.print(progress_table(snapshots(1), 10.0, room=20))
    assert "all" not in written(terminal)


def test_time_left_counts_what_finished_chains_will_not_do():
    half = dataclasses.replace(SNAPSHOT, warmup_done=1000, draws_done=0)
    ended_early = dataclasses.replace(SNAPSHOT, chain=1, warmup_done=400, finished=True)
    assert "about 10.0 s left" in summary_line([half, ended_early], 14.0)


def test_time_left_is_by_the_recent_rate():
    """A warm-up of ten draws a second for a minute, then a hundred a second."""
    rate = recent_rate.RecentRate()
    for second in range(61):
        rate.observe(float(second), 10 * second)
    assert rate.per_second(60.0, 600) == pytest.approx(10.0)
    for second in range(61, 81):
        rate.observe(float(second), 600 + 100 * (second - 60))
    assert rate.per_second(80.0, 2600) == pytest.approx(100.0)
    half = dataclasses.replace(SNAPSHOT, warmup_done=1000, draws_done=0)
    assert "about 10.0 s left" in summary_line([half], 60.0, 100.0)


def test_a_pause_does_not_make_the_time_left_endless():
    rate = recent_rate.RecentRate()
    rate.observe(0.0, 0)
    assert rate.per_second(0.0, 0) == 0.0
    for second in range(1, 100):
        rate.observe(float(second), 50)
    assert rate.per_second(100.0, 50) == pytest.approx(0.5)


def test_a_live_table_ends_with_the_last_state():
    terminal = console(terminal=True)
    with progress_view(True, terminal) as view:
        view.update(snapshots(2))
        view.update(snapshots(2, **DONE))
    assert "2000/2000" in written(terminal)


def test_a_pipe_gets_one_line_at_the_end_of_a_short_run():
    pipe = console(terminal=False)
    with progress_view(True, pipe) as view:
        for _ in range(100):
            view.update(snapshots())
    lines = written(pipe).splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("grhmc: 4 chains (0 finished, window 2), 0/4000 draws after 2000/4000 of warm-up")
    assert "\x1b" not in lines[0]


def test_a_pipe_gets_a_line_every_few_seconds_of_a_long_run(monkeypatch):
    now = 0.0
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now)
    pipe = console(terminal=False)
    with progress_view(True, pipe) as view:
        for _ in range(80):
            now += 0.25
            view.update(snapshots())
    assert len(written(pipe).splitlines()) == 4 + 1


def test_the_final_line_is_written_even_if_the_run_fails():
    pipe = console(terminal=False)

    def fail():
        with progress_view(True, pipe) as view:
            view.update(snapshots(1))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert "500/1000 of warm-up" in written(pipe)


def test_a_dumb_terminal_gets_lines(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    terminal = console(terminal=True)
    with progress_view(True, terminal) as view:
        view.update(snapshots(1))
    assert written(terminal).startswith("grhmc: 1 chain (")


@pytest.mark.parametrize("enabled", [True, False])
def test_nothing_is_shown_without_updates_or_unless_enabled(enabled, capfd):
    with progress_view(enabled) as view:
        if not enabled:
            view.update(snapshots(1))
    assert capfd.readouterr() == ("", "")


def test_progress_goes_to_standard_error(capfd):
    with progress_view(True) as view:
        view.update(snapshots(1, **DONE))
    out, err = capfd.readouterr()
    assert out == ""
    assert "1 chain (finished), 1000/1000 draws after 1000/1000 of warm-up" in err


def test_a_long_wait_for_the_first_draw_is_explained():
    assert "the first run on a machine compiles" in summary_line(snapshots(warmup_done=0), 5.0)
    assert "compiles" not in summary_line(snapshots(warmup_done=0), 1.0)
    assert "left" not in summary_line(snapshots(finished=True), 5.0)


def test_a_chain_that_has_not_started_has_no_speed():
    line = summary_line(snapshots(n_gradients=0, seconds=0.0, warmup_done=0), 0.0)
    assert "0 gradients, 0/s" in line


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (7, "7"), (999, "999"), (999.9, "1k"), (12_345, "12.3k"), (4.2e6, "4.2M"),
     (1e9, "1G"), (3e15, "3e+03T")],
)  # fmt: skip
def test_counts_are_short(count, text):
    assert format_count(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (59.94, "59.9 s"), (60, "1 min 00 s"), (245.3, "4 min 05 s"),
     (7800, "2 h 10 min")],
)  # fmt: skip
def test_times_are_readable(seconds, text):
    assert format_seconds(seconds) == text


def test_both_views_say_why_a_chain_is_dear():
    dear = [*snapshots(2), *snapshots(2, hint="its log density is noisy")]
    terminal = console(terminal=True, width=120)
    terminal.print(progress_table(dear, 10.0, room=20, width=120))
    assert written(terminal).count("its log density is noisy") == 1
    assert summary_line(dear, 10.0).count("its log density is noisy") == 1
    assert "noisy" not in summary_line(snapshots(), 10.0)


def jupyter(monkeypatch) -> list[tuple[str, str]]:
    """A notebook without widgets: what it is asked to show, and to show instead."""
    shown: list[tuple[str, str]] = []

    class Handle:
        def update(self, html):
            shown.append(("update", html))

    def display(html, display_id):
        assert display_id
        shown.append(("display", html))
        return Handle()

    names = {
        "IPython": {},
        "IPython.core": {},
        "IPython.core.getipython": {"get_ipython": object},
        "IPython.display": {"HTML": str, "display": display},
    }
    for name, members in names.items():
        module = types.ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
    return shown


def test_a_notebook_shows_one_table_that_replaces_itself(monkeypatch):
    shown = jupyter(monkeypatch)
    monkeypatch.setattr("grhmc.run.progress._COST", math.inf)
    console = Console(file=io.StringIO(), force_jupyter=True)
    with progress_view(True, console) as view:
        view._spacing_seconds = 0.0  # pyright: ignore[reportAttributeAccessIssue]
        view.update(snapshots())
        view.update(snapshots(**DONE))
    assert [kind for kind, _ in shown] == ["display", "update", "update"]
    assert shown[0][1].startswith("<pre")
    assert "500/1000" in shown[0][1]
    assert "1000/1000" in shown[-1][1]


def test_what_takes_long_to_show_is_shown_less_often(monkeypatch):
    shown = jupyter(monkeypatch)
    monkeypatch.setattr("grhmc.run.progress._COST", 1e-9)
    with progress_view(True, Console(file=io.StringIO(), force_jupyter=True)) as view:
        view._spacing_seconds = 0.0  # pyright: ignore[reportAttributeAccessIssue]
        for _ in range(10):
            view.update(snapshots())
    assert len(shown) == 2  # the first, and the last at the end


def test_marimo_shows_it_too(monkeypatch):
    shown: list[str] = []
    marimo = types.ModuleType("marimo")
    output = types.SimpleNamespace(replace=shown.append)
    vars(marimo).update({"running_in_notebook": lambda: True, "output": output, "Html": str})
    monkeypatch.setitem(sys.modules, "marimo", marimo)
    with progress_view(True, Console(file=io.StringIO())) as view:
        view.update(snapshots(**DONE))
    assert "1000/1000" in shown[-1]


def test_what_only_looks_like_a_notebook_gets_lines():
    stream = io.StringIO()
    with progress_view(True, Console(file=stream, force_jupyter=True)) as view:
        view.update(snapshots(**DONE))
    assert stream.getvalue().startswith("grhmc: 4 chains (finished)")


def test_what_rules_stand_at_is_shown_and_the_time_left_goes_by_them():
    chains = snapshots(2, warmup_done=1000, draws_done=200, draws_total=100_000, stage="sampling")
    expected = Standing("ESS 210 of 400 wanted (b[1])", draws=400)
    line = summary_line(chains, 12.0, 20.0, expected)
    assert "12.0 s, about 20.0 s left; ESS 210 of 400 wanted (b[1])" in line
    terminal = console(terminal=True, width=100)
    terminal.print(progress_table(chains, 12.0, room=20, width=100, draws_per_second=20.0, standing=expected))
    assert "ESS 210 of 400 wanted (b[1])" in written(terminal)
    assert "about 20.0 s left" in written(terminal)
    assert "about 5.0 s left" in summary_line(chains, 12.0, 20.0, Standing("ends after 17.0 s", 100_000, 5.0))
    unknown = summary_line(chains, 12.0, 20.0, Standing("ESS and R-hat are known from 100 draws on"))
    assert "left" not in unknown
    assert "at most 5.0 s left" in summary_line(chains, 12.0, 20.0, Standing("", None, 5.0))
