"""README.md as a package index shows it: with whole addresses where it names files of the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_PICTURES = "https://raw.githubusercontent.com/grhmc/grhmc/main/"
_FILES = "https://github.com/grhmc/grhmc/blob/main/"

_RELATIVE = re.compile(r"(!?)(\[[^\]]*\]\()(?![a-z]+:|#)([^)]+\))")


def with_addresses(text: str) -> str:
    """The text with every relative link and picture made absolute."""
    return _RELATIVE.sub(lambda found: f"{found[1]}{found[2]}{_PICTURES if found[1] else _FILES}{found[3]}", text)


class ReadmeHook(MetadataHookInterface):
    """Gives the build its readme."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set `readme`."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": with_addresses(text)}
