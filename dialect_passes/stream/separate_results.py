"""`serenity-separate-results`: no dispatch writes over what it still reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.pass_base import Pass
from serenity_mlir.dialect_passes.stream.placed_results import overwriting, separate
from serenity_mlir.dialect_passes.stream.regions import regions


@dataclass(frozen=True)
class SeparateResultsPass(Pass[int]):
    """Gives results that IREE placed over another operand of their dispatch buffers of their own.

    IREE lets a dispatch write right into the tensor that its result is inserted into, also where the
    dispatch reads that tensor elsewhere: what one workgroup has written, another may read. Belongs after
    IREE's async pipeline, which places results.
    """

    name: ClassVar[str] = "serenity-separate-results"

    def apply(self, module: ir.Operation) -> int:
        """Separate the results of every such dispatch, with copies to where they were; returns how many."""
        found = [op for region in regions(module) for op in overwriting(region.op)]
        for op in found:
            separate(op)
            op.erase()
        return len(found)
