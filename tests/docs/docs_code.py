"""The code blocks of a document, in order, and what is to be done with each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

_MARK = re.compile(r"<!--\s*not run:\s*(.+?)\s*-->", re.DOTALL)
_TITLE = re.compile(r'title="([^"]+)"')
RUN = ("python", "sh")
PRINTS = "prints"
"""The title of a block of text whose lines the block before it prints."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code.

    Attributes:
        line: Where it begins in its document.
        language: As written after the fence; empty where nothing is.
        title: The file that it is the content of, `prints`, or empty.
        code: Its text.
        not_run: Why it is not run; empty where it is.
    """

    line: int
    language: str
    title: str
    code: str
    not_run: str


def blocks(path: Path) -> list[Block]:
    """All blocks of a document, indented ones too."""
    return list(_blocks(path.read_text("utf-8")))


def _blocks(text: str) -> Iterator[Block]:
    mark = ""
    for token in MarkdownIt().parse(text):
        if token.type == "html_block":
            found = _MARK.search(token.content)
            mark = found[1] if found else ""
        elif token.type in ("fence", "code_block"):
            title = _TITLE.search(token.info)
            language = token.info.split()[0] if token.info.split() else ""
            line = (token.map or [0])[0] + 1
            yield Block(line, language, title[1] if title else "", token.content, mark)
            mark = ""
        elif token.level == 0:
            mark = ""
