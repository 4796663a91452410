"""Results that show themselves as tables: by rich in terminals, as HTML in notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console, ConsoleOptions, RenderResult

    from serenity_mlir.views.rows import Table


class Presented:
    """Gives a result what `rich.print` and notebooks look for, once it has said which tables it shows."""

    __slots__ = ()

    def shown_tables(self) -> Sequence[Table]:
        """What it shows, in order."""
        raise NotImplementedError

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from serenity_mlir.views.rich_tables import WIDEST, rich_table  # noqa: PLC0415  (a result is light)

        for table in self.shown_tables():
            drawn = rich_table(table, options.max_width)
            yield from console.render(drawn, options.update(width=WIDEST))

    def _repr_html_(self) -> str:
        from serenity_mlir.views.html_tables import html_tables  # noqa: PLC0415  (as above)

        return html_tables(self.shown_tables())
