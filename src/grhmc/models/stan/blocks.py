"""Blocks of a Stan program's text: leave some out; which data it asks for."""

from __future__ import annotations

import re
from collections.abc import Collection

_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"[^"\n]*"|[{}]|[A-Za-z_][\w]*', re.DOTALL)
_TWO_WORDS = ("generated", "transformed")


def data_names(code: str) -> list[str]:
    """Names that a program's data block declares; of included files nothing is known."""
    others = {"transformed data", "parameters", "transformed parameters", "model", "generated quantities", "functions"}
    only_data = _COMMENT.sub(" ", without_blocks(code, others))
    start = only_data.find("{")
    if start < 0 or only_data[:start].split()[-1:] != ["data"]:
        return []
    declarations = _BRACKETS.sub(" ", only_data[start + 1 : only_data.rfind("}")]).split(";")
    words = [re.findall(r"[A-Za-z]\w*", declaration) for declaration in declarations]
    return [found[-1] for found in words if found]


_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_BRACKETS = re.compile(r"<[^>]*>|\[[^\]]*\]")


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
