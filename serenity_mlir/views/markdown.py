"""Tables as GitHub-flavoured Markdown, for pull requests."""

from __future__ import annotations

from collections.abc import Sequence

from serenity_mlir.views.rows import Table

# What Markdown, or HTML in it, would take for markup.
_ESCAPED = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_[]<>|~#"} | {"\n": " "})


def markdown(tables: Sequence[Table], notes: Sequence[str] = ()) -> str:
    """Tables one after another, each under its title, then notes as a list."""
    parts = [_table(table) for table in tables]
    if notes:
        parts.append("\n".join(f"- {_escaped(note)}" for note in notes))
    return "\n\n".join(parts) + "\n"


def _table(table: Table) -> str:
    lines = [
        f"**{_escaped(table.title)}**",
        "",
        _row([_escaped(heading) for heading in table.headings]),
        _row(["---:" if table.is_figures(index) else "---" for index in range(len(table.headings))]),
    ]
    lines += [_row([_escaped(cell) for cell in row]) for row in table.rows]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    return text.translate(_ESCAPED)
