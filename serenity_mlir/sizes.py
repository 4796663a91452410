"""How sizes are written: the one place, so that every table, plot and page says the same."""

from __future__ import annotations


def size_text(size: int) -> str:
    """A size in bytes and in KiB of 1024 bytes: `1,536 bytes (1.5 KiB)`."""
    return f"{size:,} byte{'' if size == 1 else 's'} ({kib_text(size)})"


def kib_text(size: float) -> str:
    """A size in KiB alone, for where there is no room: `1.5 KiB`."""
    return f"{size / 1024:,.1f} KiB"
