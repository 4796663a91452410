"""How sizes and counts are written, and sizes read: one place, so that all tables, plots and pages agree."""

from __future__ import annotations

import re
from fractions import Fraction

_UNITS = {"": 1, "B": 1, "KIB": 1 << 10, "MIB": 1 << 20}


def parse_size(text: str) -> int:
    """The whole bytes that `512`, `512B`, `4KiB` or `1.5MiB` says.

    Raises:
        ValueError: It is none of these.
    """
    found = re.fullmatch(r"(\d[\d_]*(?:\.\d+)?)\s*(B|[KM]iB)?", text.strip(), re.IGNORECASE)
    if found is None:
        raise ValueError(f"{text!r} is no size such as 512, 4KiB or 1MiB")
    return int(Fraction(found[1].replace("_", "")) * _UNITS[(found[2] or "").upper()])


def size_text(size: int) -> str:
    """A size in bytes and in KiB of 1024 bytes: `1,536 bytes (1.5 KiB)`."""
    return f"{counted(size, 'byte')} ({kib_text(size)})"


def kib_text(size: float) -> str:
    """A size in KiB alone, for where there is no room: `1.5 KiB`."""
    return f"{size / 1024:,.1f} KiB"


def counted(number: int, noun: str) -> str:
    """A number of things, named by the singular: `1 buffer`, `2,000 buffers`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
