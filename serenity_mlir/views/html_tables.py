"""Tables as HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from serenity_mlir.views.rows import Table


def html_tables(tables: Sequence[Table]) -> str:
    """Tables one after another, each with its title as caption."""
    return "\n".join(map(_table, tables))


def _table(table: Table) -> str:
    columns = range(len(table.headings))
    starts = [f' style="text-align:{"right" if table.is_figures(index) else "left"}"' for index in columns]
    lines = [
        f"<table><caption>{escape(table.title)}</caption>",
        f"<thead>{_row('th', starts, table.headings)}</thead>",
        "<tbody>",
        *(_row("td", starts, row) for row in table.rows),
        "</tbody></table>",
    ]
    return "\n".join(lines)


def _row(tag: str, starts: Sequence[str], cells: Sequence[str]) -> str:
    made = (f"<{tag}{start}>{escape(cell)}</{tag}>" for start, cell in zip(starts, cells, strict=True))
    return f"<tr>{''.join(made)}</tr>"
