"""`serenity-split-concat-conv`: a sum of partial convolutions instead of one of a concatenation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from serenity_mlir.dialect_passes.linalg.rewrite import Refusal, Site, apply_with_remarks
from serenity_mlir.dialect_passes.linalg.splitting import NoSplit, splits
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.pass_base import Pass

PATTERN = "split-concat-conv"


def find(module: ir.Operation) -> Iterator[Site | Refusal]:
    """Convolutions and matrix products that reduce over a concatenation (channel-wise partitioning)."""
    for item in splits(module):
        if isinstance(item, NoSplit):
            if not item.op.channelwise:
                yield Refusal(PATTERN, item.op.op, item.reason)
        elif item.reduces:
            yield Site(PATTERN, item.op.op, item.exact, item.apply)


@dataclass(frozen=True)
class SplitConcatConvPass(Pass[tuple[str, ...]]):
    """Splits convolutions and matrix products over the concatenation that they reduce.

    conv(concat(x_1 .. x_n), w) + b becomes conv(x_n, w_n) accumulating onto .. onto
    conv(x_1, w_1) + b, so that the parts need not be live at once. Sums of floats are
    reassociated; `exact` leaves those alone.
    """

    name: ClassVar[str] = "serenity-split-concat-conv"
    exact: Annotated[bool, "leave alone what changes the order of sums of floats"] = False

    def apply(self, module: ir.Operation) -> tuple[str, ...]:
        """Split all that can be split; returns the keys of what was."""
        return apply_with_remarks(module, find, name=self.name, exact=self.exact)
