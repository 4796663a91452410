"""How long a module takes, in multiply-accumulates: what a rewrite must not add much to."""

from __future__ import annotations

from math import prod

from serenity_mlir.dialect_passes.linalg.reach import holds_floats
from serenity_mlir.dialect_passes.linalg.structured import Structured, structured
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.tensors.op_kinds import nested_ops

_PRODUCTS = frozenset({"arith.mulf", "arith.muli"})

_COLUMNS = 4
"""Elements along the result's last dimension that IREE computes at once where vectors are short."""

_FLOATS, _INTEGERS = 4.0, 1.3
"""Multiply-accumulates that take as long as a guarded read, which has no vectors: the most measured."""

_FLOATS_OF_CHANNELS, _INTEGERS_OF_CHANNELS = 2.0, 0.1
"""The same where what is read is summed over channels too."""


def macs(op: ir.Operation) -> int:
    """Multiply-accumulates of a convolution or matrix product; 0 of any other op, or of no constant size."""
    return iterations(op) if any(inner.name in _PRODUCTS for inner in nested_ops(op)) else 0


def iterations(op: ir.Operation) -> int:
    """Iterations of a convolution, matrix product or pool; 0 of any other op, or of no constant size."""
    item = structured(op)
    if item is None or not any(map(item.is_reduction, range(item.loops))):
        return 0
    extents = [item.extent(loop) for loop in range(item.loops)]
    return prod(size for size in extents if size is not None) if None not in extents else 0


def total_macs(module: ir.Operation) -> int:
    """Multiply-accumulates of all convolutions and matrix products of a module before code generation."""
    return sum(map(macs, _structured_ops(module)))


def total_work(module: ir.Operation) -> int:
    """As `total_macs`, with what pools reduce."""
    return sum(map(iterations, _structured_ops(module)))


def guarded_work(reader: Structured, padded: ir.Value) -> float:
    """Multiply-accumulates that take as long as guarding what a reduction reads of a padded tensor.

    IREE fuses the guard into a `linalg.generic`, each of whose reads is guarded then, and tiles any other
    op: a tile reads what its windows span, and its neighbours read the overlap again.
    """
    read = [index for index, value in enumerate(reader.op.operands) if value == padded]
    if reader.op.name != "linalg.generic":
        return _tiled_reads(reader, read) * (_FLOATS if holds_floats(padded) else _INTEGERS)
    if _sums_over_channels(reader, read):
        cost = _FLOATS_OF_CHANNELS if holds_floats(padded) else _INTEGERS_OF_CHANNELS
    else:
        cost = _FLOATS if holds_floats(padded) else _INTEGERS
    return iterations(reader.op) * cost


def _sums_over_channels(reader: Structured, read: list[int]) -> bool:
    """Whether a dimension of what is read is reduced over, and no window slides along it."""
    loops = [reader.loop_at(index, dim) for index in read for dim in range(len(reader.maps[index]))]
    return any(loop is not None and reader.is_reduction(loop) for loop in loops)


def _tiled_reads(reader: Structured, read: list[int]) -> int:
    last = len(reader.maps) - 1
    columns = reader.loop_at(last, len(reader.maps[last]) - 1) if reader.maps[last] else None
    extents = [reader.extent(loop) or 1 for loop in range(reader.loops)]
    tile = [
        size if reader.is_reduction(loop) else min(size, _COLUMNS) if loop == columns else 1
        for loop, size in enumerate(extents)
    ]
    tiles = prod(-(-size // part) for size, part in zip(extents, tile, strict=True))
    return tiles * sum(_reach(reader, index, tile) for index in read)


def _reach(reader: Structured, operand: int, tile: list[int]) -> int:
    """Elements of an operand that a tile reads."""
    steps = (reader.steps(operand, dim) or {} for dim in range(len(reader.maps[operand])))
    return prod(1 + sum(step * (tile[loop] - 1) for loop, step in moved.items()) for moved in steps)


def _structured_ops(module: ir.Operation) -> list[ir.Operation]:
    return [op for op in nested_ops(module) if op.name.startswith("linalg.")]
