"""Structured ops that read a tensor where a position is inside it, and a constant elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from serenity_mlir.dialect_passes.linalg.structured import Structured
from serenity_mlir.dialect_passes.linalg.tensor_ops import compute, constant, copy_into, generic
from serenity_mlir.dialect_passes.mlir import ir

_LESS_UNSIGNED = 6


@dataclass(frozen=True, slots=True)
class Padding:
    """How a tensor is padded.

    Attributes:
        low: Elements before it in each dimension.
        shape: Of the padded tensor.
        level: What is around it, a constant's value.
    """

    low: Sequence[int]
    shape: Sequence[int]
    level: ir.Attribute


def read_guarded(reader: Structured, whole: ir.Value, alone: ir.Value, padding: Padding) -> None:
    """Let an op read a tensor that is not padded as if it were.

    Args:
        reader: The op; one that is no `linalg.generic` becomes one.
        whole: Its operand, the padded tensor.
        alone: The tensor without padding.
        padding: Of the one against the other.
    """
    op = reader.op
    read = [index for index, value in enumerate(op.operands) if value == whole]
    kept = [index for index in range(len(op.operands)) if index not in read]
    with ir.InsertionPoint(op), op.location:
        outside = constant(padding.level)
        maps = [ir.AffineMap.get(reader.loops, 0, list(exprs)) for exprs in reader.maps]
        *inputs, into = (op.operands[index] for index in kept)
        made = generic([maps[index] for index in kept], inputs, into)
    old, new = op.regions[0].blocks[0], made.regions[0].blocks[0]
    now = {old.arguments[index]: new.arguments[place] for place, index in enumerate(kept)}
    with ir.InsertionPoint(new), op.location:
        loops = [_index("linalg.index", dim=_number(64, loop)) for loop in range(reader.loops)]
        for index in read:
            at = [_index("affine.apply", *loops, map=_map(reader, expr)) for expr in reader.maps[index]]
            now[old.arguments[index]] = _guarded(alone, at, padding, outside)
    for inner in old.operations:
        copy_into(new, inner.operation, now)
    op.results[0].replace_all_uses_with(made.results[0])
    op.erase()


def _guarded(tensor: ir.Value, at: Sequence[ir.Value], padding: Padding, outside: ir.Value) -> ir.Value:
    """The element at a position of the padded tensor."""
    element = outside.type
    bit = ir.IntegerType.get_signless(1)
    inside: ir.Value | None = None
    moved: list[ir.Value] = []
    sizes = ir.RankedTensorType(tensor.type).shape
    for position, before, padded, size in zip(at, padding.low, padding.shape, sizes, strict=True):
        if padded == size:
            moved.append(position)
            continue
        # Unsigned, what is before the first element is beyond the last.
        moved.append(
            compute("arith.subi", position.type, position, _constant(before)) if before else position
        )
        less = ir.Operation.create(
            "arith.cmpi",
            results=[bit],
            operands=[moved[-1], _constant(size)],
            attributes={"predicate": _number(64, _LESS_UNSIGNED)},
        ).results[0]
        inside = less if inside is None else compute("arith.andi", bit, inside, less)
    if inside is None:
        return compute("tensor.extract", element, tensor, *moved)
    choice = ir.Operation.create("scf.if", results=[element], operands=[inside], regions=2)
    with ir.InsertionPoint(choice.regions[0].blocks.append()):
        ir.Operation.create("scf.yield", operands=[compute("tensor.extract", element, tensor, *moved)])
    with ir.InsertionPoint(choice.regions[1].blocks.append()):
        ir.Operation.create("scf.yield", operands=[outside])
    return choice.results[0]


def _map(reader: Structured, expr: ir.AffineExpr) -> ir.Attribute:
    return ir.AffineMapAttr.get(ir.AffineMap.get(reader.loops, 0, [expr]))


def _index(name: str, *operands: ir.Value, **attributes: ir.Attribute) -> ir.Value:
    kind = ir.IndexType.get()
    return ir.Operation.create(name, results=[kind], operands=operands, attributes=attributes).results[0]


def _number(width: int, value: int) -> ir.IntegerAttr:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(width), value)


def _constant(value: int) -> ir.Value:
    return constant(ir.IntegerAttr.get(ir.IndexType.get(), value))
