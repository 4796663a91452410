"""`serenity-annotate-liveness`: live bytes written onto the ops, for people reading IR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from serenity_mlir.dialect_passes.diagnostics import remark
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.pass_base import Pass
from serenity_mlir.dialect_passes.stream.alignment import alignment_of
from serenity_mlir.dialect_passes.stream.execution_graph import UnschedulableError, execution_graph
from serenity_mlir.dialect_passes.stream.regions import Region, regions
from serenity_mlir.liveness import live_bytes, live_ranges

LIVE = "serenity.live_bytes"
PEAK = "serenity.peak"
PEAK_OP = "serenity.peak_op"


@dataclass(frozen=True)
class AnnotateLivenessPass(Pass[None]):
    """Writes the transient bytes live at each op of every `stream.async.execute`.

    Order and bytes stay as they are. Each op of a body gets `serenity.live_bytes`, the first
    one at the peak `serenity.peak_op` too, and the region op `serenity.peak`. A region whose
    sizes are no constants gets a remark instead.
    """

    name: ClassVar[str] = "serenity-annotate-liveness"
    alignment: Annotated[int, "bytes; 0 takes the module's own"] = 0

    def apply(self, module: ir.Operation) -> None:
        """Annotate every region of the module."""
        for region in regions(module):
            try:
                self._annotate(region)
            except UnschedulableError as error:
                remark(region.op, f"live bytes are not known: {error}")

    def _annotate(self, region: Region) -> None:
        found = execution_graph(region.op, alignment=self.alignment or alignment_of(region.op))
        order = found.graph.file_order
        live = live_bytes(live_ranges(found.graph, order), len(order))
        kind = ir.IntegerType.get_signless(64, region.op.context)
        for op, size in zip(found.ops, live, strict=True):
            op.attributes[LIVE] = ir.IntegerAttr.get(kind, size)
        peak = max(live, default=0)
        region.op.attributes[PEAK] = ir.IntegerAttr.get(kind, peak)
        if live:
            found.ops[live.index(peak)].attributes[PEAK_OP] = ir.UnitAttr.get(region.op.context)
