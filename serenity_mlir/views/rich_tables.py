"""Tables as rich draws them in terminals."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from serenity_mlir.views.rows import Table

if TYPE_CHECKING:
    from rich import table as rich

WIDEST = 1000
"""Columns that a table may take: figures cut short to fit a terminal are worth nothing."""

_GAP, _NARROWEST = 2, 12


def rich_table(shown: Table, width: int) -> rich.Table:
    """The table for a terminal of that many columns: only its columns of text are cut short."""
    from rich import box  # noqa: PLC0415  (rich takes 50 ms to import)
    from rich import table as rich  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = rich.Table(
        title=Text(shown.title, no_wrap=True, overflow="ignore"),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, _GAP - 1, 0, 0),
        pad_edge=False,
        show_edge=False,
    )
    columns = list(zip(shown.headings, *shown.rows, strict=True))
    widest = _text_width(columns, shown.texts, width) if shown.texts else None
    for index, heading in enumerate(shown.headings):
        table.add_column(
            Text(heading),
            justify="right" if shown.is_figures(index) else "left",
            no_wrap=True,
            max_width=widest if index in shown.texts else None,
        )
    for row in shown.rows:
        table.add_row(*map(Text, row))
    return table


def _text_width(columns: Sequence[Sequence[str]], texts: Collection[int], width: int) -> int:
    """What each column of text may take of a terminal's width: what figures leave over."""
    taken = sum(max(map(len, cells)) for index, cells in enumerate(columns) if index not in texts)
    left = width - taken - _GAP * (len(columns) - 1)
    return max(left // len(texts), _NARROWEST)
