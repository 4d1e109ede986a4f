"""Leave blocks out of a Stan program's text."""

from __future__ import annotations

import re
from collections.abc import Collection

_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"[^"\n]*"|[{}]|[A-Za-z_][\w]*', re.DOTALL)
_TWO_WORDS = ("generated", "transformed")


def without_blocks(code: str, names: Collection[str]) -> str:
    """The program without some of its blocks.

    Parameters
    ----------
    code : str
        A valid Stan program.
    names : collection of str
        Such as ``"generated quantities"``. A block that is not there, or in an included file, is no error.
    """
    kept, depth, start, words = [], 0, 0, []
    block_start, copied = 0, 0
    for token in _TOKEN.finditer(code):
        text = token[0]
        if text.startswith(("//", "/*", '"')):
            continue
        if text == "{":
            if depth == 0:
                start = block_start
            depth += 1
        elif text == "}":
            depth -= 1
            if depth == 0:
                if " ".join(words) in names:
                    kept.append(code[copied:start])
                    copied = token.end()
                words = []
        elif depth == 0:
            if not (len(words) == 1 and words[0] in _TWO_WORDS):
                words, block_start = [], token.start()
            words.append(text)
    return "".join([*kept, code[copied:]])
