"""A padded tensor as a function of the one that is not: read where a position is inside, else a constant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from serenity_mlir.dialect_passes.linalg.tensor_ops import compute, constant, empty, generic
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


def padded_on_read(alone: ir.Value, padding: Padding) -> ir.Value:
    """A `linalg.generic` that makes the padded tensor out of what is alone in its interior.

    At the current insertion point and location. In the dispatch that reads it, IREE fuses it into a reader
    that is a `linalg.generic`; for any other, whose own code stays as it is, it makes what each tile reads.
    """
    outside = constant(padding.level)
    rank = len(padding.shape)
    around = empty(ir.RankedTensorType.get(padding.shape, outside.type))
    made = generic([ir.AffineMap.get_identity(rank)], [], around)
    with ir.InsertionPoint(made.regions[0].blocks[0]):
        at = [_index("linalg.index", dim=_number(64, loop)) for loop in range(rank)]
        ir.Operation.create("linalg.yield", operands=[_guarded(alone, at, padding, outside)])
    return made.results[0]


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


def _index(name: str, *operands: ir.Value, **attributes: ir.Attribute) -> ir.Value:
    kind = ir.IndexType.get()
    return ir.Operation.create(name, results=[kind], operands=operands, attributes=attributes).results[0]


def _number(width: int, value: int) -> ir.IntegerAttr:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(width), value)


def _constant(value: int) -> ir.Value:
    return constant(ir.IntegerAttr.get(ir.IndexType.get(), value))
