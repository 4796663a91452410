"""`serenity-share-guards`: one look whether a read is inside for several results that use it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from serenity_mlir.dialect_passes.codegen.lowering_config import set_tiles, tiles
from serenity_mlir.dialect_passes.linalg.structured import Structured, dims_in, structured
from serenity_mlir.dialect_passes.linalg.tensor_ops import compute, constant
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.pass_base import Pass
from serenity_mlir.dialect_passes.tensors.op_kinds import nested_ops

EXTRACT = "tensor.extract"
_IF, _YIELD, _INDEX = "scf.if", "scf.yield", "linalg.index"


@dataclass(frozen=True)
class ShareGuardsPass(Pass[int]):
    """Makes guarded reads of convolutions such that IREE computes several channels from each.

    What `serenity-pad-on-read` leaves to the reader is a branch, of which IREE makes no vectors and no tiles
    in registers. Without a branch (position 0 is read where outside, and the constant chosen), all channels
    of a tile share the look. Loops that it does not depend on become the innermost, where compilers hoist it
    out. Sums of integers stay bit-exact; floats are summed in another order.

    Belongs after `executable-configurations` and before `serenity-tile-for-registers`; depthwise
    convolutions, of which each channel reads its own, keep the branch.
    """

    name: ClassVar[str] = "serenity-share-guards"

    def apply(self, module: ir.Operation) -> int:
        """Rewrite every guarded read that channels share; returns how many."""
        count = 0
        for op in [op for op in nested_ops(module) if op.name == "linalg.generic"]:
            reader = structured(op)
            found = None if reader is None else guarded(reader)
            if reader is not None and found is not None and shared_loops(reader, found.extract):
                _without_branch(reader, found)
                count += 1
        return count


@dataclass(frozen=True, slots=True)
class Guarded:
    """`if condition then extract else level`."""

    branch: ir.Operation
    extract: ir.Operation
    level: ir.Value


def guarded(reader: Structured) -> Guarded | None:
    """The one guarded read of a reduction that IREE has tiled; None where there is not one."""
    branches = [op for op in nested_ops(reader.op) if op.name == _IF]
    if len(branches) != 1 or len(branches[0].results) != 1 or tiles(reader.op) is None:
        return None
    if not any(map(reader.is_reduction, range(reader.loops))):
        return None
    inside, outside = ([item.operation for item in region.blocks[0]] for region in branches[0].regions)
    if [op.name for op in inside] != [EXTRACT, _YIELD] or [op.name for op in outside] != [_YIELD]:
        return None
    return Guarded(branches[0], inside[0], outside[0].operands[0])


def shared_loops(reader: Structured, extract: ir.Operation) -> list[int]:
    """Parallel loops over more than one element that what is extracted does not depend on."""
    used = _loops_behind(list(extract.operands)[1:])
    return [
        loop
        for loop in range(reader.loops)
        if not reader.is_reduction(loop) and loop not in used and (reader.extent(loop) or 0) > 1
    ]


def _without_branch(reader: Structured, found: Guarded) -> None:
    """Read whatever is inside, then choose; with what the choice depends on in the outer loops."""
    condition, branch, extract = found.branch.operands[0], found.branch, found.extract
    sizes = ir.RankedTensorType(extract.operands[0].type).shape
    with ir.InsertionPoint(branch), branch.location:
        first = constant(ir.IntegerAttr.get(ir.IndexType.get(), 0))
        at = [
            position
            if _always_inside(reader, position, size)
            else compute("arith.select", position.type, condition, position, first)
            for position, size in zip(list(extract.operands)[1:], sizes, strict=True)
        ]
        kind = branch.results[0].type
        read = compute(EXTRACT, kind, extract.operands[0], *at)
        chosen = compute("arith.select", kind, condition, read, found.level)
    branch.results[0].replace_all_uses_with(chosen)
    branch.erase()
    _looks_outside(reader, condition)


def _always_inside(reader: Structured, position: ir.Value, size: int) -> bool:
    """Whether a position is a loop's own, which ends before `size`."""
    if isinstance(position.owner, ir.Block) or position.owner.name != _INDEX:
        return False
    most = reader.extent(_dim(position.owner))
    return most is not None and most <= size


def _looks_outside(reader: Structured, condition: ir.Value) -> None:
    """Order the reductions so that those are innermost that the guard does not depend on."""
    op, used = reader.op, _loops_behind([condition])
    order = sorted(range(reader.loops), key=lambda loop: reader.is_reduction(loop) * (1 + (loop not in used)))
    position = {loop: number for number, loop in enumerate(order)}
    with op.context:
        moved = ir.AffineMap.get(
            reader.loops, 0, [ir.AffineExpr.get_dim(position[loop]) for loop in range(reader.loops)]
        )
        maps = ([expr.compose(moved) for expr in exprs] for exprs in reader.maps)
        op.attributes["indexing_maps"] = ir.ArrayAttr.get(
            [ir.AffineMapAttr.get(ir.AffineMap.get(reader.loops, 0, exprs)) for exprs in maps]
        )
        kinds = list(op.attributes["iterator_types"])
        op.attributes["iterator_types"] = ir.ArrayAttr.get([kinds[loop] for loop in order])
        for index in nested_ops(op):
            if index.name == _INDEX:
                old = ir.IntegerAttr(index.attributes["dim"])
                index.attributes["dim"] = ir.IntegerAttr.get(old.type, position[old.value])
    levels = tiles(op) or {}
    set_tiles(op, {name: [sizes[loop] for loop in order] for name, sizes in levels.items()})


def _dim(index: ir.Operation) -> int:
    return int(ir.IntegerAttr(index.attributes["dim"]).value)


def _loops_behind(values: list[ir.Value]) -> set[int]:
    """The loops whose positions values are computed from."""
    return set(_each_loop(values))


def _each_loop(values: list[ir.Value]) -> Iterator[int]:
    for value in values:
        if isinstance(value.owner, ir.Block):
            continue
        op = value.owner.operation
        if op.name == _INDEX:
            yield _dim(op)
        elif op.name == "affine.apply":
            # Its map may leave out most of what it is given; symbols stand behind all dimensions.
            given = ir.AffineMapAttr(op.attributes["map"]).value
            read = {number for expr in given.results for number in dims_in(expr)}
            read.update(range(given.n_dims, given.n_inputs))
            yield from _each_loop([op.operands[number] for number in sorted(read)])
        else:
            yield from _each_loop(list(op.operands))
