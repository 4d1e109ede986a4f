"""What the figures share: colours, which parameters they show, and how they write names and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

    from grhmc.results.summaries import ParameterDraws

BLUE, ORANGE, RED, GREY = "#33658a", "#d9822b", "#c0392b", "#8c8c8c"


def pyplot_or_raise() -> Any:
    """Matplotlib's pyplot; an ImportError that says how to install it."""
    try:
        import matplotlib.pyplot as pyplot
    except ImportError as error:
        raise ImportError(
            "plots need matplotlib, which is not installed; install it with: pip install 'grhmc[plot]'"
        ) from error
    return pyplot


def choose(parameters: Sequence[ParameterDraws], wanted: Sequence[str] | None, at_most: int) -> list[ParameterDraws]:
    """The parameters asked for, or the first `at_most`."""
    if wanted is None:
        return list(parameters[:at_most])
    by_label = {parameter.label: parameter for parameter in parameters}
    return [by_label[name] for name in check_names("parameters", wanted, list(by_label))]


def choose_names(tuning: xarray.Dataset, wanted: Sequence[str] | None, at_most: int) -> list[str]:
    """The unconstrained coordinates asked for, or the first `at_most`."""
    names = tuning["unconstrained"].values.tolist()
    return names[:at_most] if wanted is None else check_names("coordinates", wanted, names)


def check_names(argument: str, wanted: Sequence[str], known: Sequence[str]) -> list[str]:
    """The names asked for; a ValueError if one is not known, or there are none."""
    wanted = [wanted] if isinstance(wanted, str) else list(wanted)
    unknown = [name for name in wanted if name not in known]
    if unknown or not wanted:
        some = ", ".join(map(repr, known[:10])) + (", ..." if len(known) > 10 else "")
        raise ValueError(f"{argument} must name some of {some}; got {', '.join(map(repr, unknown)) or 'none'}")
    return wanted


def how_many(names: Sequence[str], tuning: xarray.Dataset) -> str:
    """How many of all coordinates are shown, in words; nothing if all are."""
    total = tuning.sizes["unconstrained"]
    return f" ({len(names)} of {total} coordinates)" if len(names) < total else ""


def shorten(name: str, length: int = 24) -> str:
    """A name that fits, cut in the middle to keep its index, and in which matplotlib sees no mathematics."""
    if len(name) > length:
        n_last = length // 2
        name = f"{name[: length - n_last - 1]}…{name[-n_last:]}"
    return name.replace("$", r"\$")


def plain_log_ticks(axis: Any) -> None:
    """Label a logarithmic axis with few, ordinary numbers: they also draw several times faster."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high / low < 200 else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def remove_frame(axis: Axes) -> None:
    """Take away the lines above and on the right."""
    axis.spines[["top", "right"]].set_visible(False)
