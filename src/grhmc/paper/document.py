"""A report as a list of blocks, and its two forms: one self-contained HTML page, and Markdown with files beside it."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grhmc.paper.verdicts import Verdict


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 is the title."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Plain text."""

    text: str


@dataclass(frozen=True)
class Bullets:
    """A list of plain texts."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Grid:
    """A table; cells are texts, or verdicts, which are coloured.

    Attributes
    ----------
    columns : tuple of str
    rows : tuple of tuples
        Each as long as `columns`.
    n_labels : int
        The first columns that are labels, set to the left.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str | Verdict, ...], ...]
    n_labels: int = 1


@dataclass(frozen=True)
class Picture:
    """A PNG file and its caption."""

    path: Path
    caption: str


Block = Heading | Paragraph | Bullets | Grid | Picture


def to_markdown(blocks: Sequence[Block], directory: Path) -> str:
    """The report as Markdown; pictures are linked relative to `directory`."""
    parts = []
    for block in blocks:
        match block:
            case Heading():
                parts.append(f"{'#' * block.level} {block.text}")
            case Paragraph():
                parts.append(block.text)
            case Bullets():
                parts.append("\n".join(f"- {item}" for item in block.items))
            case Grid():
                parts.append(_markdown_table(block))
            case Picture():
                parts.append(f"![{block.caption}]({block.path.relative_to(directory).as_posix()})\n\n*{block.caption}*")
    return "\n\n".join(parts) + "\n"


def _markdown_table(grid: Grid) -> str:
    marks = {Verdict.AGREE: "agree", Verdict.DISAGREE: "**disagree**", Verdict.NONE: "–"}
    lines = [
        f"| {' | '.join(grid.columns)} |",
        f"|{'|'.join('---' if k < grid.n_labels else '--:' for k in range(len(grid.columns)))}|",
    ]
    for row in grid.rows:
        shown = [marks[cell] if isinstance(cell, Verdict) else cell.replace("|", "\\|") for cell in row]
        lines.append(f"| {' | '.join(shown)} |")
    return "\n".join(lines)


def to_html(blocks: Sequence[Block]) -> str:
    """The report as one page with style and pictures inside."""
    title = next((block.text for block in blocks if isinstance(block, Heading)), "Report")
    body = "\n".join(_html_block(block) for block in blocks)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _html_block(block: Block) -> str:
    match block:
        case Heading():
            return f"<h{block.level}>{html.escape(block.text)}</h{block.level}>"
        case Paragraph():
            return f"<p>{html.escape(block.text)}</p>"
        case Bullets():
            return "<ul>" + "".join(f"<li>{html.escape(item)}</li>" for item in block.items) + "</ul>"
        case Grid():
            return _html_table(block)
        case Picture():
            data = base64.b64encode(block.path.read_bytes()).decode("ascii")
            caption = html.escape(block.caption)
            return (
                f'<figure><img alt="{caption}" src="data:image/png;base64,{data}">'
                f"<figcaption>{caption}</figcaption></figure>"
            )


def _html_table(grid: Grid) -> str:
    head = "".join(
        f'<th class="{"label" if k < grid.n_labels else "number"}">{html.escape(name)}</th>'
        for k, name in enumerate(grid.columns)
    )
    lines = []
    for row in grid.rows:
        cells = []
        for k, cell in enumerate(row):
            if isinstance(cell, Verdict):
                cells.append(f'<td class="verdict {cell.name.lower()}">{cell.value}</td>')
            else:
                cells.append(f'<td class="{"label" if k < grid.n_labels else "number"}">{html.escape(cell)}</td>')
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'


_STYLE = """
:root { color-scheme: light; }
body { margin: 0; background: #fff; color: #1c1c1c; font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 100rem; margin: 0 auto; padding: 2rem 1.5rem 4rem; }
h1 { font-size: 1.8rem; line-height: 1.2; } h2 { margin-top: 2.5rem; border-bottom: 1px solid #ccc; }
h3 { margin-top: 1.8rem; }
p, li { max-width: 50rem; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.86rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.2rem 0.6rem; white-space: nowrap; }
thead th { border-bottom: 2px solid #888; vertical-align: bottom; white-space: normal; }
tbody tr:nth-child(even) { background: #f5f6f8; }
.label { text-align: left; } .number { text-align: right; } .verdict { text-align: center; }
.agree { color: #14662e; } .disagree { color: #fff; background: #b3261e; font-weight: 600; }
figure { margin: 1.5rem 0; } img { max-width: 100%; height: auto; }
figcaption { color: #555; font-size: 0.9rem; max-width: 50rem; }
"""
