"""How sizes and counts are written: the one place, so that every table, plot and page says the same."""

from __future__ import annotations


def size_text(size: int) -> str:
    """A size in bytes and in KiB of 1024 bytes: `1,536 bytes (1.5 KiB)`."""
    return f"{counted(size, 'byte')} ({kib_text(size)})"


def kib_text(size: float) -> str:
    """A size in KiB alone, for where there is no room: `1.5 KiB`."""
    return f"{size / 1024:,.1f} KiB"


def counted(number: int, noun: str) -> str:
    """A number of things, named by the singular: `1 buffer`, `2,000 buffers`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
