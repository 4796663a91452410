"""`serenity-split-concat-depthwise-conv`: depthwise convolutions of the parts of a concatenation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from serenity_mlir.dialect_passes.linalg.rewrite import Refusal, Site, apply_with_remarks
from serenity_mlir.dialect_passes.linalg.splitting import NoSplit, splits
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.pass_base import Pass

PATTERN = "split-concat-depthwise-conv"


def find(module: ir.Operation) -> Iterator[Site | Refusal]:
    """Ops whose channels are apart: depthwise and grouped convolutions, pools (kernel-wise partitioning)."""
    for item in splits(module):
        if isinstance(item, NoSplit):
            if item.op.channelwise:
                yield Refusal(PATTERN, item.op.op, item.reason)
        elif not item.reduces:
            yield Site(PATTERN, item.op.op, item.exact, item.apply)


@dataclass(frozen=True)
class SplitConcatDepthwiseConvPass(Pass[tuple[str, ...]]):
    """Splits depthwise and grouped convolutions and pools of a concatenation of channels.

    dwconv(concat(x_1 .. x_n), w) becomes concat(dwconv(x_1, w_1) .. dwconv(x_n, w_n)), a
    grouped convolution the same where no group gets channels of two parts. Results are the
    same to the bit.
    """

    name: ClassVar[str] = "serenity-split-concat-depthwise-conv"

    def apply(self, module: ir.Operation) -> tuple[str, ...]:
        """Split all that can be split; returns the keys of what was."""
        return apply_with_remarks(module, find, name=self.name)
