"""`serenity-reveal-offsets`: dispatches that differ by where they read were made one, and may know it now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from serenity_mlir.dialect_passes.flow.interior import box_of
from serenity_mlir.dialect_passes.linalg.slicing import created
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.pass_base import Pass
from serenity_mlir.dialect_passes.tensors.op_kinds import nested_ops

_BARRIER, _MARK = "util.optimization_barrier", "serenity.offset"


@dataclass(frozen=True)
class RevealOffsetsPass(Pass[int]):
    """Makes constants again of the offsets that `serenity-compute-in-stripes` hid from IREE.

    Where an offset is no constant, dispatches that differ by it alone are one executable, called with
    it. Belongs after phase `flow`, in which IREE tells executables apart.
    """

    name: ClassVar[str] = "serenity-reveal-offsets"

    def apply(self, module: ir.Operation) -> int:
        """Reveal every offset; returns how many there were."""
        found = [op for op in nested_ops(module) if op.name == _BARRIER and _MARK in op.attributes]
        for op in found:
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()
        return len(found)


def hide_offsets(taken: ir.Operation, outside: ir.Operation) -> None:
    """Keep the offsets of a `tensor.extract_slice` or `tensor.insert_slice` from IREE.

    Args:
        taken: Has constant sizes; one that has not is left as it is.
        outside: Offsets go right before it; it is the dispatch region that `taken` stands in, or `taken`.
    """
    box = box_of(taken)
    if box is None:
        return
    tensors = list(taken.operands)
    index, offsets, hidden = ir.IndexType.get(), list(box.offsets), []
    for dim, size in enumerate(ir.RankedTensorType(tensors[-1].type).shape):
        if box.sizes[dim] != size:
            at = ir.IntegerAttr.get(index, box.offsets[dim])
            number = created("arith.constant", index, [], {"value": at}, outside)
            hidden.append(created(_BARRIER, index, [number], {_MARK: ir.UnitAttr.get()}, outside))
            offsets[dim] = ir.ShapedType.get_dynamic_size()
    attributes = {name: taken.attributes[name] for name in ("static_sizes", "static_strides")}
    attributes["static_offsets"] = ir.DenseI64ArrayAttr.get(offsets)
    attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([*(1 for _ in tensors), len(hidden), 0, 0])
    made = created(taken.name, taken.results[0].type, [*tensors, *hidden], attributes, taken)
    taken.results[0].replace_all_uses_with(made)
    taken.erase()
