"""The type of options that are a size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from serenity_mlir.sizes import parse_size

if TYPE_CHECKING:
    _Base = click.ParamType[int]
else:
    _Base = click.ParamType  # of click 8.1 it takes no parameter


class Size(_Base):
    """Bytes: `40000`, `40KiB` or `1MiB`, as `serenity diff --tolerance` takes them."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The bytes that `value` says; a usage error if it is no size, or negative."""
        try:
            return parse_size(str(value))
        except ValueError as error:
            self.fail(f"{error}.", param, ctx)
