"""The type of options that are a budget: a number, or a share of what the unpruned model takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from serenity_mlir.reform.budgets import Amount, Kind

if TYPE_CHECKING:
    _Base = click.ParamType[Amount]
else:
    _Base = click.ParamType  # of click 8.1 it takes no parameter


class AmountType(_Base):
    """`12.6e6`, or `50%`: of the unpruned model; of bytes also `40KiB`."""

    name = "amount"

    def __init__(self, kind: Kind) -> None:
        self._kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Amount:
        """The amount that `value` says; a usage error if it is no number, negative or not finite."""
        if isinstance(value, Amount):
            return value
        try:
            return Amount.read(str(value), self._kind)
        except ValueError as error:
            self.fail(str(error), param, ctx)
