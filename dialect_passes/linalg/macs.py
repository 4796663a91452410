"""Multiply-accumulates of a module: what a rewrite must not add to."""

from __future__ import annotations

from math import prod

from serenity_mlir.dialect_passes.linalg.structured import Structured, structured
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.tensors.op_kinds import nested_ops

_PRODUCTS = frozenset({"arith.mulf", "arith.muli"})


def macs(op: ir.Operation) -> int:
    """Multiply-accumulates of a convolution or matrix product; 0 of any other op, or of no constant size."""
    item = structured(op)
    if item is None or not any(map(item.is_reduction, range(item.loops))):
        return 0
    if not any(inner.name in _PRODUCTS for inner in nested_ops(op)):
        return 0
    extents = [_extent(item, loop) for loop in range(item.loops)]
    return prod(size for size in extents if size is not None) if None not in extents else 0


def total_macs(module: ir.Operation) -> int:
    """Multiply-accumulates of all convolutions and matrix products of a module before code generation."""
    return sum(macs(op) for op in nested_ops(module) if op.name.startswith("linalg."))


def _extent(item: Structured, loop: int) -> int | None:
    for operand, exprs in enumerate(item.maps):
        shaped = ir.ShapedType(item.op.operands[operand].type) if exprs else None
        for dim in range(len(exprs)):
            if shaped is not None and item.loop_at(operand, dim) == loop and not shaped.is_dynamic_dim(dim):
                return int(shaped.get_dim_size(dim))
    return None
